"""A whole training run: options in, a run folder and a result out."""

from __future__ import annotations

import json
import platform
import random
from collections.abc import Sequence
from contextlib import ExitStack, suppress
from dataclasses import asdict, dataclass, field, fields, replace
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch

from seq2see._version import __version__
from seq2see.atomic_write import write_text
from seq2see.decoding import device_of, load
from seq2see.evaluation import Evaluation, evaluate_pairs
from seq2see.maps import AttentionLog, page
from seq2see.maps.alignment import add_alignment, example_of, model_dimensions
from seq2see.options import LoggerKind, Position, Split, TrainOptions
from seq2see.runs.config import to_yaml
from seq2see.runs.data import keep_files, keep_split_off
from seq2see.runs.evaluate import write
from seq2see.runs.expected import expected_of
from seq2see.runs.folder import RunFailed, RunFolder, alone_in
from seq2see.runs.prepare import Prepared, prepare
from seq2see.runs.resume import ResumeState, find_earlier, run_to_go_on
from seq2see.runs.signals import stop_if_asked
from seq2see.runs.summary import announce, announce_rest, scores_line, summarise
from seq2see.runs.terminal import Stopwatch, Terminal, shortened
from seq2see.tasks import Pair

if TYPE_CHECKING:  # Lightning takes seconds
    from lightning.pytorch.loggers import Logger


@dataclass
class Result:
    """What `result.json` says, and where the run lies.

    Args:
        status: `completed`, `interrupted` or `failed`.
        steps: optimiser steps done.
        seconds: of the whole run, from the claim of its folder.
        best: step, metric and value of the best checkpoint; empty without validation.
        test: scores on the test pairs.
        ood: scores on pairs unlike those of training, longer or combined anew; empty where the task has none.
        expected: the range to expect from an unchanged recipe, and whether it is met; empty for others.
        cost: operations, tokens a second, memory; see `Cost`; empty if nothing was left to train.
        versions: of what made it.
        folder: the run folder; not in the file.
    """

    status: str = "failed"
    steps: int = 0
    seconds: float = 0.0
    best: dict[str, Any] = field(default_factory=dict)
    test: dict[str, float] = field(default_factory=dict)
    ood: dict[str, float] = field(default_factory=dict)
    expected: dict[str, Any] = field(default_factory=dict)
    cost: dict[str, float | None] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    folder: Path = field(default_factory=Path)

    def write(self, folder: RunFolder) -> None:
        """Writes `result.json`."""
        plain = {name: value for name, value in asdict(self).items() if name != "folder"}
        write_text(folder.result, json.dumps(plain, indent=2, ensure_ascii=False) + "\n")


