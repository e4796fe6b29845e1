"""A comparison as a page that opens offline: table, curves, scores by length, cost beside score, what was varied."""

import html
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING

from seq2see.commands.compare.rows import KINDS, Comparison, Row, values_of
from seq2see.runs import figures
from seq2see.runs.figures import Estimate, Panel, Series
from seq2see.runs.terminal import shortened

if TYPE_CHECKING:
    from matplotlib.figure import Figure

TEMPLATE = Path(__file__).with_name("page.html")
WIDTH, HEIGHT = 4.6, 2.8  # of a figure, inches: its letters can be read on a phone
LABEL, NAME = 14, 28  # characters of a row's name below a figure, and beside one


def page(of: Comparison, table: Sequence[Sequence[str]]) -> str:
    """The page as HTML text.

    Args:
        of: what is shown.
        table: what stands on top, heading first.
    """
    from seq2see.maps.page import FOLDER  # whose look it has; with torch

    number, kind = of.rows.index(of.base), KINDS[of.metric]
    lead = f"{kind.label} on the test pairs: {'less' if kind.lower_is_better else 'more'} is better."
    if any(row.test for row in of.rows):
        lead += f" Each row is tested against row {number + 1}, {of.base.name}."
    runs, settings = [["", "seed", *(KINDS[name].label for name in of.scores), "seconds"]], [["", *of.rows[0].settings]]
    for place, row in enumerate(of.rows, start=1):
        settings.append([str(place), *row.settings.values()])
        for run in row.runs:
            values = [(KINDS[name].form, values_of(run).get(name)) for name in (*of.scores, "seconds")]
            cells = ("-" if value is None else form.format(value) for form, value in values)
            runs.append([f"{place} {run.name}", str(run.options.seed), *cells])
    varied = (
        f"<section class=varied><h2>What was varied</h2>{_table(settings)}</section>" if of.rows[0].settings else ""
    )
    parts = {
        "title": f"{kind.label} of {len(runs) - 1} runs",
        "style": (FOLDER / "viewer.css").read_text(encoding="utf-8"),
        "dims": f"runs {len(runs) - 1}, rows {len(of.rows)}",
        "lead": html.escape(lead),
        "table": _table(table, number if len(of.rows) > 1 else None),
        "notes": "".join(f"<li>{html.escape(note)}</li>" for note in of.notes),
        "figures": "\n".join(_figures(of)),
        "varied": varied,
        "runs": _table(runs),
    }
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: parts[mark[1]], TEMPLATE.read_text(encoding="utf-8"))


def _table(lines: Sequence[Sequence[str]], chosen: int | None = None) -> str:
    """A table with names in its first line and column; one row may stand out."""
    head, *rows = ([html.escape(cell) for cell in line] for line in lines)
    body = "".join(
        f"<tr{' class=base' * (place == chosen)}><th scope=row>{first}</th>"
        f"{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>\n"
        for place, (first, *cells) in enumerate(rows)
    )
    heading = "".join(f"<th scope=col>{cell}</th>" for cell in head)
    table = f"<table><thead><tr>{heading}</tr></thead><tbody>\n{body}</tbody></table>"
    return f'<div class="ledger scroll" tabindex="0" role="region" aria-label="Table">{table}</div>'


def _figures(of: Comparison) -> Iterator[str]:
    """Each with its heading, as far as there is anything to draw."""
    label, curve = KINDS[of.metric].label, f"val/{of.metric}"
    found = [(row, row.summary(of.metric)) for row in of.rows]
    estimates = [
        Estimate(label_of(of, row, NAME), own.mean, own.interval, [values_of(run)[of.metric] for run in row.runs])
        for row, own in found
        if own is not None
    ]
    if estimates:
        about = "mean, its 95 % interval over seeds, and each run"
        yield _figure(f"Test {label}", about, figures.comparison(estimates, score=label, width=WIDTH))
    about = "on validation pairs: mean over seeds, and lowest to highest"
    for x_label in ("step", "seconds of training"):
        series = [one for row in of.rows if (one := curve_of(label_of(of, row), row, curve, x_label)) is not None]
        if series:
            yield _figure(f"{label} by {x_label}", about, _drawn(Panel("", series, x_label)))
    counted = [row for row in of.rows if row.counts is not None]
    if counted:
        one_word = 2 * sum(len(source.split()) < 2 for source in counted[0].sources) > len(counted[0].sources)
        unit = "characters" if one_word else "words"
        series = [_by_length(label_of(of, row), row, one_word=one_word) for row in counted]
        about = "on test pairs, in five parts of about as many sources each"
        yield _figure(f"{label} by length", about, _drawn(Panel("", series, f"{unit} of the source", True)))
    for cost in ("seconds", "gflop"):
        costs = [(row, own, row.summary(cost)) for row, own in found]
        series = [
            Series(label_of(of, row), [x.mean], [y.mean]) for row, y, x in costs if x is not None and y is not None
        ]
        if len(series) > 1:
            name = KINDS[cost].label
            panel = Panel("", series, name, True)
            yield _figure(
                f"{label} by {name}", "test score beside the cost of training, means over seeds", _drawn(panel)
            )


def label_of(of: Comparison, row: Row, most: int = LABEL) -> str:
    """The row's number and what is its own, without the keys."""
    return shortened(f"{of.rows.index(row) + 1} {' '.join(row.settings.values()) or row.name}", most)


def _drawn(panel: Panel) -> "Figure":
    return figures.curves([panel], width=WIDTH, height=HEIGHT)


def _figure(heading: str, about: str, figure: "Figure") -> str:
    caption = f"<figcaption>{html.escape(heading)} <small>{html.escape(about)}</small></figcaption>"
    return f"<figure>{caption}{figures.as_svg(figure, name=heading)}</figure>"


def curve_of(label: str, row: Row, column: str, x_label: str) -> Series | None:
    """Over the steps at which all runs of the row were validated."""
    points = []  # by step, for each run
    for run in row.runs:
        metrics = run.metrics()
        places = metrics.get("step", []) if x_label == "step" else run.seconds()
        columns = zip(metrics.get("step", []), places, metrics.get(column, []), strict=False)
        points.append({step: (x, y) for step, x, y in columns if x is not None and y is not None})
    steps = sorted(set.intersection(*(set(own) for own in points)))
    if not steps:
        return None
    x, y = ([[own[step][side] for own in points] for step in steps] for side in (0, 1))
    low, high = ([*map(end, y)] if len(points) > 1 else None for end in (min, max))
    return Series(label, [*map(fmean, x)], [*map(fmean, y)], low, high)


def _by_length(label: str, row: Row, *, one_word: bool) -> Series:
    from seq2see.evaluation.details import by_length

    assert row.counts is not None
    (name,) = row.counts.columns
    bins = by_length([len(source) if one_word else len(source.split()) for source in row.sources], row.counts)
    return Series(label, [(one["from"] + one["to"]) / 2 for one in bins], [one[name] for one in bins])
