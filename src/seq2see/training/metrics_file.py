"""`metrics.csv`: one row a logged step, training and validation numbers of a step in the same row."""

import csv
from pathlib import Path
from typing import Any

from lightning.pytorch.loggers.logger import Logger

from seq2see.atomic_write import whole_file
from seq2see.options import SCORES


def columns() -> list[str]:
    """Of the file: those of training, then the scores, teacher-forced ones first."""
    scores = sorted(SCORES, key=lambda name: not SCORES[name].is_forced)
    return ["step", "epoch", "lr", "train/loss", "train/tokens_per_second", *(f"val/{name}" for name in scores)]


class MetricsFile(Logger):
    """Writes `metrics.csv` row by row, so that it can be read while the run goes on.

    Lightning's own CSVLogger writes the whole file again for each new column, and drops what an earlier process wrote.

    Args:
        path: the file; made with its header line.
        kept_until: the step that a run goes on from: later rows of an earlier process are dropped, and that step's own
            may get more numbers, of a validation that was not finished; None: a new file.

    Raises:
        ValueError: the file of the earlier process is damaged.
    """

    def __init__(self, path: Path, *, kept_until: int | None = None) -> None:
        super().__init__()
        self.path = path
        self.columns = columns()
        rows = [] if kept_until is None or not path.exists() else _read(path, kept_until)
        self._row: dict[str, Any] = rows.pop() if rows and rows[-1]["step"] == kept_until else {}
        with whole_file(path) as file:
            writer = csv.DictWriter(file, self.columns, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows)
            self._begin = file.tell()  # where the row at hand stands in the file
            writer.writerows([self._row] if self._row else [])

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
        """Adds the numbers of training and validation to the row of this step; a new step ends the row before.

        Raises:
            ValueError: a score is not in the table of scores.
        """
        numbers = {name: value for name, value in metrics.items() if name in self.columns}
        for name in metrics:
            if name.startswith("val/") and name not in numbers:
                raise ValueError(
                    f"{name} has no column in {self.path.name}: add the score to SCORES in seq2see.options"
                )
        if not numbers:
            return
        if step != self._row.get("step", step):
            self.save()
            self._begin, self._row = self.path.stat().st_size, {}
        self._row |= {"step": step, **numbers}

    def save(self) -> None:
        """Writes the row at hand, or writes it again."""
        if self._row:
            with self.path.open("r+", encoding="utf-8", newline="") as file:
                file.seek(self._begin)
                csv.DictWriter(file, self.columns, lineterminator="\n").writerow(self._row)
                file.truncate()

    def finalize(self, status: str) -> None:
        """Writes the last row."""
        self.save()


def _read(path: Path, kept_until: int) -> list[dict[str, Any]]:
    """The rows up to a step, without a last one that was cut off, as on a full disk.

    Raises:
        ValueError: another one is damaged.
    """
    try:
        with path.open(encoding="utf-8", newline="") as file:
            rows: list[dict[str, Any]] = list(csv.DictReader(file))
        if rows and None in rows[-1].values():
            rows.pop()
        for row in rows:
            if not row.keys() <= set(columns()):
                raise ValueError(f"the row of step {row.get('step')} has other columns")
            for value in row.values():
                float(value if value != "" else 0)
            row["step"] = int(row["step"])
    except (ValueError, TypeError, KeyError, csv.Error) as error:
        raise ValueError(f"{path}: is damaged ({error}): delete it, and the run goes on without it") from error
    return [row for row in rows if row["step"] <= kept_until]
