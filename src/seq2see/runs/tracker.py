"""The run at Weights & Biases or MLflow, where `logger` names one: its configuration, numbers and test scores."""

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lightning.pytorch.loggers import Logger, MLFlowLogger, WandbLogger

from seq2see.atomic_write import write_text
from seq2see.options import LoggerKind, TrainOptions
from seq2see.options.plain import to_plain
from seq2see.runs.folder import RunFailed, RunFolder

PROJECT = "seq2see"


@contextmanager
def tracked(options: TrainOptions, folder: RunFolder) -> Iterator[Logger]:
    """The run there, while it lasts: a new one, or that of the run which goes on.

    Its name is the folder's with the one around it, which is its group too: so the jobs of a multirun stand together.
    The run folder keeps its id, in `wandb.json` or `mlflow.json`.

    Raises:
        RunFailed: the tracker does not want, such as for want of a key or of a server.
    """
    kind, group = options.logger, folder.path.parent.name
    name, tags = f"{group}/{folder.path.name}", {"task": options.task.kind, "seed": str(options.seed), "group": group}
    kept = folder.path / f"{kind.value}.json"
    place: dict[str, str] = json.loads(kept.read_text(encoding="utf-8")) if kept.is_file() else {}
    is_new = not place
    try:
        if kind is LoggerKind.wandb:
            tracker = WandbLogger(
                project=PROJECT,
                name=name,
                group=group,
                tags=[f"{name}={value}" for name, value in tags.items()],
                id=place.get("id", secrets.token_hex(4)),
                save_dir=folder.path,
            )
        else:  # without a server of the user's, what `mlflow ui` shows in the working directory, as is its own default
            store = place.get("tracking_uri", f"sqlite:///{Path('mlflow.db').absolute()}")
            place["tracking_uri"] = os.environ.get("MLFLOW_TRACKING_URI") or store
            tracker = MLFlowLogger(
                experiment_name=PROJECT,
                run_name=name,
                tags=tags,
                run_id=place.get("id"),
                tracking_uri=place["tracking_uri"],
            )
        if is_new or kind is LoggerKind.wandb:  # MLflow's later ones may not differ
            tracker.log_hyperparams(to_plain(options))
        place["id"] = str(tracker.version)
    except Exception as error:  # of many kinds, which only its package knows
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise RunFailed(f"logger={kind.value} cannot begin ({reason}): mend that, or use logger=csv") from error
    write_text(kept, json.dumps(place) + "\n")
    completed = False
    try:
        yield tracker
        completed = True
    finally:  # what is opened next in this process is another one
        tracker.finalize("success" if completed else "failed")
        if isinstance(tracker, WandbLogger):
            tracker.experiment.finish(exit_code=0 if completed else 1)
