"""What a training will take and has cost: seconds, operations, tokens a second, memory, and the machine made use of."""

import sys
import time
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
import torch
from torch.utils.flop_counter import FlopCounterMode

from seq2see.data import Batch
from seq2see.decoding import LengthLimit, TranslationModel, decode_sentences
from seq2see.ranks import num_ranks
from seq2see.tasks import Pair
from seq2see.training.budget import Budget
from seq2see.training.objective import objective_of
from seq2see.transformer import Transformer

NUM_DECODED, NUM_TOKENS = 32, 8  # test sources, and target tokens of each, that show how long all will take
NUM_TRIALS = 3  # batches whose time is measured, and whose operations are counted
SIDE, PRODUCTS = 1024, 3  # of the square matrices whose products are the machine's peak
ALL_BUT_DECODING = 2.0  # beside the translating of a test: its references, scores and alignments
ALL_ELSE = 1.15  # the optimiser, validations and logging, beside forward and backward


def cost_of(
    model: Transformer,
    batches: Iterable[Batch],
    *,
    accumulate_grad_batches: int,
    steps: int,
    tokens: int,
    seconds: float,
) -> dict[str, float | None]:
    """What a training cost, validations and logging included, in all its processes; takes a moment to measure.

    Args:
        model: what was trained.
        batches: of the training pairs, as they come to this process.
        accumulate_grad_batches: batches an optimiser step.
        steps: optimiser steps.
        tokens: real target tokens.
        seconds: of training.

    Returns:
        `step_flops`, floating-point operations of an optimiser step: matrix products, forward and backward;
        `tokens_per_second`; `flops_per_second`; `matrix_peak`, floating-point operations a second of float32 products
        of large matrices, on a CPU alone; `peak_memory` in bytes, where the system says.
    """
    with FlopCounterMode(display=False) as counter:
        num_batches = sum(1 for _ in _trials(model, batches, NUM_TRIALS, smoothing=0.0))  # which adds no products
    flops = counter.get_total_flops() / max(num_batches, 1) * accumulate_grad_batches * num_ranks()
    seconds = max(seconds, 1e-9)
    on_cpu = next(model.parameters()).device.type == "cpu"
    return {
        "step_flops": flops,
        "tokens_per_second": tokens / seconds,
        "flops_per_second": flops * steps / seconds,
        "matrix_peak": matrix_peak(SIDE, PRODUCTS, rounds=3) * num_ranks() if on_cpu else None,
        "peak_memory": _peak_memory(),
    }


def cost_line(cost: dict[str, Any]) -> str:
    """For people."""
    parts = [f"{cost['step_flops'] / 1e9:,.1f} GFLOP a step", f"{cost['tokens_per_second']:,.0f} target tokens/s"]
    if cost["matrix_peak"]:
        parts.append(f"{cost['flops_per_second'] / cost['matrix_peak']:.0%} of peak")
    if cost["peak_memory"]:
        parts.append(f"{cost['peak_memory'] / 2**20:,.0f} MiB")
    return ", ".join(parts)


def expected_seconds(
    model: Transformer, batches: Iterable[Batch], budget: Budget, *, smoothing: float, accumulate_grad_batches: int
) -> float:
    """Seconds that the training will take: its limit, or what a few steps lead to expect, whichever is less."""
    limit = budget.max_seconds or float("inf")
    if budget.max_steps is None:
        return limit
    trials = _trials(model, batches, NUM_TRIALS + 1, smoothing=smoothing)  # the first one warms up
    times = [time.monotonic() for _ in trials]
    seconds_a_batch = (times[-1] - times[0]) / max(len(times) - 1, 1)
    return min(seconds_a_batch * budget.max_steps * accumulate_grad_batches * ALL_ELSE, limit)


def expected_test_seconds(trained: TranslationModel, pairs: Sequence[Pair]) -> float:
    """Seconds that scoring these will take, if outputs get as long as their references: what some lead to expect."""
    if not pairs:
        return 0.0
    some = pairs[:: -(-len(pairs) // NUM_DECODED)]
    sources = trained.source_tokenizer.encode_batch([pair.source for pair in some])
    targets = trained.target_tokenizer.encode_batch([pair.target for pair in pairs])
    times = [time.monotonic()]
    for most in (1, 1, 1 + NUM_TOKENS):  # target tokens; the first time warms up
        limit = LengthLimit(ratio=0.0, slack=most)
        decode_sentences(trained.predictor, sources, limit=limit, options=trained.options.decode)
        times.append(time.monotonic())
    _, first, more = np.diff(times)
    a_token = max(more - first, 0.0) / (len(some) * NUM_TOKENS)
    seconds = first / len(some) * len(pairs) + a_token * sum(map(len, targets))
    return float(seconds) * ALL_BUT_DECODING / num_ranks()


def _trials(model: Transformer, batches: Iterable[Batch], most: int, *, smoothing: float) -> Iterator[None]:
    """Goes forward and backward through one batch after the other; no trace is left in weights or random state."""
    device = next(model.parameters()).device
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        for batch in islice(batches, most):
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
