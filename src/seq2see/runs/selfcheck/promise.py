"""What is promised, and what was found."""

import math
import textwrap
from collections.abc import Callable
from dataclasses import dataclass

from seq2see.runs.selfcheck.subject import Subject
from seq2see.runs.terminal import WIDTH

_INDENT = 8  # columns


@dataclass(frozen=True)
class Promise:
    """Something that holds for every model.

    Args:
        name: the promise itself.
        measure: how far a model is from keeping it; 0 at best.
        unit: of that.
        tolerance: the most that it may be.
        meaning: what it means if it is more, and where to look.
    """

    name: str
    measure: Callable[[Subject], float]
    unit: str
    tolerance: float
    meaning: str

    def check(self, subject: Subject) -> "Finding":
        """Measures it; what goes wrong in doing so is a finding, too, and ends nothing."""
        try:
            return Finding(self.name, self.measure(subject), self.unit, self.tolerance, self.meaning)
        except Exception as error:
            reason = " ".join(str(error).split())
            return Finding(
                self.name, math.nan, self.unit, self.tolerance, f"not measured, {type(error).__name__}: {reason}"
            )


@dataclass(frozen=True)
class Finding:
    """What was measured of a promise.

    Args:
        name: the promise.
        measured: how far the model is from keeping it; NaN: it could not be measured.
        unit: of `measured`.
        tolerance: the most that it may be.
        meaning: what it means if it is more, and where to look; why it could not be measured.
    """

    name: str
    measured: float
    unit: str
    tolerance: float
    meaning: str

    @property
    def passed(self) -> bool:
        """Whether the promise holds."""
        return self.measured <= self.tolerance  # not if it is NaN

    @property
    def lines(self) -> list[str]:
        """A row of the table; below it what it means, if the promise does not hold. At most 80 columns."""
        mark = "pass" if self.passed else "FAIL"
        numbers = f"{_shown(self.measured):>7} {self.unit:<8} at most {_shown(self.tolerance)}"
        row = f"  {mark}  {self.name:<40} {numbers}"
        if self.passed:
            return [row]
        indent = " " * _INDENT
        return [row, *textwrap.wrap(self.meaning, WIDTH, initial_indent=indent, subsequent_indent=indent)]


def _shown(number: float) -> str:
    return f"{number:,}" if isinstance(number, int) and number < 100_000 else f"{number:.2g}"
