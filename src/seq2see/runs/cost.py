"""What a training will take and has cost: seconds, operations, tokens a second, memory, and the machine made use of."""

import sys
import time
from collections.abc import Iterator
from itertools import islice
from typing import Any

import torch
from torch.utils.flop_counter import FlopCounterMode

from seq2see.data import Batch
from seq2see.runs.prepare import TrainingSetup, train_loader
from seq2see.training.objective import objective_of

NUM_TRIALS = 3  # batches whose time is measured, and whose operations are counted
SIDE, PRODUCTS = 1024, 3  # of the square matrices whose products are the machine's peak
ALL_ELSE = 1.15  # the optimiser, validations and logging, beside forward and backward


def cost_of(setup: TrainingSetup, *, steps: int, tokens: int, seconds: float) -> dict[str, float | None]:
    """What one process's training cost, validations and logging included; takes a moment to measure.

    Args:
        setup: what was trained.
        steps: optimiser steps.
        tokens: real target tokens.
        seconds: of training.

    Returns:
        `step_flops`, floating-point operations of an optimiser step: matrix products, forward and backward;
        `tokens_per_second`; `flops_per_second`; `matrix_peak`, floating-point operations a second of float32 products
        of large matrices, on a CPU alone; `peak_memory` in bytes, where the system says.
    """
    with FlopCounterMode(display=False) as counter:
        num_batches = sum(1 for _ in _trials(setup, NUM_TRIALS))
    flops = counter.get_total_flops() / max(num_batches, 1) * setup.options.trainer.accumulate_grad_batches
    seconds = max(seconds, 1e-9)
    on_cpu = next(setup.trained.model.parameters()).device.type == "cpu"
    return {
        "step_flops": flops,
        "tokens_per_second": tokens / seconds,
        "flops_per_second": flops * steps / seconds,
        "matrix_peak": matrix_peak(SIDE, PRODUCTS, rounds=3) if on_cpu else None,
        "peak_memory": _peak_memory(),
    }


def cost_line(cost: dict[str, Any]) -> str:
    """For people."""
    parts = [f"{cost['step_flops'] / 1e9:,.1f} GFLOP a step", f"{cost['tokens_per_second']:,.0f} target tokens/s"]
    if cost["matrix_peak"]:
        parts.append(f"{cost['flops_per_second'] / cost['matrix_peak']:.0%} of the peak")
    if cost["peak_memory"]:
        parts.append(f"{cost['peak_memory'] / 2**20:,.0f} MiB")
    return ", ".join(parts)


def expected_seconds(setup: TrainingSetup) -> float:
    """Seconds that the training will take: its limit, or what a few steps lead to expect, whichever is less."""
    limit = setup.budget.max_seconds or float("inf")
    if setup.budget.max_steps is None:
        return limit
    times = [time.monotonic() for _ in _trials(setup, NUM_TRIALS + 1)]  # the first one warms up
    seconds_a_batch = (times[-1] - times[0]) / max(len(times) - 1, 1)
    num_batches = setup.budget.max_steps * setup.options.trainer.accumulate_grad_batches
    return min(seconds_a_batch * num_batches * ALL_ELSE, limit)


def _trials(setup: TrainingSetup, num_batches: int) -> Iterator[None]:
    """Goes forward and backward through one batch after the other; no trace is left in weights or random state."""
    model, smoothing = setup.trained.model, setup.options.optim.label_smoothing or 0.0
    device = next(model.parameters()).device
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        for batch in islice(train_loader(setup.options, setup.train), num_batches):
            objective_of(model, Batch(*(part.to(device) for part in batch)), smoothing=smoothing).objective.backward()
            yield
    model.zero_grad(set_to_none=True)


def matrix_peak(side: int, products: int, *, rounds: int) -> float:
    """Floating-point operations a second of float32 products of square matrices: the best of some rounds."""
    matrix, best = torch.randn(side, side), float("inf")
    for _ in range(rounds):
        start = time.perf_counter()
        for _ in range(products):
            torch.mm(matrix, matrix)
        best = min(best, (time.perf_counter() - start) / products)
    return 2 * side**3 / best


def _peak_memory() -> int | None:
    try:
        import resource
    except ImportError:  # Windows
        return None
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024
