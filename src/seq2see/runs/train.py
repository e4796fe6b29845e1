"""A whole training run, from options to `result.json`."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from seq2see._version import __version__
from seq2see.atomic_write import write_text
from seq2see.maps import AttentionLog
from seq2see.maps.attended import dimensions_of, example_of
from seq2see.maps.store import room_for
from seq2see.options import LoggerKind, TrainOptions
from seq2see.ranks import from_first, rank
from seq2see.runs.config import to_yaml
from seq2see.runs.cost import cost_line
from seq2see.runs.data import keep_files, keep_split_off
from seq2see.runs.expected import expected_of
from seq2see.runs.folder import RunFailed, RunFolder, alone_in
from seq2see.runs.follow import Order, follow, leading
from seq2see.runs.launch import processes
from seq2see.runs.phases import PHASES, Phases
from seq2see.runs.prepare import TrainingSetup, prepare
from seq2see.runs.report import reported
from seq2see.runs.resume import ResumeState, find_earlier, run_to_go_on
from seq2see.runs.score_best import score_best
from seq2see.runs.signals import stop_if_asked
from seq2see.runs.summary import announce, announce_rest, scores_line, summarise, too_short
from seq2see.runs.terminal import Terminal, command_line, shortened
from seq2see.tasks.progress import counted
from seq2see.training.objective import NotFinite

if TYPE_CHECKING:  # Lightning takes seconds
    from lightning.pytorch.loggers import Logger

TRACKERS = (LoggerKind.wandb, LoggerKind.mlflow)


@dataclass
class Result:
    """What `result.json` says, and where the run lies."""

    status: str = "failed"  # `completed`, `interrupted` or `failed`
    steps: int = 0  # optimiser steps done
    seconds: float = 0.0  # of the whole run, from the claim of its folder
    # step, metric and value of the best checkpoint; empty without validation
    best: dict[str, Any] = field(default_factory=dict)
    test: dict[str, float] = field(default_factory=dict)  # scores on the test pairs
    # scores on pairs unlike those of training, longer or combined anew; empty where the task has none
    ood: dict[str, float] = field(default_factory=dict)
    # the range to expect from an unchanged recipe, and whether it is met; empty for others
    expected: dict[str, Any] = field(default_factory=dict)
    # operations, tokens a second, memory; see `cost_of`; empty if nothing was left to train
    cost: dict[str, float | None] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)  # of what made it
    folder: Path = field(default_factory=Path)  # the run folder; not in the file

    def write(self, file: Path) -> None:
        """Writes `result.json`."""
        plain = {name: value for name, value in asdict(self).items() if name != "folder"}
        write_text(file, json.dumps(plain, indent=2, ensure_ascii=False) + "\n")


def command(options: TrainOptions) -> Result:
    """What `scripts/train.py` does."""
    return train_run(options)


def train_run(options: TrainOptions, *, keeps_files: bool = False) -> Result:
    """Trains, tests and writes the run folder.

    Args:
        options: what to do; what is None follows from the task and the data.
        keeps_files: whether a new run has its own copy of the files of `task=files`, which will be gone.

    Returns:
        What `result.json` says.

    Raises:
        ValueError: the options or the data are wrong, or another process writes the run; no folder is left then,
            unless training had begun.
        RunFailed: a loss or a gradient is not finite, or the disk is full.
    """
    _require_logger(options.logger)
    with processes(options) as options:
        return follow() if rank() else _lead(options, keeps_files=keeps_files)


def _lead(options: TrainOptions, *, keeps_files: bool) -> Result:
    with ExitStack() as locks:
        tell = locks.enter_context(leading())
        place, earlier = run_to_go_on(options), None
        is_there = place is not None and place.is_dir()
        if place is not None:
            options = replace(options, run_dir=str(place), resume=None)
        if place is not None and is_there:
            locks.enter_context(alone_in(place))
            earlier = find_earlier(place)
        if earlier is None:
            RunFolder.check(options.run_dir)
        started = time.monotonic() - (0.0 if earlier is None else earlier.seconds)
        phases = Phases(None if earlier is None else earlier.checkpoint.values.get(PHASES))

        setup = prepare(options, goes_on=None if earlier is None else earlier.checkpoint)
        options = setup.options
        changes, is_trained = ([], False) if earlier is None else _changes_of(earlier, setup)
        if earlier is not None and is_trained and earlier.is_completed:
            result = _complete_already(earlier, changes, setup.telling_scores)
            tell(result)
            return result

        folder = RunFolder.claim(options.run_dir, kind=options.task.kind) if earlier is None else earlier.folder
        if not is_there:
            locks.enter_context(alone_in(folder.path))
        terminal = Terminal(folder.path / "train.log")
        result = Result(versions=_versions(), folder=folder.path)
        with (
            reported(setup, folder, phases) as report,
            _recorded(result, folder, terminal, started),
            _tracked(options, folder) as tracker,
        ):
            if earlier is None:
                log = _begin(setup, folder, terminal, keeps_files=keeps_files)
            else:
                result.steps, result.best = earlier.step, _best(earlier.best, options.training.select)
                result.test, result.ood = earlier.result.get("test", {}), earlier.result.get("ood", {})
                log = _go_on(earlier, changes, setup, terminal)
            report.show(log)
            tell(Order(options, folder.path, setup.digests, goes_on=earlier is not None, is_trained=is_trained))
            if not is_trained:
                from seq2see.runs.fit import fit  # Lightning takes seconds: not before the data are known to be right

                try:
                    outcome = fit(setup, folder, terminal, log, earlier=earlier, tracker=tracker, report=report)
                except NotFinite as error:
                    result.steps = error.step
                    terminal.log_only(f"training pairs of the failed step: {error.ids}")
                    raise _not_finite(error, folder, options.optim.lr) from error
                result.steps, result.best = outcome.steps, _best(outcome.best, options.training.select)
                stop_if_asked()
                hint = too_short(options.trainer.max_time, outcome.steps, planned=setup.budget.max_steps)
                if hint is not None:
                    terminal.say(hint)
                result.cost = outcome.cost
                if result.cost:
                    terminal.say(shortened(f"\n  {'cost':<11} {cost_line(result.cost)}"))
            if report.maps is not None:
                with counted("writing the page of attention maps"):
                    report.maps.write(is_live=False)

            with phases("test"):
                evaluations = score_best(setup, folder)
            result.test, result.ood = (
                evaluations[split].scores if split in evaluations else {} for split in ("test", "ood")
            )
            from seq2see.runs.tracker import log_test  # Lightning takes seconds

            log_test(options, folder, tracker, result.test, result.steps)
            expected = expected_of(options)
            result.expected = {} if expected is None else expected.against(result.test)
        summarise(setup, folder, terminal, result.seconds, result.steps, evaluations, expected)
        return from_first(result)


@contextmanager
def _recorded(result: Result, folder: RunFolder, terminal: Terminal, started: float) -> Iterator[None]:
    """However the run ends inside, `result.json` says so.

    Raises:
        RunFailed: the disk is full or fails.
    """
    try:
        yield
        stop_if_asked()
        result.status, result.seconds = "completed", round(time.monotonic() - started, 2)
        result.write(folder.result)
    except KeyboardInterrupt:
        result.status = "interrupted"
        terminal.say(
            f"\ninterrupted at step {result.steps:,}; go on with: {command_line('train')} resume={folder.typed}"
        )
        raise
    except OSError as error:
        raise folder.explained(error) or error from error
    finally:
        if result.status != "completed":
            result.seconds = round(time.monotonic() - started, 2)
            with suppress(OSError):  # a full disk has been reported already
                result.write(folder.result)


def _require_logger(kind: LoggerKind) -> None:
    if kind in TRACKERS and find_spec(kind.value) is None:
        raise ValueError(
            f"logger={kind.value}: its package is not installed: pip install {kind.value}, or leave it out"
        )


def _tracked(options: TrainOptions, folder: RunFolder) -> AbstractContextManager[Logger | None]:
    """The run at Weights & Biases or MLflow, where `logger` names one."""
    if options.logger not in TRACKERS:
        return nullcontext()
    from seq2see.runs.tracker import tracked

    return tracked(options, folder)


def _changes_of(earlier: ResumeState, setup: TrainingSetup) -> tuple[list[str], bool]:
    """What is changed in a run that goes on, and whether nothing is left to train in it.

    Raises:
        ValueError: what is changed cannot be, or the pairs are other ones.
    """
    changes = earlier.changes(setup.options)
    earlier.require_same_data(setup.options.task, setup.digests)
    setup.budget.seconds_before = earlier.seconds_trained
    is_longer = any(change.startswith(("trainer.max_", "training.patience")) for change in changes)
    return changes, earlier.finished and not (is_longer and setup.budget.progress(earlier.step) < 1)


def _complete_already(earlier: ResumeState, changes: list[str], telling: list[str]) -> Result:
    """What the run's own result says, on the terminal too.

    Raises:
        ValueError: something was to be changed in it.
    """
    if changes:
        raise ValueError(
            f"{changes[0]}: {earlier.folder.shown} is complete, and this would change nothing in it: raise "
            "trainer.max_steps to go on, or leave it out"
        )
    known = {field.name: earlier.result[field.name] for field in fields(Result) if field.name in earlier.result}
    result = Result(**known, folder=earlier.folder.path)
    terminal = Terminal()
    terminal.say(f"{earlier.folder.shown} is complete ({earlier.step:,} steps): nothing is left to do.")
    if result.test:
        terminal.result(f"  {'test':<11} {scores_line(result.test, telling)}")
    return result


def _begin(setup: TrainingSetup, folder: RunFolder, terminal: Terminal, *, keeps_files: bool) -> AttentionLog | None:
    if keeps_files:
        keep_files(folder.path / "data", setup.options.task)
    write_text(folder.config, to_yaml(setup.options))
    keep_split_off(folder.path / "data", setup.task, setup.options.task)
    maps, dimensions = setup.options.attention_log, dimensions_of(setup.trained)
    pairs = setup.valid_pairs[: maps.num_examples] if maps.enabled else []
    examples = [example_of(number, pair, setup.trained) for number, pair in enumerate(pairs)]
    room = room_for(examples, dimensions, maps.max_megabytes)
    if not room.is_whole:
        setup.notes.append(
            f"attention maps are kept of {room.num_pairs} of {len(pairs)} pairs, with norms and own outputs at the "
            f"first and the last step: attention_log.max_megabytes={maps.max_megabytes:g} has room for no more"
        )
    setup.expected_seconds = announce(setup, terminal, folder)
    if not examples:
        return None
    return AttentionLog.create(
        folder.path / "attention",
        examples=examples[: room.num_pairs],
        model=dimensions,
        max_megabytes=maps.max_megabytes,
    )


def _go_on(earlier: ResumeState, changes: list[str], setup: TrainingSetup, terminal: Terminal) -> AttentionLog | None:
    write_text(earlier.folder.config, to_yaml(setup.options))
    earlier.cut_back()
    announce_rest(earlier, changes, setup.budget.max_steps, terminal)
    log = earlier.attention_log()
    if log is not None:
        log.max_megabytes = setup.options.attention_log.max_megabytes
    return log


def _not_finite(error: NotFinite, folder: RunFolder, lr: float | None) -> RunFailed:
    return RunFailed(
        f"{error}. Its batch has {len(error.ids)} pairs, such as number {', '.join(map(str, error.ids[:5]))} of "
        "the training pairs (train.log names all). The weights before it are in "
        f"{folder.relative(folder.checkpoints)}/failed.ckpt: lower optim.lr ({lr}), or set trainer.gradient_clip_val"
    )


def _best(best: tuple[int, float, float] | None, select: str | None) -> dict[str, Any]:
    return {} if best is None else {"step": best[0], "metric": select, "value": best[1]}


def _versions() -> dict[str, str]:
    return {
        "seq2see": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "lightning": version("lightning"),
    }
