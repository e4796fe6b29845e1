"""What the machine can do at best: the yardstick that each figure stands beside."""

import os
import platform
from dataclasses import asdict, dataclass
from typing import Any

import torch

from seq2see.runs.cost import matrix_peak

SIDE, PRODUCTS = 2048, 5  # of the square matrices, and how many products a round


@dataclass(frozen=True)
class Machine:
    """The machine, and its matrix peak.

    Args:
        processor: its name, as the system gives it.
        threads: that torch computes with.
        load: processes that wanted to run when the benchmark began, mean of the last minute.
        peak: floating-point operations a second of float32 products of 2,048 x 2,048 matrices, best of five rounds.
    """

    processor: str
    threads: int
    load: float
    peak: float

    @classmethod
    def measure(cls) -> "Machine":
        """Takes a second or two."""
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
        return cls(_processor(), torch.get_num_threads(), load, matrix_peak(SIDE, PRODUCTS, rounds=5))

    def __str__(self) -> str:
        busy = "\nBUSY: the ratios are not to be trusted" if self.load > 0.5 else ""
        return (
            f"{self.processor}, {self.threads} threads, torch {torch.__version__}\n"
            f"matrix peak {self.peak / 1e9:,.0f} GFLOP/s (float32); load before {self.load:.1f}{busy}"
        )

    def plain(self) -> dict[str, Any]:
        """For the JSON."""
        return {**asdict(self), "torch": torch.__version__, "system": platform.platform()}


def _processor() -> str:
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            return next(line.split(":", 1)[1].strip() for line in file if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()
