"""Figures from plain numbers, with matplotlib's objects alone: nothing here knows of runs, or changes what pyplot does.

Colours (those of Okabe and Ito, the lighter ones darkened) stand out from white and from near black, for people who
cannot tell red from green too.
"""

from __future__ import annotations

import io
import re
import textwrap
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from math import ceil, isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seq2see.atomic_write import whole_binary_file
from seq2see.runs.terminal import shortened

if TYPE_CHECKING:  # half a second
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

COLOURS = ("#1f83c4", "#d55e00", "#009e73", "#bf6a99", "#a67c00", "#7f7f7f")
STYLES = ("-", "--", ":", "-.")  # once all colours are taken
_INK = "#17202e"  # in a page whatever its text has
_LONGEST = 44  # letters of a name in a line


class Series(NamedTuple):
    """One line, in one colour in all panels of a figure. Points that are None or not finite are gaps."""

    label: str
    x: Sequence[float]
    y: Sequence[float | None]
    low: Sequence[float] | None = None  # of a band around the line, with `high`
    high: Sequence[float] | None = None


class Panel(NamedTuple):
    """What is drawn in one pair of axes."""

    title: str
    series: Sequence[Series]
    x_label: str = "step"
    points: bool = False  # whether each point is marked


class Estimate(NamedTuple):
    """A score of some runs that belong together."""

    label: str
    mean: float
    interval: tuple[float, float] | None = None  # None: of one run
    values: Sequence[float] = ()  # of the single runs


