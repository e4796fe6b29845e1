"""A figure of several runs, in the rows of `compare`: curves, scores by length, or the scores of recipes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any

from seq2see.atomic_write import read_json
from seq2see.commands.compare.page import curve_of
from seq2see.commands.compare.rows import KINDS, Comparison, Row, compared, values_of
from seq2see.options import CompareOptions, PlotKind, PlotOptions
from seq2see.runs.figures import Estimate, Panel, comparison, curves, save
from seq2see.runs.report import length_panel
from seq2see.runs.terminal import Terminal

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def plot(options: PlotOptions) -> Path:
    """What `scripts/plot.py` does: reads the runs, draws, and says what was written.

    Raises:
        ValueError: no run is named, a folder is not a finished run or lacks what is to be drawn, or the file cannot be
            written.
    """
    found = compared(CompareOptions(ckpt=options.ckpt, metric=options.metric))
    draw = {PlotKind.curves: _curves, PlotKind.lengths: _lengths, PlotKind.comparison: _comparison}
    path = Path(options.output or f"{options.what.value}.svg")
    figure = draw[options.what](found)
    try:
        save(figure, path)
    except OSError as error:
        raise ValueError(f"output: {path} cannot be written ({error.strerror}): set output to another place") from error
    Terminal().result(str(path))
    return path


def _curves(of: Comparison) -> Figure:
    titles = {"train/loss": "training loss", "val/loss": "validation loss"}
    titles |= {f"val/{of.metric}": f"validation {KINDS[of.metric].label}"}
    panels = []
    for column, title in titles.items():
        series = [line for row in of.rows if (line := curve_of(row.name, row, column, "step")) is not None]
        panels += [Panel(title, series)] if series else []
    if not panels:
        raise ValueError(f"{of.rows[0].runs[0].folder} has no metrics.csv (logger=default or csv writes it)")
    return curves(panels)


def _lengths(of: Comparison) -> Figure:
    panels = []
    for side in ("source", "target"):
        lines = {label: bins for row in of.rows for label, bins in _bins(row, side, of.metric).items()}
        panels.append(length_panel(side, lines, of.metric))
    return curves(panels)


def _bins(row: Row, side: str, metric: str) -> Mapping[str, Sequence[Mapping[str, Any]]]:
    """Mean scores by length; one line for each run where their tests have other lengths."""
    found = []
    for run in row.runs:
        file, remedy = run.folder / "evaluation" / "test.json", f"write it anew with evaluate.py ckpt={run.folder}"
        bins = read_json(file, remedy).get(f"by_{side}_length")
        if not isinstance(bins, list) or not all(isinstance(one, dict) and "from" in one for one in bins):
            raise ValueError(f"{file}: has no scores by length: {remedy}")
        found.append(bins)
    spans = [[(one["from"], one["to"]) for one in bins] for bins in found]
    if any(own != spans[0] for own in spans):
        return {f"{row.name} {run.name}": bins for run, bins in zip(row.runs, found, strict=True)}
    values = [[one.get(metric) for one in same] for same in zip(*found, strict=True)]
    means = [None if None in own else fmean(own) for own in values]
    return {row.name: [{**one, metric: mean} for one, mean in zip(found[0], means, strict=True)]}


def _comparison(of: Comparison) -> Figure:
    estimates = []
    for row in of.rows:
        if summary := row.summary(of.metric):
            values = [values_of(run)[of.metric] for run in row.runs]
            estimates.append(Estimate(row.name, summary.mean, summary.interval, values))
    if not estimates:
        raise ValueError(f"no run has {KINDS[of.metric].label} of test pairs: choose another score with metric=")
    return comparison(estimates, score=f"test {KINDS[of.metric].label}")
