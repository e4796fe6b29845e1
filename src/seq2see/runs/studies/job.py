"""What a study is made of."""

from dataclasses import dataclass, field
from typing import Any

from seq2see.options import TrainOptions


@dataclass(frozen=True)
class Job:
    """One run of a study.

    Args:
        name: its folder's.
        options: what it trains.
    """

    name: str
    options: TrainOptions = field(compare=False)


@dataclass
class Report:
    """What a study found.

    Args:
        text: for people: Markdown, at most 80 columns.
        numbers: the same and more, in plain values.
        chart: SVG, if there is one.
    """

    text: str
    numbers: dict[str, Any]
    chart: str | None = None


def middle_and_range(values: list[float]) -> str:
    """The median, with the lowest and highest beside it where there are several."""
    ordered = sorted(values)
    middle = ordered[len(ordered) // 2] if len(ordered) % 2 else sum(ordered[len(ordered) // 2 - 1 :][:2]) / 2
    return f"{middle:.3f}" + (f" ({ordered[0]:.2f}-{ordered[-1]:.2f})" if len(ordered) > 1 else "")