def command(options: TrainOptions) -> None:
    """What `scripts/train.py` does: one run, or a study of several."""
    if options.study is None:
        train_run(options)
    else:
        from seq2see.runs.studies import run_study

        run_study(options, train_run)


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
    """
    _require_logger(options.logger)
    with ExitStack() as until_the_end:
        return _train_run(options, until_the_end, keeps_files=keeps_files)


def _train_run(options: TrainOptions, until_the_end: ExitStack, *, keeps_files: bool) -> Result:
    place, earlier = run_to_go_on(options), None
    if place is not None:
        options = replace(options, run_dir=str(place), resume=None)
    begun = place is not None and place.is_dir()
    if place is not None and begun:
        until_the_end.enter_context(alone_in(place))
        earlier = find_earlier(place)
    watch = Stopwatch(0.0 if earlier is None else earlier.seconds)
    if earlier is None:
        RunFolder.check(options.run_dir)
    _seed_everything(options.seed)
    prepared = prepare(options, goes_on=None if earlier is None else earlier.checkpoint)
    changes: list[str] = []
    extended = False
    if earlier is not None:
        changes = earlier.changes(prepared.options)
        earlier.require_same_data(prepared)
        prepared.budget.seconds_before = earlier.seconds_trained
        longer = any(change.startswith(("trainer.max_", "training.patience")) for change in changes)
        extended = earlier.finished and longer and prepared.budget.progress(earlier.step) < 1
        if earlier.is_completed and not extended:
            return _complete_already(earlier, changes)
    versions = _versions()
    if earlier is None:
        folder = RunFolder.claim(options.run_dir, kind=options.task.kind)
        if not begun:
            until_the_end.enter_context(alone_in(folder.path))
    else:
        folder = earlier.folder
    terminal = Terminal(folder.path / "train.log")
    result = Result(versions=versions, folder=folder.path)
    if earlier is not None:
        result.steps, result.best = earlier.step, _best(earlier.best, prepared.options)
        result.test, result.ood = earlier.result.get("test", {}), earlier.result.get("ood", {})
    tracker: Logger | None = None
    try:
        if keeps_files and earlier is None:
            keep_files(folder.path / "data", prepared.options.task)
        write_text(folder.config, to_yaml(prepared.options))
        if earlier is None:
            keep_split_off(folder.path / "data", prepared.task, prepared.options)
            announce(prepared, terminal, folder)
        else:
            earlier.cut_back()
            announce_rest(earlier, changes, prepared, terminal)
        log = _attention_log(prepared, folder) if earlier is None else earlier.attention_log()
        tracker = _tracker(prepared.options, folder)
        if log is not None:
            log.max_megabytes = prepared.options.attention_log.max_megabytes
        if earlier is not None and earlier.finished and not extended:
            result.steps, best = earlier.step, earlier.best
        else:
            result.steps, best = _train(prepared, folder, terminal, log, earlier, result, tracker)
        result.best = _best(best, prepared.options)
        if log is not None:
            write_text(folder.page, page.render(log, title=f"{options.task.kind} ({folder.path.name})"))
        evaluations = _evaluate_best(prepared, folder)
        result.test, result.ood = ({} if found is None else found.scores for found in evaluations)
        if tracker is not None:
            tracker.log_metrics({f"test/{name}": value for name, value in result.test.items()}, step=result.steps)
        expected = expected_of(prepared.options)
        result.expected = {} if expected is None else expected.against(result.test)
        stop_if_asked()
        result.status, result.seconds = "completed", round(watch.seconds, 2)
        result.write(folder)
        summarise(
            prepared,
            folder,
            terminal,
            seconds=result.seconds,
            steps=result.steps,
            evaluations=evaluations,
            expected=expected,
        )
    except KeyboardInterrupt:
        result.status = "interrupted"
        terminal.say(
            f"\ninterrupted at step {result.steps:,}; go on with: python scripts/train.py resume={folder.typed}"
        )
        raise
    except OSError as error:
        raise folder.explained(error) or error from error
    finally:
        if result.status != "completed":
            result.seconds = round(watch.seconds, 2)
            with suppress(OSError):  # a full disk has been reported already
                result.write(folder)
        if tracker is not None:
            from seq2see.runs.tracker import close_tracker

            close_tracker(tracker, completed=result.status == "completed")
    return result


def _require_logger(kind: LoggerKind) -> None:
    if kind in (LoggerKind.wandb, LoggerKind.mlflow) and find_spec(kind.value) is None:
        raise ValueError(
            f"logger={kind.value}: its package is not installed: pip install {kind.value}, or leave it out"
        )


def _tracker(options: TrainOptions, folder: RunFolder) -> Logger | None:
    if options.logger not in (LoggerKind.wandb, LoggerKind.mlflow):
        return None
    from seq2see.runs.tracker import open_tracker

    return open_tracker(options, folder)


def _train(
    prepared: Prepared,
    folder: RunFolder,
    terminal: Terminal,
    log: AttentionLog | None,
    earlier: ResumeState | None,
    result: Result,
    tracker: Logger | None,
) -> tuple[int, tuple[int, float, float] | None]:
    """Trains; optimiser steps done, and step, score and loss of the best validation.

    Raises:
        KeyboardInterrupt: it was asked to stop; the last checkpoint is of the step where it did.
        RunFailed: a loss or a gradient is not finite.
    """
    from seq2see.runs.fit import fit  # Lightning takes seconds to import: not before the data are known to be right
    from seq2see.training.module import NotFinite

    try:
        outcome = fit(prepared, folder, terminal, log, earlier=earlier, tracker=tracker)
    except NotFinite as error:
        result.steps = error.step
        terminal.log_only(f"training pairs of the failed step: {error.ids}")
        raise RunFailed(
            f"{error}. Its batch has {len(error.ids)} pairs, such as number {', '.join(map(str, error.ids[:5]))} of "
            "the training pairs (train.log names all). The weights before it are in "
            f"{folder.relative(folder.checkpoints)}/failed.ckpt: lower optim.lr ({prepared.options.optim.lr}), or "
            "set trainer.gradient_clip_val"
        ) from error
    result.steps = outcome.steps
    stop_if_asked()
    if outcome.cost is not None:
        result.cost = asdict(outcome.cost)
        terminal.say(shortened(f"\n  {'cost':<11} {outcome.cost.line()}"))
    return outcome.steps, outcome.best


def _best(best: tuple[int, float, float] | None, options: TrainOptions) -> dict[str, Any]:
    return {} if best is None else {"step": best[0], "metric": options.training.select, "value": best[1]}


def _complete_already(earlier: ResumeState, changes: list[str]) -> Result:
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
        terminal.result(f"  {'test':<11} {scores_line(result.test)}")
    return result


def _attention_log(prepared: Prepared, folder: RunFolder) -> AttentionLog | None:
    """An empty log for the first validation pairs; None if maps are not wanted or there are no pairs."""
    options = prepared.options
    pairs = prepared.valid_pairs[: options.attention_log.num_examples]
    if not options.attention_log.enabled or not pairs:
        return None
    return AttentionLog.create(
        folder.path / "attention",
        examples=[example_of(number, pair, prepared.trained) for number, pair in enumerate(pairs)],
        model=model_dimensions(prepared.trained),
        max_megabytes=options.attention_log.max_megabytes,
    )


def _evaluate_best(prepared: Prepared, folder: RunFolder) -> tuple[Evaluation | None, Evaluation | None]:
    """Scores `best.ckpt` on the splits test and ood, and writes scores and translations; None without pairs."""
    device = device_of(prepared.options.trainer.accelerator)
    evaluations = []
    best = None
    for split in (Split.test, Split.ood):
        pairs = prepared.task.pairs(split.value)
        evaluation = None
        if pairs and (split is Split.test or _fit(prepared, pairs)):
            if best is None:
                best = load(str(folder.best))
                best.decode_as(prepared.options.decode)
            evaluation = evaluate_pairs(best, pairs, device=device)
            add_alignment(best, evaluation, prepared.valid_pairs)
            write(evaluation, folder.path / "evaluation", split.value)
        evaluations.append(evaluation)
    return evaluations[0], evaluations[1]


def _fit(prepared: Prepared, pairs: Sequence[Pair]) -> bool:
    """Whether the model has positions for pairs that are longer than those of training."""
    model = prepared.options.model
    if model.position is not Position.learned:
        return True
    sources = prepared.source_tokenizer.encode_batch([pair.source for pair in pairs])
    targets = prepared.target_tokenizer.encode_batch([pair.target for pair in pairs])
    return max(len(ids) + 1 for ids in (*sources, *targets)) <= model.max_positions


def _seed_everything(seed: int) -> None:
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)


def _versions() -> dict[str, str]:
    return {
        "seq2see": __version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "lightning": version("lightning"),
    }
