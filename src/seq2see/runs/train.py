"""A whole training run: options in, a run folder and a result out."""

import json
import platform
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import lightning as L
import torch

import seq2see
from seq2see.maps import AttentionLog, page
from seq2see.options import Split, TrainOptions
from seq2see.runs.alignment import example_of, model_dimensions
from seq2see.runs.checkpoint import device_of, load
from seq2see.runs.config import to_yaml
from seq2see.runs.data import keep_split_off
from seq2see.runs.evaluate import Evaluation, evaluate_pairs
from seq2see.runs.expected import expected_of
from seq2see.runs.fit import fit
from seq2see.runs.folder import RunFolder, write_text
from seq2see.runs.prepare import Prepared, prepare
from seq2see.runs.summary import announce, summarise
from seq2see.runs.terminal import Stopwatch, Terminal


@dataclass
class Result:
    """What `result.json` says, and where the run lies.

    Args:
        status: `completed`, `interrupted` or `failed`.
        steps: optimiser steps done.
        seconds: of the whole run, from the claim of its folder.
        best: step, metric and value of the best checkpoint; empty without validation.
        test: scores on the test pairs.
        expected: the range to expect from an unchanged recipe, and whether it is met; empty for others.
        versions: of what made it.
        folder: the run folder; not in the file.
    """

    status: str = "failed"
    steps: int = 0
    seconds: float = 0.0
    best: dict[str, Any] = field(default_factory=dict)
    test: dict[str, float] = field(default_factory=dict)
    expected: dict[str, Any] = field(default_factory=dict)
    versions: dict[str, str] = field(default_factory=dict)
    folder: Path = field(default_factory=Path)

    def write(self, folder: RunFolder) -> None:
        """Writes `result.json`."""
        plain = {name: value for name, value in asdict(self).items() if name != "folder"}
        write_text(folder.result, json.dumps(plain, indent=2, ensure_ascii=False) + "\n")


def train(options: TrainOptions) -> Result:
    """Trains, tests and writes the run folder.

    Args:
        options: what to do; what is None follows from the task and the data.

    Returns:
        What `result.json` says.

    Raises:
        ValueError: the options or the data are wrong; no folder is left then, unless training had begun.
    """
    watch = Stopwatch()
    RunFolder.check(options.run_dir)
    L.seed_everything(options.seed, verbose=False)
    prepared = prepare(options)
    folder = RunFolder.claim(options.run_dir, kind=options.task.kind)
    terminal = Terminal(folder.path / "train.log")
    result = Result(versions=_versions(), folder=folder.path)
    try:
        write_text(folder.config, to_yaml(prepared.options))
        keep_split_off(folder.path / "data", prepared.task, prepared.options)
        announce(prepared, terminal, folder)
        log = _attention_log(prepared, folder)
        outcome = fit(prepared, folder, terminal, log)
        result.steps, result.best = outcome.steps, outcome.best
        if log is not None:
            write_text(folder.page, page.render(log, title=f"{options.task.kind} ({folder.path.name})"))
        evaluation = _test(prepared, folder)
        result.test = evaluation.scores if evaluation is not None else {}
        expected = expected_of(prepared.options)
        result.expected = {} if expected is None else expected.against(result.test)
        result.status, result.seconds = "completed", round(watch.seconds, 2)
        summarise(
            prepared,
            folder,
            terminal,
            seconds=result.seconds,
            steps=result.steps,
            evaluation=evaluation,
            expected=expected,
        )
    except KeyboardInterrupt:
        result.status = "interrupted"
        raise
    finally:
        result.seconds = round(watch.seconds, 2)
        result.write(folder)
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


def _test(prepared: Prepared, folder: RunFolder) -> Evaluation | None:
    """Scores `best.ckpt` on the test pairs, and writes the scores and the translations; None without pairs."""
    pairs = prepared.task.pairs("test")
    if not pairs:
        return None
    best = load(str(folder.best))
    valid = prepared.valid_pairs
    evaluation = evaluate_pairs(best, pairs, valid=valid, device=device_of(prepared.options.trainer.accelerator))
    evaluation.write(folder.path / "evaluation", Split.test.value)
    return evaluation


def _versions() -> dict[str, str]:
    return {
        "seq2see": seq2see.__version__,
        "python": platform.python_version(),
        "torch": torch.__version__,
        "lightning": L.__version__,
    }
