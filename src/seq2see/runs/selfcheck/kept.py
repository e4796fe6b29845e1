"""Promises of what is written down: nothing is lost by saving, nor when a process is killed."""

import csv
import io
import json
import logging
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import Any

import lightning as L
import torch
from torch import Tensor

from seq2see.decoding import load, read_checkpoint
from seq2see.evaluation import evaluate_pairs
from seq2see.options import (
    LOWER_IS_BETTER,
    DataOptions,
    FilesOptions,
    LoggerKind,
    OtherData,
    OtherText,
    TrainOptions,
)
from seq2see.runs.config import to_yaml
from seq2see.runs.data import read_pairs
from seq2see.runs.fit import NUM_SAMPLES
from seq2see.runs.selfcheck.subject import NUM_PAIRS, Subject, valid_pairs_of
from seq2see.runs.train import train_run
from seq2see.tasks import Pair
from seq2see.training.checkpoint_io import AtomicCheckpointIO

_NUM_STEPS = 16  # of the short run
_VALIDATE_EVERY = 4  # of them; the run is killed after the first of these
_ROUNDING = 1e-4  # of a score on another machine
_CHILD = "from seq2see.runs.shell import main; main('train', None)"


def saved(subject: Subject) -> int:
    """Logits, ids and options that are others, to the bit, after a checkpoint was written and loaded."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "saved.ckpt"
        _save(subject, path)
        other = load(str(path))
    here, batch = subject.trained, subject.batch
    with torch.inference_mode():
        expected, found = (one.model(batch.src, batch.src_mask, batch.tgt_in) for one in (here, other))
    sources, targets = [pair.source for pair in subject.pairs], [pair.target for pair in subject.pairs]
    wrong = int((expected != found).sum())
    wrong += here.source_tokenizer.encode_batch(sources) != other.source_tokenizer.encode_batch(sources)
    wrong += here.target_tokenizer.encode_batch(targets) != other.target_tokenizer.encode_batch(targets)
    return wrong + (here.length_limit != other.length_limit) + (here.options != other.options)


def read_again(subject: Subject) -> int:
    """Pairs that a file which is given to be scored gives otherwise than one of the same shape that is trained on."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "pairs.csv"
        with path.open("w", encoding="utf-8", newline="") as file:
            rows = [(pair.target, number, pair.source) for number, pair in enumerate(subject.pairs)]
            csv.writer(file).writerows([("out", "number", "in"), *rows])
        own = subject.trained.options
        options = replace(own, task=FilesOptions(train=str(path), source="in", target="out"), data=DataOptions())
        found = read_pairs(OtherData(str(path)), OtherText(), options, [])
    wrong = sum(pair[:2] != other[:2] for pair, other in zip(subject.pairs, found, strict=False))
    return wrong + abs(len(subject.pairs) - len(found))


def _save(subject: Subject, path: Path) -> None:
    """As training does."""
    logging.getLogger("lightning.pytorch.utilities.rank_zero").setLevel(logging.ERROR)  # which devices there are
    module = subject.training_module()
    module.model = subject.trained.model
    trainer = L.Trainer(
        accelerator="cpu",
        plugins=[AtomicCheckpointIO()],
        logger=False,
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
    )
    trainer.strategy.connect(module)
    trainer.save_checkpoint(path, weights_only=True)


def resumed(subject: Subject) -> int:
    """Numbers that are others when a short run is killed and goes on than when it is left alone.

    Weights, the optimiser's state and the logged losses, to the bit. The run has the options of the model, but for
    its length, and trains on the pairs alone. It is killed in a process of its own, as by a power cut.

    Raises:
        RuntimeError: the run ends before it can be killed.
    """
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, _quiet_and_apart(Path(name)):
        folder = Path(name)
        options = _short_run(subject, folder)
        train_run(replace(options, run_dir=str(folder / "straight")))
        _train_and_kill(options, folder / "killed")
        train_run(replace(options, run_dir=str(folder / "killed"), resume="auto"))
        return _num_other(folder / "straight", folder / "killed")


