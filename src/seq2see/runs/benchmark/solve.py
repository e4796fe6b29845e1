"""How long it takes to solve a task, from the command to the test scores."""

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import NamedTuple

from seq2see.options import BenchmarkOptions
from seq2see.runs.benchmark.figure import Figure

TRAIN = "import sys; from seq2see.runs.shell import run; sys.exit(run('train', sys.argv[1:]))"


class Task(NamedTuple):
    """A run to time.

    Args:
        name: in the table.
        overrides: of the run.
        seeds: how many; all are counted.
    """

    name: str
    overrides: tuple[str, ...]
    seeds: int


TASKS = (
    Task("reverse", ("experiment=reverse",), 10),
    Task("reverse, sinusoidal positions", ("experiment=reverse", "model.position=sinusoidal"), 1),
    Task("default: English-German", (), 1),
)


def figures(options: BenchmarkOptions) -> Iterator[Figure]:
    """Seconds of a new process, and the exact match that it reaches: median and range of the seeds."""
    del options  # each run is long enough to be its own round
    for task in TASKS:
        runs = [_run([*task.overrides, f"seed={seed}"]) for seed in range(task.seeds)]
        seconds, scores = zip(*runs, strict=True)
        note = f"exact match {_range(scores, '.3f')}" + (f"; {_range(seconds, '.0f')} s" if len(runs) > 1 else "")
        yield Figure("solve", task.name, median(seconds), "s", note=note)


def _range(values: Sequence[float], form: str) -> str:
    if len(values) == 1:
        return format(values[0], form)
    return f"{median(values):{form}} ({min(values):{form}} to {max(values):{form}}, {len(values)} seeds)"


def _run(overrides: Sequence[str]) -> tuple[float, float]:
    """Seconds, and exact match on the test pairs."""
    with tempfile.TemporaryDirectory() as folder:
        run = Path(folder) / "run"
        begin = time.perf_counter()
        subprocess.run(
            [sys.executable, "-c", TRAIN, *overrides, f"run_dir={run}"],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            check=True,
        )
        seconds = time.perf_counter() - begin
        return seconds, json.loads((run / "result.json").read_text(encoding="utf-8"))["test"]["exact_match"]
