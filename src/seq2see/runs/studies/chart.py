"""A row of small line charts as one SVG: no dependency, readable in light and dark, and by colour-blind people."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from xml.sax.saxutils import escape

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9")  # Okabe and Ito 2008
DASHES = ("", "6 3", "2 3", "8 3 2 3", "1 2", "10 4")
WIDTH, HEIGHT = 300, 220  # of one chart, pixels
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 30, 58  # margins


@dataclass(frozen=True)
class Panel:
    """One chart.

    Args:
        title: what it shows.
        x_label: what goes to the right.
        lines: for each name its points (x, y).
        log_x: whether x grows by factors.
        from_zero: whether the y axis begins at 0.
    """

    title: str
    x_label: str
    lines: dict[str, Sequence[tuple[float, float]]]
    log_x: bool = False
    log_y: bool = False


def chart(panels: Sequence[Panel]) -> str:
    """The panels beside each other, as an SVG document."""
    inside = "".join(
        f'<g transform="translate({number * WIDTH} 0)">{_panel(panel)}</g>' for number, panel in enumerate(panels)
    )
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {len(panels) * WIDTH} {HEIGHT}" '
        f'width="{len(panels) * WIDTH}" height="{HEIGHT}" role="img" '
        f'aria-label="{escape("; ".join(panel.title for panel in panels), {chr(34): "&quot;"})}">'
        "<style>text{font:11px system-ui,sans-serif;fill:#444}.axis{stroke:#999;fill:none}.title{font-weight:600}"
        "@media(prefers-color-scheme:dark){text{fill:#ccc}svg{background:#16181d}}</style>"
        f"{inside}</svg>\n"
    )


def _panel(panel: Panel) -> str:
    points = [point for line in panel.lines.values() for point in line if all(map(math.isfinite, point))]
    x_axis = _Axis([x for x, _ in points], LEFT, WIDTH - RIGHT, log=panel.log_x)
    y_axis = _Axis([y for _, y in points], HEIGHT - BOTTOM, TOP, log=panel.log_y)
    parts = [
        f'<text class="title" x="{LEFT}" y="16">{escape(panel.title)}</text>',
        f'<path class="axis" d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>',
        f'<text x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - BOTTOM + 28}" text-anchor="middle">'
        f"{escape(panel.x_label)}</text>",
    ]
    for value in x_axis.ticks():
        parts.append(
            f'<text x="{x_axis.place(value):.1f}" y="{HEIGHT - BOTTOM + 14}" text-anchor="middle">{value:g}</text>'
        )
    for value in y_axis.ticks():
        parts.append(f'<text x="{LEFT - 5}" y="{y_axis.place(value) + 4:.1f}" text-anchor="end">{value:g}</text>')
    for number, (name, line) in enumerate(panel.lines.items()):
        colour, dash = COLOURS[number % len(COLOURS)], DASHES[number % len(DASHES)]
        path = " ".join(f"{x_axis.place(x):.1f},{y_axis.place(y):.1f}" for x, y in line if math.isfinite(y))
        style = f'fill="none" stroke="{colour}" stroke-width="1.8" stroke-dasharray="{dash}"'
        x = LEFT + (number % 2) * 120
        y = HEIGHT - 16 + (number // 2) * 12
        parts += [
            f'<polyline points="{path}" {style}/>',
            f'<path d="M{x} {y - 4}h18" {style}/>',
            f'<text x="{x + 22}" y="{y}">{escape(name)}</text>',
        ]
    return "".join(parts)


class _Axis:
    """From values to pixels."""

    def __init__(self, values: Sequence[float], start: float, end: float, *, log: bool) -> None:
        self.log = log
        self.start, self.end = start, end
        values = [value for value in values if value > 0] if log else [*values, 0.0]
        self.low, self.high = (min(values), max(values)) if values else (0.0, 1.0)
        if self.low == self.high:
            self.high = self.low + 1

    def place(self, value: float) -> float:
        low, high = self._scaled(self.low), self._scaled(self.high)
        return self.start + (self._scaled(max(value, self.low)) - low) / (high - low) * (self.end - self.start)

    def ticks(self) -> list[float]:
        """A few round values."""
        if self.log:
            base = 10 if self.high / self.low > 1_000 else 4 if self.high / self.low > 16 else 2
            first, last = math.ceil(math.log(self.low, base)), math.floor(math.log(self.high, base))
            step = max((last - first) // 3, 1)
            return [float(base) ** power for power in range(first, last + 1, step)]
        step = 10 ** math.floor(math.log10(self.high - self.low))
        step *= next(factor for factor in (0.2, 0.5, 1, 2) if (self.high - self.low) / (step * factor) <= 5)
        return [round(number * step, 10) for number in range(int(self.low // step), int(self.high // step) + 1)]

    def _scaled(self, value: float) -> float:
        return math.log(value) if self.log else value
