"""One measured number, and how numbers of several rounds become one."""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median
from typing import Any


@dataclass(frozen=True)
class Figure:
    """One line of the table.

    Args:
        suite: what was measured.
        name: of whom or what.
        value: the median of the rounds.
        unit: of the value.
        ratio: ours divided by the peer's, in the same rounds; above 1 we are faster. None for our own lines.
        spread: lowest and highest ratio of the rounds.
        note: what differs, or what it means.
    """

    suite: str
    name: str
    value: float
    unit: str
    ratio: float | None = None
    spread: tuple[float, float] | None = None
    note: str = ""

    def line(self) -> str:
        """For the table, at most 80 columns but for a long note, which has a line of its own."""
        text = f"  {self.name:<34}{_digits(self.value):>10} {self.unit:<12}"
        if self.ratio is not None and self.spread is not None:
            text += f"{_digits(self.ratio):>5}x ({_digits(self.spread[0])}-{_digits(self.spread[1])})"
        return text.rstrip() + (f"\n      {self.note}" if self.note else "")

    def plain(self) -> dict[str, Any]:
        """For the JSON."""
        return asdict(self)


def _digits(number: float) -> str:
    """Three or four of them, and none that are not there."""
    return f"{number:,.0f}" if number >= 1_000 else f"{number:#.3g}".rstrip(".")


@dataclass
class Rounds:
    """Rates of several contenders, measured in turn so that a busy moment hits all of them.

    Args:
        suite: what is measured.
        unit: of the rates; higher is better.
        rates: for each contender its rate in each round.
    """

    suite: str
    unit: str
    rates: dict[str, list[float]] = field(default_factory=dict)

    @classmethod
    def run(cls, suite: str, unit: str, contenders: Mapping[str, Callable[[], float]], *, rounds: int) -> "Rounds":
        """Runs every contender once to warm up, then `rounds` times in turn; each returns how much it has done."""
        measured = cls(suite, unit, {name: [] for name in contenders})
        for number in range(rounds + 1):
            for name, work in contenders.items():
                start = time.perf_counter()
                done = work()
                if number:
                    measured.rates[name].append(done / (time.perf_counter() - start))
        return measured

    def figures(self, ours: str, notes: Mapping[str, str] | None = None) -> list[Figure]:
        """Ours first, then every peer with the ratio of ours to it."""
        notes, found = notes or {}, []
        for name, rates in sorted(self.rates.items(), key=lambda item: item[0] != ours):
            ratio, spread = (None, None) if name == ours else self._ratio(ours, rates)
            found.append(Figure(self.suite, name, median(rates), self.unit, ratio, spread, notes.get(name, "")))
        return found

    def _ratio(self, ours: str, rates: Sequence[float]) -> tuple[float, tuple[float, float]]:
        ratios = [own / other for own, other in zip(self.rates[ours], rates, strict=True)]
        return median(ratios), (min(ratios), max(ratios))