def curves(panels: Sequence[Panel], *, width: float = 9.0, height: float = 2.8) -> Figure:
    """Panels side by side, three in a row, with one legend below where there is more than one line.

    Args:
        panels: at least one.
        width: of the whole, inches.
        height: of a row of panels, inches.
    """
    rows, columns = -(-len(panels) // 3), min(len(panels), 3)
    labels = list(dict.fromkeys(series.label for panel in panels for series in panel.series))
    abreast = max(int(width / (0.6 + 0.085 * max(map(len, labels), default=0))), 1)
    below = 0.1 + 0.22 * -(-len(labels) // abreast) if len(labels) > 1 else 0.0
    figure, grid = _figure(width, rows * height + below, rows, columns, below=below)
    for axes, panel in zip(grid, panels, strict=False):
        axes.set_title(_text(panel.title), fontsize=10, loc="left", color=_INK, parse_math=False)
        axes.set_xlabel(_text(panel.x_label), fontsize=9, parse_math=False)
        for series in panel.series:
            number = labels.index(series.label)
            look: dict[str, Any] = {"color": COLOURS[number % len(COLOURS)]}
            y = [value if value is not None and isfinite(value) else float("nan") for value in series.y]
            marker = "o" if panel.points or len(y) == 1 else None
            style = STYLES[number // len(COLOURS) % len(STYLES)]
            axes.plot(series.x, y, style, linewidth=1.4, marker=marker, markersize=3.5, **look)
            if series.low is not None and series.high is not None:
                axes.fill_between(series.x, series.low, series.high, alpha=0.2, linewidth=0, **look)
    for axes in grid[len(panels) :]:
        axes.remove()
    if below:
        _legend(figure, labels, abreast)
    return figure


def comparison(estimates: Sequence[Estimate], *, score: str, width: float = 9.0) -> Figure:
    """A line for each estimate: its mean, its interval, and the single runs.

    Args:
        estimates: the first one at the top.
        score: the name of what is compared.
        width: inches.
    """
    labels = [estimate.label for estimate in estimates]
    figure, (axes,) = _figure(width, 0.55 + 0.32 * len(estimates), 1, 1, left=_room(labels), above=0.1)
    for row, estimate in enumerate(estimates):
        axes.plot(estimate.values, [row] * len(estimate.values), "o", color=_INK, alpha=0.35, markersize=3.5)
        if estimate.interval is not None:
            axes.plot(estimate.interval, [row, row], color=COLOURS[0], linewidth=2)
        axes.plot([estimate.mean], [row], "D", color=COLOURS[0], markersize=5)
    _names_at_the_side(axes, labels)
    axes.set_xlabel(_text(score), fontsize=9, parse_math=False)
    return figure


def bars(values: dict[str, float], *, x_label: str, width: float = 9.0) -> Figure:
    """A bar for each name, the first one at the top, and its number beside it."""
    figure, (axes,) = _figure(width, 0.55 + 0.28 * len(values), 1, 1, left=_room(list(values)), above=0.1)
    axes.barh(range(len(values)), list(values.values()), height=0.7, color=COLOURS[0])
    for row, value in enumerate(values.values()):
        axes.annotate(
            f"{value:,g}", (value, row), (3, 0), textcoords="offset points", va="center", fontsize=8, color=_INK
        )
    _names_at_the_side(axes, list(values))
    axes.set_xlabel(_text(x_label), fontsize=9, parse_math=False)
    axes.margins(x=0.08)
    return figure


def map_grid(weights: NDArray, queries: Sequence[str], keys: Sequence[str]) -> Figure:
    """Maps of all layers, from top to bottom, and heads beside each other, in one image, which is drawn quickly.

    Args:
        weights: float (layers, heads, T, S), each 0 to 1.
        queries: T words, beside each row of maps.
        keys: S words, below each column.
    """
    from matplotlib.figure import Figure

    layers, heads, rows, columns = weights.shape
    sides = np.pad(weights, ((0, 0), (0, 0), (0, 1), (0, 1)), constant_values=np.nan)  # gaps between them
    image = sides.transpose(0, 2, 1, 3).reshape(layers * (rows + 1), heads * (columns + 1))
    cell = min(0.16, 16 / max(image.shape))  # inches
    width, height = cell * image.shape[1], cell * image.shape[0]
    every = ceil(0.11 / cell)  # so many cells stands a word
    figure = Figure((width + 1.2, height + 1.3))
    axes = figure.add_axes((1.1 / (width + 1.2), 1.0 / (height + 1.3), width / (width + 1.2), height / (height + 1.3)))
    axes.imshow(image, cmap="Blues", vmin=0, vmax=1, aspect="auto", interpolation="nearest")
    axes.set_axis_off()  # ticks take their time
    look: dict[str, Any] = {"fontsize": 7, "parse_math": False}
    for head in range(heads):
        left = head * (columns + 1)
        axes.text(left - 0.5, -0.8, f"head {head + 1}", fontsize=8)
        for key, word in list(enumerate(keys))[::every]:
            axes.text(left + key, image.shape[0] - 0.5, shortened(word, 14), rotation=90, ha="center", va="top", **look)
    for layer in range(layers):
        top = layer * (rows + 1)
        axes.text(image.shape[1] - 0.5, top - 0.4, f"layer {layer + 1}", fontsize=8, va="top", rotation=90)
        for query, word in list(enumerate(queries))[::every]:
            axes.text(-0.9, top + query, shortened(word, 14), ha="right", va="center", **look)
    return figure


def as_svg(figure: Figure, *, name: str) -> str:
    """The figure for a page: its text stays text, and has the page's colour, as its axes have.

    Args:
        figure: any.
        name: another one for each figure in a page: the ids inside follow from it and from what is drawn.
    """
    file = io.StringIO()
    with _quietly(name):
        figure.savefig(file, format="svg", transparent=True, metadata={"Date": None, "Creator": None, "Format": None})
    svg = file.getvalue()
    svg = svg[svg.index("<svg") :].replace(_INK, "currentColor")
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg, flags=re.DOTALL)
    return re.sub(r'<g id="[^"]*"', "<g", svg).rstrip()  # they are the same in each figure, and nothing refers to them


def as_image(figure: Figure) -> NDArray:
    """The figure on white: uint8 (height, width, 3)."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    canvas = FigureCanvasAgg(figure)
    with _quietly("figure"):
        canvas.draw()
    return np.asarray(canvas.buffer_rgba())[..., :3]


def save(figure: Figure, path: Path) -> None:
    """Writes `.svg`, `.png` or `.pdf`, whole or not at all."""
    kind = path.suffix.lower()[1:]
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with _quietly("figure"), whole_binary_file(path) as file:
        figure.savefig(file, format=kind, dpi=200, facecolor="white", metadata=metadata)


def _figure(
    width: float, height: float, rows: int, columns: int, *, left: float = 0.55, below: float = 0.0, above: float = 0.3
) -> tuple[Figure, list[Axes]]:
    """An empty one with its axes, row by row; margins are in inches, for matplotlib's own layouts take their time."""
    from matplotlib.figure import Figure  # half a second

    figure = Figure((width, height))
    figure.subplots_adjust(
        left / width,
        (0.45 + below) / height,
        1 - 0.1 / width,
        1 - above / height,
        wspace=0.55 / (width / columns - 0.6),
        hspace=0.75 / max(height / rows - 0.75, 0.5),
    )
    grid = list(figure.subplots(rows, columns, squeeze=False).flat)
    for axes in grid:
        axes.spines[["top", "right"]].set_visible(False)
        axes.spines[["bottom", "left"]].set_color(_INK)
        axes.tick_params(labelsize=8, color=_INK, labelcolor=_INK)
        axes.grid(True, color=_INK, alpha=0.12, linewidth=0.6)
        axes.set_axisbelow(True)
        for text in (axes.xaxis.label, axes.yaxis.label):
            text.set_color(_INK)
    return figure, grid


def _room(names: Sequence[str]) -> float:
    """Inches beside the axes."""
    return 0.25 + 0.07 * min(max((len(name) for name in names), default=0), _LONGEST)


def _names_at_the_side(axes: Axes, names: Sequence[str]) -> None:
    lines = [textwrap.fill(name, _LONGEST, max_lines=2, placeholder=" ...") for name in names]
    axes.set_yticks(range(len(names)), lines, parse_math=False)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.grid(False, axis="y")


def _legend(figure: Figure, labels: Sequence[str], abreast: int) -> None:
    from matplotlib.lines import Line2D

    lines = [
        Line2D([], [], color=COLOURS[number % len(COLOURS)], linestyle=STYLES[number // len(COLOURS) % len(STYLES)])
        for number in range(len(labels))
    ]
    legend = figure.legend(lines, [_text(label) for label in labels], loc="lower left", ncols=abreast, frameon=False)
    for text in legend.get_texts():
        text.set(color=_INK, fontsize=9, parse_math=False)


def _text(text: str) -> str:
    """What matplotlib takes as it stands: it leaves names that begin with `_` out of legends."""
    return f" {text}" if text.startswith("_") else text


@contextmanager
def _quietly(name: str) -> Iterator[None]:
    """Text as text in an SVG with ids of its own; no word on letters that matplotlib's font lacks."""
    import matplotlib

    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": name}), warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Glyph .* missing from font")
        yield
