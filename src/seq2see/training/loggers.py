"""`metrics.csv`: one row a logged step, training and validation numbers of a step in the same row."""

import csv
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers.logger import Logger

from seq2see.atomic_write import whole_file

COLUMNS: tuple[str, ...] = (
    "step", "epoch", "lr", "train/loss", "train/tokens_per_second",
    "val/loss", "val/perplexity", "val/token_accuracy", "val/target_log_prob", "val/exact_match", "val/bleu",
    "val/chrf", "val/cer", "val/wer", "val/ser",
)  # fmt: skip


class MetricsFile(Logger):
    """Writes `metrics.csv` row by row, so that it can be read while the run goes on.

    Lightning's own CSVLogger spreads one step over two rows and drops what an earlier process wrote.

    Args:
        path: the file; made with its header line.
        kept_until: the step that a run goes on from: later rows of an earlier process are dropped, and that step's own
            is open again, for a validation that was not finished; None: a new file.

    Raises:
        ValueError: the file of the earlier process is damaged.
    """

    def __init__(self, path: Path, *, kept_until: int | None = None) -> None:
        super().__init__()
        self.path = path
        self._row: dict[str, Any] = {}
        self._replaces = False  # whether the row at hand takes the place of the last one in the file
        rows: list[dict[str, Any]] = []
        if kept_until is not None and path.exists():
            rows = [row for row in self._whole_rows() if int(row["step"]) <= kept_until]
        self._open = bool(rows) and int(rows[-1]["step"]) == kept_until  # whether the last row may get more numbers
        self._write(rows)

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
        if self._open:
            self._open = False
            last = self._read()[-1]
            if int(last["step"]) == step:
                self._row, self._replaces = last, True
        self._row |= {"step": step, **{name: value for name, value in metrics.items() if name in COLUMNS}}

    def save(self) -> None:
        """Ends the row at hand."""
        if not self._row:
            return
        if self._replaces:
            self._replaces = False
            self._write([*self._read()[:-1], {column: self._row.get(column, "") for column in COLUMNS}])
            self._row = {}
            return
        with self.path.open("a", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerow([self._row.get(column, "") for column in COLUMNS])
        self._row = {}

    def _whole_rows(self) -> list[dict[str, Any]]:
        place = str(self.path)
        try:
            rows = self._read()
            if rows and None in rows[-1].values():  # a full disk may have cut it
                rows.pop()
            for number, row in enumerate(rows, 2):
                place = f"{self.path}, line {number}"
                _check_row(row)
        except (ValueError, TypeError, csv.Error) as error:
            raise ValueError(
                f"{place}: is damaged ({error}): delete the line, or the file, and the run goes on without it"
            ) from error
        return rows

    def _read(self) -> list[dict[str, Any]]:
        with self.path.open(encoding="utf-8", newline="") as file:
            return list(csv.DictReader(file))

    def _write(self, rows: list[dict[str, Any]]) -> None:
        with whole_file(self.path) as file:
            writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)

    def finalize(self, status: str) -> None:
        """Ends the last row."""
        self.save()


def _check_row(row: dict[str, Any]) -> None:
    if "step" not in row or None in row.values() or not row.keys() <= set(COLUMNS):
        raise ValueError("it has not the columns of a run")
    int(row["step"])
    for value in row.values():
        float(value or 0)
