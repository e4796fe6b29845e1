"""What Lightning costs: our step as a run takes it, beside the same step in a plain loop."""

import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

import torch
from torch import nn

from benchmark.figure import Figure
from benchmark.train.peers import CLIP, DROPOUT, SMOOTHING, Size
from seq2see.training.objective import objective_of

STEPS, LEFT_OUT = 60, 10  # timed together, and of these at the beginning


def figures(size: Size, *, rounds: int) -> Iterator[Figure]:
    """Milliseconds a step on the same batches, in turn; the ratio is a run's step to the plain one's."""
    from seq2see.runs.config import compose_options
    from seq2see.runs.prepare import prepare

    options = compose_options(
        "train",
        [
            "task=copy", f"task.train_size={STEPS * size.batch_size}", "task.valid_size=0", "task.test_size=0",
            f"data.batch_size={size.batch_size}", f"model.dropout={DROPOUT}", f"trainer.max_steps={STEPS}",
            f"optim.label_smoothing={SMOOTHING}", "attention_log.enabled=false",
        ],
    )  # fmt: skip
    of_run, plain = [], []
    for _ in range(rounds):
        of_run.append(_run(options))
        plain.append(_plain(prepare(options)))
    ratios = [ours / bare for ours, bare in zip(of_run, plain, strict=True)]
    yield Figure("framework", "a step of a run", median(of_run), "ms")
    yield Figure(
        "framework", "the same step in a plain loop", median(plain), "ms", median(ratios), (min(ratios), max(ratios)),
        note="the ratio is what Lightning, logging and checks cost",
    )  # fmt: skip


def _run(options: Any) -> float:
    """Milliseconds a step, of the training loop of `train_run`."""
    from seq2see.runs.fit import fit
    from seq2see.runs.folder import RunFolder
    from seq2see.runs.prepare import prepare
    from seq2see.runs.terminal import Terminal
    from seq2see.training.module import TrainingModule

    ends: list[float] = []
    start = TrainingModule.on_train_batch_start

    def timed(self: TrainingModule, *arguments: Any) -> None:
        ends.append(time.perf_counter())
        start(self, *arguments)

    with tempfile.TemporaryDirectory() as name, patch.object(TrainingModule, "on_train_batch_start", timed):
        fit(prepare(options), RunFolder(Path(name)), Terminal(), None)
    return _median_step(ends)


def _plain(prepared: Any) -> float:
    from seq2see.runs.prepare import train_loader

    model, optim = prepared.trained.model.train(), prepared.options.optim
    optimizer = torch.optim.AdamW(model.parameters(), lr=optim.lr, betas=tuple(optim.betas), fused=True)
    ends = []
    for batch in train_loader(prepared.options.data, prepared.options.seed, prepared.train):
        ends.append(time.perf_counter())
        result = objective_of(model, batch, smoothing=optim.label_smoothing)
        optimizer.zero_grad()
        (result.objective / result.tokens).backward()
        nn.utils.clip_grad_norm_(model.parameters(), CLIP)
        optimizer.step()
    return _median_step(ends)


def _median_step(ends: list[float]) -> float:
    return 1e3 * median(after - before for before, after in zip(ends[LEFT_OUT:], ends[LEFT_OUT + 1 :], strict=False))
