"""Speed beside its peers, as ratios within one run: one table and one JSON.

Each suite is a module with `figures(options) -> list[Figure]`. Nothing else should run meanwhile.
"""

import importlib
import json
from pathlib import Path

from benchmark.figure import Figure
from benchmark.machine import Machine
from seq2see.atomic_write import write_text
from seq2see.options import BenchmarkOptions

__all__ = ["Figure", "benchmark"]


def benchmark(options: BenchmarkOptions) -> list[Figure]:
    """What `scripts/benchmark.py` does: measures the suites, prints the table and writes the JSON.

    Raises:
        ValueError: a peer is not installed, or the output cannot be written.
    """
    machine = Machine.measure()
    print(f"{machine}\n")
    figures: list[Figure] = []
    for suite in options.suites():
        module = importlib.import_module(f"benchmark.{suite.value}")
        print(f"{suite.value}\n{'-' * len(suite.value)}")
        for figure in module.figures(options):
            figures.append(figure)
            print(figure.line())
        print()
    if options.output is not None:
        report = {"machine": machine.plain(), "figures": [figure.plain() for figure in figures]}
        try:
            write_text(Path(options.output), json.dumps(report, indent=2) + "\n")
        except OSError as error:
            raise ValueError(f"output: {options.output} cannot be written ({error.strerror})") from error
    return figures
