"""What a run loses while another process keeps each core busy, as on a laptop that is in use."""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from statistics import median

from benchmark.figure import Figure
from benchmark.solve import result_of
from seq2see.options import BenchmarkOptions

STEPS = 150
RUN = (f"trainer.max_steps={STEPS}", "attention_log.enabled=false", "logger=none")
SPIN = "while True: pass"


def figures(options: BenchmarkOptions) -> Iterator[Figure]:
    """Milliseconds a step of the default model alone and beside busy processes, in turn."""
    quiet, busy = [], []
    for _ in range(options.rounds):
        quiet.append(_step())
        with _busy():
            busy.append(_step())
    yield Figure("busy", "default step, quiet", 1e3 * median(quiet), "ms")
    ratios = sorted(slow / fast for slow, fast in zip(busy, quiet, strict=True))
    note = f"{median(ratios):.2f} times as long ({ratios[0]:.2f} to {ratios[-1]:.2f})"
    yield Figure("busy", "beside a busy process on each core", 1e3 * median(busy), "ms", note=note)


def _step() -> float:
    """Seconds a step, with the one validation at the end."""
    with tempfile.TemporaryDirectory() as folder:
        return result_of(RUN, Path(folder) / "run")["seconds"] / STEPS


@contextmanager
def _busy() -> Iterator[None]:
    """A process that computes without end for each core that this one may use."""
    others = [subprocess.Popen([sys.executable, "-c", SPIN]) for _ in range(len(os.sched_getaffinity(0)))]
    try:
        time.sleep(1)
        yield
    finally:
        for other in others:
            other.kill()
            other.wait()
