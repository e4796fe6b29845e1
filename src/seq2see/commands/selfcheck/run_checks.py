"""Promises of files: nothing is lost by saving, nor when a process is killed."""

import csv
import io
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from unittest.mock import patch

import torch
from torch import Tensor

from seq2see.commands.selfcheck.checks import check
from seq2see.commands.selfcheck.fixture import NUM_PAIRS, Fixture
from seq2see.decoding import load, read_content
from seq2see.evaluation import evaluate_pairs
from seq2see.options import FilesOptions, LoggerKind, Split, TrainOptions
from seq2see.runs.config import to_yaml
from seq2see.runs.data import pairs_of
from seq2see.runs.train import train_run
from seq2see.tasks import Pair
from seq2see.training.checkpoints import AtomicCheckpointIO

_NUM_STEPS = 16  # of the short run
_VALIDATE_EVERY = 4  # of them; the run is killed after the first of these
_ROUNDING = 1e-6  # of a score
_CHILD = "from seq2see.commands.shell import main; main('train', None)"


@check("a saved and loaded model is the same", "numbers", 0)
def saved(fixture: Fixture) -> int:
    """A checkpoint does not hold all that the model is.

    Weights outside the state_dict, or options that TranslationModel.describe leaves out, are lost.
    """
    here, batch = fixture.trained, fixture.batch
    module = fixture.training_module(here.model)
    checkpoint = {"state_dict": module.state_dict(), "global_step": here.step}
    module.on_save_checkpoint(checkpoint)
    with tempfile.TemporaryDirectory() as folder:
        AtomicCheckpointIO().save_checkpoint(checkpoint, Path(folder) / "saved.ckpt")
        there = load(str(Path(folder) / "saved.ckpt"))
    with torch.inference_mode():
        expected, found = (one.model(batch.src, batch.src_mask, batch.tgt_in) for one in (here, there))
    sources, targets = [pair.source for pair in fixture.pairs], [pair.target for pair in fixture.pairs]
    wrong = int((expected != found).sum())
    wrong += fixture.sources != there.source_tokenizer.encode_batch(sources)
    wrong += fixture.targets != there.target_tokenizer.encode_batch(targets)
    return wrong + (here.length_limit != there.length_limit) + (here.options != there.options)


@check("best.ckpt is the best, and scored so", "numbers", 0)
def chosen(fixture: Fixture) -> int:
    """Another validation was better, or an evaluation of best.ckpt finds other scores.

    Look at what chooses it in training/callbacks.py, and at evaluation/references.py, which both score by.
    """
    # a short run on two targets a source, so that the loss decides
    pairs = fixture.pairs
    others = [pair._replace(target=other.target) for pair, other in zip(pairs, pairs[1:], strict=False)]
    with _quiet_folder() as folder:
        options = _short_run([*pairs, *others], fixture.trained.options, folder)
        run = folder / "run"
        train_run(replace(options, run_dir=str(run), training=replace(options.training, select="exact_match")))
        best = json.loads((run / "result.json").read_text(encoding="utf-8"))["best"]["step"]
        trained = load(str(run))
        found = evaluate_pairs(trained, pairs_of(trained.options, Split.valid, run=run)).scores
        logged = {int(row["step"]): row for row in _rows(run) if row["val/loss"]}
    order = {step: (float(row["val/exact_match"]), -float(row["val/loss"])) for step, row in logged.items()}
    rows = logged[best].items()
    scores = {name: (float(value), found[name[4:]]) for name, value in rows if name.startswith("val/") and value}
    wrong = sum(abs(here - there) > _ROUNDING * abs(there) for here, there in scores.values())
    return wrong + (order[best] < max(order.values()))


@check("killed and resumed = never interrupted", "numbers", 0)
def resumed(fixture: Fixture) -> int:
    """A run that is interrupted ends with another model: something that training depends on is not in last.ckpt.

    Look at training/callbacks.py, and at random numbers that you draw in training.
    """
    # weights, the optimiser's state and logged losses, to the bit; killed as by a power cut
    with _quiet_folder() as folder:
        options = _short_run(fixture.pairs, fixture.trained.options, folder)
        straight, killed = folder / "straight", folder / "killed"
        train_run(replace(options, run_dir=str(straight)))
        _train_and_kill(options, killed)
        train_run(replace(options, run_dir=str(killed), resume="auto"))
        wrong = sum(int((a != b).sum()) for a, b in zip(_tensors(straight), _tensors(killed), strict=True))
        here, there = ([{**row, "train/tokens_per_second": ""} for row in _rows(run)] for run in (straight, killed))
        return wrong + abs(len(here) - len(there)) + sum(a != b for a, b in zip(here, there, strict=False))


def _short_run(pairs: Sequence[Pair], own: TrainOptions, folder: Path) -> TrainOptions:
    """These options for a few steps on these pairs."""
    path = folder / "pairs.jsonl"
    lines = (json.dumps({"source": pair.source, "target": pair.target}) for pair in pairs)
    path.write_text("\n".join(lines), encoding="utf-8")
    return replace(
        own,
        init=None,
        task=FilesOptions(train=str(path), valid=str(path), test=str(path)),
        data=replace(own.data, batch_size=NUM_PAIRS // 2 - 1, batch_tokens=None, max_length=100_000),
        trainer=replace(
            own.trainer,
            accelerator="cpu",
            devices=1,
            precision="32-true",
            max_steps=_NUM_STEPS,
            max_epochs=None,
            max_time=None,
            val_check_interval=_VALIDATE_EVERY,
            limit_val_batches=1.0,
            log_every_n_steps=1,
        ),
        training=replace(own.training, patience=None, keep=None),
        attention_log=replace(own.attention_log, enabled=False),
        logger=LoggerKind.csv,
    )


def _train_and_kill(options: TrainOptions, folder: Path) -> None:
    config = folder.with_suffix(".yaml")
    config.write_text(to_yaml(options), encoding="utf-8")
    best, last = folder / "checkpoints" / "best.ckpt", folder / "checkpoints" / "last.ckpt"
    command = [sys.executable, "-c", _CHILD, f"config={config}", f"run_dir={folder}"]
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8") as process:
        while process.poll() is None and not (best.exists() and last.stat().st_mtime_ns > best.stat().st_mtime_ns):
            time.sleep(0.005)
        ended = process.poll() is not None
        process.kill()
        errors = process.communicate()[1].strip().splitlines()
    if ended:
        raise RuntimeError(errors[-1] if errors else "the run ended before it could be killed")


@contextmanager
def _quiet_folder() -> Iterator[Path]:
    """A folder for a while, in which is kept what is kept for other runs, too; nothing is printed."""
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder,
        patch.dict(os.environ, SEQ2SEE_CACHE=os.path.join(folder, "cache")),
        redirect_stdout(io.StringIO()),
        redirect_stderr(io.StringIO()),
    ):
        yield Path(folder)


def _tensors(run: Path) -> list[Tensor]:
    """The weights, and the optimiser's state."""
    checkpoint = read_content(run / "checkpoints" / "last.ckpt").values
    moments = [own for optimizer in checkpoint["optimizer_states"] for own in optimizer["state"].values()]
    return [*checkpoint["state_dict"].values(), *(value for own in moments for value in own.values())]


def _rows(run: Path) -> list[dict[str, str]]:
    return list(csv.DictReader((run / "metrics.csv").read_text(encoding="utf-8").splitlines()))
