"""`metrics.csv`: one row a logged step, training and validation numbers of a step in the same row."""

import csv
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers.logger import Logger

COLUMNS = (
    "step", "epoch", "lr", "train/loss", "train/tokens_per_second",
    "val/loss", "val/token_accuracy", "val/exact_match", "val/bleu", "val/chrf",
)  # fmt: skip


class MetricsFile(Logger):
    """Writes `metrics.csv` row by row, so that it can be read while the run goes on.

    Lightning's own CSVLogger spreads one step over two rows and drops what an earlier process wrote.

    Args:
        path: the file; made with its header line.
    """

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.path = path
        self._row: dict[str, Any] = {}
        with path.open("w", encoding="utf-8", newline="") as file:
            csv.writer(file).writerow(COLUMNS)

    @property
    def name(self) -> str:
        """The file's name without its ending."""
        return self.path.stem

    @property
    def version(self) -> str:
        """There is one."""
        return ""

    def log_hyperparams(self, params: object, *args: object) -> None:
        """`config.yaml` has them."""

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        """Adds numbers to the row of this step; a new step ends the row before."""
        if self._row and self._row["step"] != step:
            self.save()
        self._row |= {"step": step, **{name: value for name, value in metrics.items() if name in COLUMNS}}

    def save(self) -> None:
        """Ends the row at hand."""
        if not self._row:
            return
        with self.path.open("a", encoding="utf-8", newline="") as file:
            csv.writer(file).writerow([self._row.get(column, "") for column in COLUMNS])
        self._row = {}

    def finalize(self, status: str) -> None:
        """Ends the last row."""
        self.save()
