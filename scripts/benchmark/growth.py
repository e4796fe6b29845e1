"""How a training step grows with the sizes of model and batch, beside the operations that it takes."""

import time
from collections.abc import Iterator
from statistics import median

import torch
from torch.utils.flop_counter import FlopCounterMode

from benchmark.figure import Figure
from benchmark.machine import PRODUCTS, SIDE
from benchmark.train.peers import Ours, Size, random_batch, work_of
from seq2see.options import BenchmarkOptions
from seq2see.runs.cost import matrix_peak

MIDDLE = Size(d_model=128, num_layers=2, num_heads=4, d_ff=512, vocab_size=1_000, batch_size=64, length=20)
GROWN = {
    "middle": [MIDDLE],
    "width": [MIDDLE._replace(d_model=width, d_ff=4 * width) for width in (64, 256, 512)],
    "layers a side": [MIDDLE._replace(num_layers=layers) for layers in (1, 4, 8)],
    "length": [MIDDLE._replace(length=length) for length in (10, 40, 80, 160)],
    "vocabulary": [MIDDLE._replace(vocab_size=entries) for entries in (100, 10_000, 30_000)],
    "pairs a batch": [MIDDLE._replace(batch_size=pairs) for pairs in (16, 256)],
}
CHANGED = {
    "width": "d_model", "layers a side": "num_layers", "length": "length", "vocabulary": "vocab_size",
    "pairs a batch": "batch_size",
}  # fmt: skip


def figures(options: BenchmarkOptions) -> Iterator[Figure]:
    """Milliseconds a step of the middle size, and of sizes that differ from it in one thing."""
    peak = matrix_peak(SIDE, PRODUCTS, rounds=5)
    for name, sizes in GROWN.items():
        for size in sizes:
            seconds, flops = measured_step(size, options.rounds)
            value = "" if name == "middle" else f" {getattr(size, CHANGED[name]):,}"
            note = f"{flops / 1e9:.1f} GFLOP, {flops / seconds / peak:.0%} of the matrix peak"
            yield Figure("growth", f"{name}{value}", 1e3 * seconds, "ms", note=note)


def measured_step(size: Size, rounds: int) -> tuple[float, int]:
    """Seconds, the median of some steps, and the floating-point operations of one."""
    torch.manual_seed(0)
    step = work_of(Ours(size), [random_batch(size)], fused=True)
    with FlopCounterMode(display=False) as counter:
        step()
    seconds = []
    for _ in range(2 * rounds + 1):
        start = time.perf_counter()
        step()
        seconds.append(time.perf_counter() - start)
    return median(seconds[1:]), counter.get_total_flops()
