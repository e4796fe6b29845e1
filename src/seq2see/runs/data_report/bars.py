"""Bars in characters: the lengths of sources and targets side by side."""

from collections.abc import Iterable

from seq2see.runs.data_report.console import EIGHTHS, Glyphs
from seq2see.runs.data_report.counts import Histogram, longest

BAR = 23  # columns of the longest bar
MAX_BINS = 10


def histogram(source: Histogram, target: Histogram, glyphs: Glyphs) -> Iterable[str]:
    """Bars of both sides over the same lengths; the longest hundredth shares the last one."""
    low, high = min(*source, *target), max(*source, *target)
    usual = max(_quantile(source, 0.99), _quantile(target, 0.99))
    step = next(step for step in _steps() if usual // step - low // step < MAX_BINS)
    origin = low if step <= 2 else low // step * step
    starts = [low, *range(origin + step, usual + 1, step)]
    ends = [*(start - 1 for start in starts[1:]), high]
    shares = [
        [
            sum(count for length, count in side.items() if start <= length <= end) / sum(side.values())
            for side in (source, target)
        ]
        for start, end in zip(starts, ends, strict=True)
    ]
    most = max(map(max, shares))
    for start, end, row in zip(starts, ends, shares, strict=True):
        label = f"{start:,}" if start == end else f"{start:,}-{end:,}"
        cells = [f"{bar(share / most, BAR, glyphs)} {percent(share, 1):>6}" for share in row]
        yield f"{label:>9}  {cells[0]}   {cells[1]}"


def _quantile(lengths: Histogram, share: float) -> int:
    total, seen = sum(lengths.values()), 0
    for length, count in lengths.items():
        seen += count
        if seen >= share * total:
            return length
    return longest(lengths)


def _steps() -> Iterable[int]:
    """1, 2, 5, 10, 20, 50, ..."""
    power = 1
    while True:
        yield from (power, 2 * power, 5 * power)
        power *= 10


def percent(count: float, of: float) -> str:
    """A share for people, in at most 6 characters; 0 of nothing is 0 %."""
    share = 100 * count / of if of else 0.0
    if not share:
        return "0 %"
    return "<0.1 %" if share < 0.1 else f"{share:.1f} %" if share < 9.95 else f"{share:.0f} %"


def bar(share: float, width: int, glyphs: Glyphs) -> str:
    """A bar of `share` (0 to 1) of the width, padded to the width; what is not nothing is seen."""
    if not glyphs.eighths:
        return (glyphs.block * max(round(share * width), share > 0)).ljust(width)
    full, rest = divmod(max(round(share * width * 8), int(share > 0)), 8)
    return (glyphs.block * full + (EIGHTHS[rest] if rest else "")).ljust(width)