def chosen(subject: Subject) -> int:
    """What a run has recorded of its validations that is not so: which was the best, and the scores of `best.ckpt`.

    Of the run that the checkpoint is of, if it is there; and of a short one on two targets for each source, whose score
    hardly rises, so that the loss decides.
    """
    own, wrong = subject.trained.run, 0
    if own is not None and (own / "metrics.csv").is_file() and (own / "result.json").is_file():
        wrong += _num_misrecorded(own)
    others = [pair._replace(target=other.target) for pair, other in zip(subject.pairs, subject.pairs[1:], strict=False)]
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name, _quiet_and_apart(Path(name)):
        options = _short_run(subject, Path(name), more=others)
        run = Path(name) / "run"
        train_run(replace(options, run_dir=str(run), training=replace(options.training, select="exact_match")))
        return wrong + _num_misrecorded(run)


def _num_misrecorded(run: Path) -> int:
    """1 if another validation was better, and the scores of `best.ckpt` that are others in an evaluation.

    Those are looked at where a validation has translated all pairs, at full precision.
    """
    best = json.loads((run / "result.json").read_text(encoding="utf-8"))["best"]
    lines = csv.DictReader((run / "metrics.csv").read_text(encoding="utf-8").splitlines())
    rows = {int(row["step"]): row for row in lines if row["val/loss"]}
    if not best or best["step"] not in rows:
        return 0
    sign = -1 if best["metric"] in LOWER_IS_BETTER else 1
    order = {step: (sign * float(row[f"val/{best['metric']}"]), -float(row["val/loss"])) for step, row in rows.items()}
    wrong = int(order[best["step"]] < max(order.values()))
    trained = load(str(run))
    pairs, trainer = valid_pairs_of(trained), trained.options.trainer
    if not 0 < len(pairs) <= NUM_SAMPLES or (trainer.precision, trainer.limit_val_batches) != ("32-true", 1.0):
        return wrong
    logged = {name.removeprefix("val/"): value for name, value in rows[best["step"]].items() if name.startswith("val/")}
    scores = evaluate_pairs(trained, pairs).scores
    return wrong + sum(
        abs(float(value) - scores[name]) > _ROUNDING * abs(scores[name]) for name, value in logged.items() if value
    )


def _short_run(subject: Subject, folder: Path, *, more: Sequence[Pair] = ()) -> TrainOptions:
    """The model's options for a few steps on the pairs, and on more."""
    path = folder / "pairs.jsonl"
    lines = [{"source": pair.source, "target": pair.target} for pair in (*subject.pairs, *more)]
    path.write_text("".join(json.dumps(line, ensure_ascii=False) + "\n" for line in lines), encoding="utf-8")
    own = subject.trained.options
    return replace(
        own,
        study=None,
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
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE) as process:
        while process.poll() is None and not (best.exists() and last.stat().st_mtime_ns > best.stat().st_mtime_ns):
            time.sleep(0.005)
        status = process.poll()
        process.kill()
        _, errors = process.communicate()
    if status is not None:
        said = errors.decode("utf-8", "replace").strip().splitlines()
        raise RuntimeError(said[-1] if status and said else "the run ended before it could be killed")


@contextmanager
def _quiet_and_apart(folder: Path) -> Iterator[None]:
    """Nothing is printed, and what is kept for other runs is kept in the folder."""
    before = os.environ.get("SEQ2SEE_CACHE")
    os.environ["SEQ2SEE_CACHE"] = str(folder / "cache")
    try:
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            yield
    finally:
        if before is None:
            del os.environ["SEQ2SEE_CACHE"]
        else:
            os.environ["SEQ2SEE_CACHE"] = before


def _num_other(one: Path, other: Path) -> int:
    """Numbers that differ between two run folders."""
    here, there = (list(_tensors(read_checkpoint(run / "checkpoints" / "last.ckpt"))) for run in (one, other))
    wrong = sum(int((a != b).sum()) for a, b in zip(here, there, strict=True))
    rows = [_losses(run / "metrics.csv") for run in (one, other)]
    return wrong + abs(len(rows[0]) - len(rows[1])) + sum(a != b for a, b in zip(*rows, strict=False))


def _tensors(checkpoint: dict[str, Any]) -> Iterator[Tensor]:
    """The weights, and the optimiser's state."""
    places: list[Any] = [checkpoint["state_dict"], checkpoint["optimizer_states"]]
    while places:
        place = places.pop()
        if isinstance(place, Tensor):
            yield place
        elif isinstance(place, dict | list):
            places += place.values() if isinstance(place, dict) else place


def _losses(path: Path) -> list[dict[str, str]]:
    rows = csv.DictReader(path.read_text(encoding="utf-8").splitlines())
    return [{name: value for name, value in row.items() if name != "train/tokens_per_second"} for row in rows]
