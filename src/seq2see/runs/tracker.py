"""What loggers are given beside numbers; and the run at Weights & Biases or MLflow, where `logger` names one."""

import json
import os
import secrets
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from lightning.pytorch.loggers import Logger, MLFlowLogger, TensorBoardLogger, WandbLogger

from seq2see.atomic_write import write_text
from seq2see.maps import AttentionLog
from seq2see.options import LoggerKind, TrainOptions
from seq2see.options.plain import to_plain
from seq2see.runs.figures import as_image, map_grid
from seq2see.runs.folder import RunFailed, RunFolder
from seq2see.runs.report import read_samples

PROJECT = "seq2see"
MAPS, SAMPLES = "attention/cross", "samples"  # names of what is shown of each validation
COLUMNS = ("source", "reference", "hypothesis")


def show_validation(loggers: Sequence[Logger], folder: RunFolder, log: AttentionLog | None, step: int) -> None:
    """Gives the loggers the samples of a validation as text, and the first one's cross-attention as an image."""
    takers = [logger for logger in loggers if isinstance(logger, TensorBoardLogger | WandbLogger | MLFlowLogger)]
    samples = [one for one in read_samples(folder.samples) if one["step"] == step] if takers else []
    if not samples:
        return
    image = None
    if log is not None and log.steps[-1:] == [step]:
        example = log.examples[0]
        queries, keys = example.target_tokens, example.source_tokens
        image = as_image(map_grid(log.maps(step).cross[0][:, :, : len(queries), : len(keys)], queries, keys))
    rows = [[one[column] for column in COLUMNS] for one in samples]
    text = "\n".join(" | ".join(row) for row in (COLUMNS, *rows))
    for logger in takers:
        if isinstance(logger, WandbLogger):
            logger.log_text(SAMPLES, columns=list(COLUMNS), data=rows, step=step)
            if image is not None:
                logger.log_image(MAPS, [image], step=step)
        elif isinstance(logger, MLFlowLogger):
            logger.experiment.log_text(logger.run_id, text, f"{SAMPLES}/{step:08}.txt")
            if image is not None:
                logger.experiment.log_image(logger.run_id, image, f"{MAPS}/{step:08}.png")
        else:
            logger.experiment.add_text(SAMPLES, f"```\n{text}\n```", step)
            if image is not None:
                logger.experiment.add_image(MAPS, image, step, dataformats="HWC")


def log_test(
    options: TrainOptions, folder: RunFolder, tracker: Logger | None, scores: dict[str, float], step: int
) -> None:
    """Gives the test scores to the loggers, and to TensorBoard what was set too, for its page of hyperparameters."""
    metrics = {f"test/{name}": value for name, value in scores.items()}
    if tracker is not None:
        tracker.log_metrics(metrics, step=step)
    if options.logger is LoggerKind.default and metrics:
        board = TensorBoardLogger(folder.path, name="tensorboard", version="")
        board.log_hyperparams(to_plain(options), metrics, step)
        board.finalize("success")


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
