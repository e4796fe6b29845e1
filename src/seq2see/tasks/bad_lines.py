"""What is wrong with a file, line by line: an error, or a count, as the user has chosen."""

from seq2see.options import OnBadLine
from seq2see.text import DataError


class BadLines:
    """The lines of one file (or of two parallel ones) that give no pair; `unit` is `line`, `row` or `entry`."""

    def __init__(self, name: str, on_bad_line: OnBadLine, unit: str = "line") -> None:
        self.name = name
        self.unit = unit
        self.num_blank = 0
        self._on_bad_line = on_bad_line
        self._num_bad = 0
        self._first = ""  # of the bad ones

    def add(self, number: int, fault: str, remedy: str, *, name: str | None = None) -> None:
        """Skips and counts line `number`, from 1, of the file (of `name`, if given); a DataError if bad lines are."""
        if self._on_bad_line is OnBadLine.error:
            raise self.error(number, fault, f"{remedy}, or set data.on_bad_line=skip", name=name)
        self._num_bad += 1
        self._first = self._first or f"{self.unit} {number}: {fault}"

    def error(self, number: int, fault: str, remedy: str, *, name: str | None = None) -> DataError:
        """An error at a line, for what no skipping can mend."""
        return DataError(f"{name or self.name}, {self.unit} {number}: {fault}, {remedy}")

    def notes(self) -> list[str]:
        """The counts, for people."""
        counts = (self.num_blank, "blank", ""), (self._num_bad, "bad", f", the first is {self._first}")
        return [
            f"{self.name}: {number:,} {kind} {self.unit}{'s' * (number > 1)} skipped{more}"
            for number, kind, more in counts
            if number
        ]

    def no_pairs(self) -> DataError:
        """The error for a file that gave none, with the reason."""
        skipped = "; ".join(note.removeprefix(f"{self.name}: ") for note in self.notes())
        return DataError(f"{self.name}: no pairs ({skipped or 'the file is empty'}), give it at least one {self.unit}")
