"""Promises of files: nothing is lost by saving, by reading, nor when a process is killed."""

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

from seq2see.decoding import load, read_content
from seq2see.evaluation import evaluate_pairs
from seq2see.options import LOWER_IS_BETTER, DataOptions, FilesOptions, LoggerKind, OtherData, OtherText, TrainOptions
from seq2see.runs.config import to_yaml
from seq2see.runs.data import read_pairs
from seq2see.runs.fit import NUM_SAMPLES
from seq2see.runs.selfcheck.checks import check
from seq2see.runs.selfcheck.fixture import NUM_PAIRS, Fixture, valid_pairs_of
from seq2see.runs.train import train_run
from seq2see.tasks import Pair
from seq2see.training.checkpoints import AtomicCheckpointIO

_NUM_STEPS = 16  # of the short run
_VALIDATE_EVERY = 4  # of them; the run is killed after the first of these
_ROUNDING = 1e-4  # of a score on another machine
_CHILD = "from seq2see.runs.shell import main; main('train', None)"


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


@check("test files are read as training files", "pairs", 0)
def read_again(fixture: Fixture) -> int:
    """What is scored is not what the file says: other columns, a header that is a pair, or a lost line.

    Look at read_pairs in runs/data.py.
    """
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = [(pair.target, number, pair.source) for number, pair in enumerate(fixture.pairs)]
            csv.writer(file).writerows([("out", "number", "in"), *rows])
        task = FilesOptions(train=str(path), source="in", target="out")
        options = replace(fixture.trained.options, task=task, data=DataOptions())
        found = read_pairs(OtherData(str(path)), OtherText(), options, [])
    wrong = sum(pair[:2] != other[:2] for pair, other in zip(fixture.pairs, found, strict=False))
    return wrong + abs(len(fixture.pairs) - len(found))


@check("best.ckpt is the best, and scored so", "numbers", 0)
def chosen(fixture: Fixture) -> int:
    """Another validation was better, or an evaluation of best.ckpt finds other scores.

    Look at what chooses it in training/callbacks.py, and at evaluation/references.py, which both score by.
    """
    # of the checkpoint's own run, if it is there, and of a short one on two targets a source, so that the loss decides
    own, pairs, wrong = fixture.trained.run, fixture.pairs, 0
    if own is not None and (own / "metrics.csv").is_file() and (own / "result.json").is_file():
        wrong = num_misrecorded(own)
    others = [pair._replace(target=other.target) for pair, other in zip(pairs, pairs[1:], strict=False)]
    with _quiet_folder() as folder:
        options = _short_run([*pairs, *others], fixture.trained.options, folder)
        run = folder / "run"
        train_run(replace(options, run_dir=str(run), training=replace(options.training, select="exact_match")))
        return wrong + num_misrecorded(run)


def num_misrecorded(run: Path) -> int:
    """1 if another validation was better, and the scores of `best.ckpt` that are others in an evaluation.

    Those are looked at where a validation has translated all pairs, at full precision.
    """
    best = json.loads((run / "result.json").read_text(encoding="utf-8"))["best"]
    rows = {int(row["step"]): row for row in _rows(run) if row["val/loss"]}
    if not best or best["step"] not in rows:
        return 0
    sign = -1 if best["metric"] in LOWER_IS_BETTER else 1
    order = {step: (sign * float(row[f"val/{best['metric']}"]), -float(row["val/loss"])) for step, row in rows.items()}
    wrong = int(order[best["step"]] < max(order.values()))
    trained = load(str(run))
    pairs, trainer = valid_pairs_of(trained), trained.options.trainer
    if not 0 < len(pairs) <= NUM_SAMPLES or (trainer.precision, trainer.limit_val_batches) != ("32-true", 1.0):
        return wrong
    logged = {name: float(value) for name, value in rows[best["step"]].items() if name.startswith("val/") and value}
    found = {f"val/{name}": score for name, score in evaluate_pairs(trained, pairs).scores.items()}
    return wrong + sum(abs(value - found[name]) > _ROUNDING * abs(found[name]) for name, value in logged.items())


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
