"""The run at Weights & Biases or MLflow, where `logger` names one: its configuration, numbers and test scores."""

import json
import os
import secrets
from pathlib import Path

from lightning.pytorch.loggers import Logger, MLFlowLogger, WandbLogger

from seq2see.atomic_write import write_text
from seq2see.options import LoggerKind, TrainOptions
from seq2see.options.plain import to_plain
from seq2see.runs.failures import RunFailed
from seq2see.runs.folder import RunFolder

PROJECT = "seq2see"


def open_tracker(options: TrainOptions, folder: RunFolder) -> Logger | None:
    """The run there: a new one, or that of the run which goes on; None: `logger` is another one.

    Its name is the folder's with the one around it, which is its group too: so the jobs of a multirun stand together.
    The run folder keeps its id, in `wandb.json` or `mlflow.json`.

    Raises:
        RunFailed: the tracker does not want, such as for want of a key or of a server.
    """
    if options.logger not in (LoggerKind.wandb, LoggerKind.mlflow):
        return None
    kept = folder.path / f"{options.logger.value}.json"
    known = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
    try:
        tracker, place = (_wandb if options.logger is LoggerKind.wandb else _mlflow)(options, folder, known)
    except Exception as error:  # of many kinds, which only its package knows
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise RunFailed(
            f"logger={options.logger.value} cannot begin ({reason}): mend that, or use logger=csv"
        ) from error
    write_text(kept, json.dumps(place) + "\n")
    return tracker


def _wandb(options: TrainOptions, folder: RunFolder, known: dict[str, str]) -> tuple[Logger, dict[str, str]]:
    tags, group = _tags(options, folder), folder.path.parent.name
    tracker = WandbLogger(
        project=PROJECT,
        name=f"{group}/{folder.path.name}",
        group=group,
        tags=[f"{name}={value}" for name, value in tags.items()],
        id=known.get("id", secrets.token_hex(4)),
        save_dir=folder.path,
    )
    tracker.log_hyperparams(to_plain(options))
    return tracker, {"id": str(tracker.version)}


def _mlflow(options: TrainOptions, folder: RunFolder, known: dict[str, str]) -> tuple[Logger, dict[str, str]]:
    """Without a server of the user's, what `mlflow ui` shows in the working directory, as is its own default."""
    store = f"sqlite:///{Path('mlflow.db').absolute()}"
    place = os.environ.get("MLFLOW_TRACKING_URI") or known.get("tracking_uri", store)
    tracker = MLFlowLogger(
        experiment_name=PROJECT,
        run_name=f"{folder.path.parent.name}/{folder.path.name}",
        tags=_tags(options, folder),
        run_id=known.get("id"),
        tracking_uri=place,
    )
    if not known:  # later ones may not differ
        tracker.log_hyperparams(to_plain(options))
    return tracker, {"id": str(tracker.run_id), "tracking_uri": place}


def _tags(options: TrainOptions, folder: RunFolder) -> dict[str, str]:
    return {"task": options.task.kind, "seed": str(options.seed), "group": folder.path.parent.name}


def close_tracker(tracker: Logger, *, completed: bool) -> None:
    """Ends the run there: what is opened next in this process is another one."""
    tracker.finalize("success" if completed else "failed")
    if isinstance(tracker, WandbLogger):
        tracker.experiment.finish(exit_code=0 if completed else 1)
