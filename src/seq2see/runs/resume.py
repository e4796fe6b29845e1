"""A run that goes on: where it stopped, what may change, and what is cut back to that step."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from seq2see.atomic_write import write_text
from seq2see.decoding import Content, read_content
from seq2see.maps import AttentionLog
from seq2see.maps.kept_weights import KeptWeights
from seq2see.options import TrainOptions
from seq2see.options.plain import to_plain
from seq2see.runs.folder import RunFolder, read_result
from seq2see.runs.pair_digests import PAIRS, Plain, other_pairs

# Keys that take effect from the step on at which a run goes on; all others would make it another run.
CHANGEABLE = (
    "trainer.max_steps", "trainer.max_epochs", "trainer.max_time", "trainer.val_check_interval",
    "trainer.log_every_n_steps", "trainer.limit_val_batches", "trainer.accelerator", "trainer.detect_anomaly",
    "trainer.deterministic", "trainer.strategy", "trainer.gradient_clip_val", "trainer.gradient_clip_algorithm",
    "training.patience", "training.keep", "optim.lr", "optim.schedule", "optim.warmup_steps", "optim.label_smoothing",
    "task.train", "task.valid", "task.test", "task.path",  # places; what is in them must be the same
    "data.num_workers", "attention_log.max_megabytes", "attention_log.every_n_steps", "logger",
)  # fmt: skip
CHANGEABLE_GROUPS = ("decode.", "task.train.", "task.valid.", "task.test.")  # the latter: sides of parallel files
NOT_COMPARED = ("run_dir", "resume", "init", "init_tokenizer", "trainer.devices", "trainer.num_nodes")
MADE_BY_RUNS = (
    "config.yaml", "train.log", "metrics.csv", "result.json", "checkpoints", "samples.jsonl", "attention",
    "attention.html", "report.html", "tensorboard", "data", "evaluation",
)  # fmt: skip


@dataclass(frozen=True)
class ResumeState:
    """What an earlier process left of a run."""

    folder: RunFolder  # the run's
    checkpoint: Content  # `last.ckpt`, whole
    step: int  # optimiser steps that it has done
    seconds: float  # that it took so far
    seconds_trained: float  # of these, what the training has used of its time
    is_due: bool  # whether a validation of this step is due
    # step, score and loss of the best checkpoint; None before the first validation
    best: tuple[int, float, float] | None
    finished: bool  # whether nothing was left to train
    result: dict[str, Any]  # what `result.json` says; empty if there is none

    @property
    def is_completed(self) -> bool:
        """Whether it has been tested too."""
        return self.finished and self.result.get("status") == "completed" and self.result.get("steps") == self.step

    def changes(self, options: TrainOptions) -> list[str]:
        """What these options change in the run, each as `key old -> new`.

        Raises:
            ValueError: they change what a run that goes on cannot change.
        """
        saved = _flat(to_plain(self.checkpoint.options))
        new = _flat(to_plain(options))
        changed = [key for key in new if key not in NOT_COMPARED and saved.get(key) != new[key]]
        for key in changed:
            if key not in CHANGEABLE and not key.startswith(CHANGEABLE_GROUPS):
                raise ValueError(
                    f"{key}={_shown(new[key])}: the run in {self.folder.shown} has {_shown(saved.get(key))} and goes "
                    f"on with it: leave the key out, or start another run (init={self.folder.shown} takes over its "
                    "weights)"
                )
        return [f"{key} {_shown(saved.get(key))} -> {_shown(new[key])}" for key in changed]

    def require_same_data(self, task: Any, digests: dict[str, Plain]) -> None:
        """Refuses to go on with other pairs.

        Raises:
            ValueError: they are not those that the run was begun with; the message says which.
        """
        other = other_pairs(task, self.checkpoint.about.get(PAIRS, {}), digests)
        if other is not None:
            raise ValueError(
                f"resume: {other}; {self.folder.shown} goes on with what it was begun with: bring that back, or start "
                f"a new run from its weights with init={self.folder.shown}"
            )

    def cut_back(self) -> None:
        """Takes away what was written after the checkpoint's step, and what a write left unfinished.

        Raises:
            ValueError: `samples.jsonl` is damaged.
        """
        for unfinished in self.folder.path.rglob(".*.part"):
            unfinished.unlink(missing_ok=True)
        for kept in self.folder.checkpoints.glob("step-*.ckpt"):
            if int(kept.stem.removeprefix("step-")) > self.step:
                kept.unlink()
        samples = self.folder.samples
        if samples.is_file():
            kept = self.step - self.is_due  # a validation that is repeated writes its samples again
            lines = samples.read_bytes().splitlines(keepends=True)
            if lines and not lines[-1].endswith(b"\n"):
                lines.pop()  # was cut off
            try:
                text = b"".join(line for line in lines if json.loads(line)["step"] <= kept).decode("utf-8")
            except (ValueError, KeyError, TypeError, RecursionError) as error:
                raise ValueError(f"{samples}: is damaged ({error}): delete it, or the line") from error
            write_text(samples, text)

    def attention_log(self) -> AttentionLog | None:
        """The maps up to the checkpoint's step; None if none were logged.

        Raises:
            ValueError: they are damaged.
        """
        if not (self.folder.path / "attention" / "index.json").is_file():
            return None
        log = AttentionLog.open(self.folder.path)
        log.forget_after(self.step)
        KeptWeights(self.folder.path / "attention").forget_after(self.step)
        return log


def run_to_go_on(options: TrainOptions) -> Path | None:
    """The folder of the run that `resume` means; None if nothing is to go on.

    Raises:
        ValueError: there is no such run, or `run_dir` names another folder.
    """
    if options.resume is None:
        return None
    own = None if options.run_dir is None else Path(options.run_dir).absolute()
    if options.resume == "auto":
        assert own is not None  # a rule of the options
        return own
    named = Path(options.resume).absolute()
    folder = named.parent.parent if named.suffix == ".ckpt" else named
    if not (folder / "config.yaml").is_file():
        raise ValueError(f"resume: {options.resume} is not in a run folder (no config.yaml): name a run folder")
    if named != folder and named.name != "last.ckpt":
        raise ValueError(
            f"resume: {options.resume} holds weights alone: resume={folder} goes on from its last.ckpt; "
            f"init={options.resume} starts a new run with these weights"
        )
    if own is not None and own.resolve() != folder.resolve():
        raise ValueError(
            f"run_dir ({options.run_dir}) is not the folder of resume ({options.resume}): a run goes on in its own "
            "folder; leave run_dir out, or start a new one with init="
        )
    return folder


def find_earlier(path: Path) -> ResumeState | None:
    """What there is to go on from in a run folder, which exists; None if the run has yet to begin.

    A run that was stopped before its first checkpoint begins anew: what it left is taken away.

    Raises:
        ValueError: the checkpoint is damaged or not there any more.
    """
    folder = RunFolder(path)
    last, result = folder.last, read_result(path) if folder.result.exists() else {}
    if not last.is_file() and (folder.best.is_file() or result.get("steps")):
        raise ValueError(
            f"resume: {path} has no checkpoints/last.ckpt any more: init={path} starts a new run from best.ckpt"
        )
    if not last.is_file():
        _begin_anew(folder)
        return None
    content = read_content(last)
    values = content.values
    try:
        schedule, best = values["callbacks"]["Pace"], values["callbacks"]["Selection"]["best"]
        step, seconds = values["global_step"], schedule["seconds"]
        return ResumeState(
            folder,
            content,
            step,
            max(seconds, result.get("seconds", 0.0)),
            seconds,
            schedule["due"] == step,
            None if best is None else tuple(best),
            values["training"]["finished"],
            result,
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ValueError(
            f"resume: {last} lacks what a training goes on from: init={path} starts a new run with its weights"
        ) from error


def _begin_anew(folder: RunFolder) -> None:
    """Empties the folder of a run that has no checkpoint yet; what no run made stays, and is then refused."""
    names = {path.name for path in folder.path.iterdir() if not path.name.startswith(".")}
    if names and "config.yaml" not in names and not names <= {"result.json", "train.log"}:
        return
    for name in [*MADE_BY_RUNS, *(path.name for path in folder.path.glob(".*.part"))]:
        path = folder.path / name
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        flat |= _flat(value, f"{prefix}{name}.") if isinstance(value, dict) else {f"{prefix}{name}": value}
    return flat


def _shown(value: Any) -> str:
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
