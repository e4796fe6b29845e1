"""`report.html`: a run on one page that needs no network, written anew while the run goes on."""

import json
import shlex
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import fields, replace
from datetime import datetime
from html import escape
from itertools import groupby
from pathlib import Path
from typing import Any

from seq2see.atomic_write import read_json, write_text
from seq2see.maps.log import AttentionLog, LivePage
from seq2see.options import SCORES, TrainOptions
from seq2see.options.plain import to_plain
from seq2see.runs.choices import Facts, choose
from seq2see.runs.figures import Panel, Series, as_svg, bars, curves
from seq2see.runs.finished import FinishedRun
from seq2see.runs.folder import RunFolder, read_result
from seq2see.runs.phases import Phases
from seq2see.runs.prepare import TrainingSetup
from seq2see.runs.summary import scores_line
from seq2see.runs.terminal import clock

SHARE = 0.005  # of the time so far that is spent on the page, but for the last writing
NUM_SOURCES, NUM_CHANGES = 5, 8  # sources whose outputs are shown, and how many of each's, the newest ones
EVERY = 10  # seconds after which a browser looks again, while the run goes on
STYLE = Path(__file__).with_suffix(".css")


class Report:
    """The page of a run, and that of its attention maps.

    Args:
        setup: what is trained, on what.
        folder: the run's, from whose files the page is made.
        phases: what its time is spent on.
    """

    def __init__(self, setup: TrainingSetup, folder: RunFolder, phases: Phases) -> None:
        self.options, self.scores, self.max_steps = setup.options, setup.telling_scores, setup.budget.max_steps
        self.folder, self.phases = folder, phases
        self.differences = differences(setup.options, setup.facts)
        self.maps: LivePage | None = None
        self._begun, self._spent, self._last = time.monotonic(), 0.0, 0.0

    def show(self, log: AttentionLog | None) -> None:
        """From now on the maps of this log have their page."""
        if log is not None:
            title = f"{self.options.task.kind} ({self.folder.path.name})"
            self.maps = LivePage(log, self.folder.page, title=title)

    def keep_up(self) -> None:
        """Writes the pages, unless that would take more than their share of the time.

        Raises:
            OSError: it cannot be written.
        """
        if self.maps is not None:
            with self.phases("attention maps"), suppress(ValueError):  # a damaged file is said when the run ends
                self.maps.keep_up()
        if self._spent + self._last <= SHARE * (time.monotonic() - self._begun):
            self.write({"status": "running"})

    def write(self, result: Mapping[str, Any]) -> None:
        """Writes the page.

        Args:
            result: what `result.json` says; of a run that goes on its status alone.

        Raises:
            OSError: it cannot be written.
        """
        with self.phases("report"):
            begun = time.monotonic()
            write_text(self.folder.report, self._page(result))
            self._last = time.monotonic() - begun
            self._spent += self._last

    def _page(self, result: Mapping[str, Any]) -> str:
        run, is_running = FinishedRun(self.folder.path, self.options, {}), result["status"] == "running"
        metrics: dict[str, list[float | None]] = {}
        with suppress(ValueError):  # damaged: the page goes without
            metrics = run.metrics()
        name = f"{self.options.task.kind} ({self.folder.path.name})"
        refresh = f'<meta http-equiv="refresh" content="{EVERY}">\n' if is_running else ""
        sections = {
            "": _pairs(self._headline(metrics, result)) + self._links(),
            "Curves": self._curves(metrics),
            "Outputs for the first validation sources": _outputs(read_samples(self.folder.samples)),
            **(_of_test(self.folder.path / "evaluation" / "test.json") if result.get("test") else {}),
            "Configuration": f"<pre>{escape(' '.join(['python scripts/train.py', *self.differences]))}</pre>",
            "Time": self._time(),
        }
        body = "".join(
            f"<section>{f'<h2>{title}</h2>' if title else ''}\n{content}</section>\n"
            for title, content in sections.items()
            if content
        )
        return (
            '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
            f'<meta name="viewport" content="width=device-width">\n{refresh}<title>{escape(name)}</title>\n'
            f"<style>\n{STYLE.read_text(encoding='utf-8')}</style>\n</head>\n<body>\n<h1>{escape(name)}</h1>\n"
            f"{body}</body>\n</html>\n"
        )

    def _headline(self, metrics: Mapping[str, Sequence[float | None]], result: Mapping[str, Any]) -> dict[str, str]:
        steps = metrics.get("step", [])
        step = result.get("steps", int(steps[-1] or 0) if steps else 0)
        limit = "" if self.max_steps is None else f" of {self.max_steps:,}"
        now = datetime.now().strftime("%Y-%m-%d %H:%M:%S")
        seconds = result.get("seconds", sum(self.phases.seconds().values()))
        lines = {
            "status": f"{result['status']}, step {step:,}{limit}, after {clock(seconds)} (written {now})",
            "best validation": self._best(metrics),
            "test": scores_line(result.get("test", {}), self.scores),
            "unlike training": scores_line(result.get("ood", {}), self.scores),
        }
        if expected := result.get("expected"):
            name = next(name for name in expected if name in SCORES)
            low, high = (SCORES[name].form.format(value) for value in expected[name])
            met = "met" if expected["met"] else "not met"
            lines["expected"] = f"{SCORES[name].label} {low} to {high} over {expected['seeds']} seeds: {met}"
        return lines

    def _best(self, metrics: Mapping[str, Sequence[float | None]]) -> str:
        """As `BestCheckpoint` chooses: by the score, of equal ones by the loss, of equal ones the first."""
        select = self.options.training.select or "loss"
        names = list(dict.fromkeys([select, "loss", *self.scores]))
        rows = _rows(metrics, "step", *(f"val/{name}" for name in names))
        if not rows:
            return ""
        sign = -1 if SCORES[select].lower_is_better else 1
        step, *values = max(rows, key=lambda row: (sign * row[1], -row[2]))
        scores = "   ".join(
            f"{SCORES[name].label} {SCORES[name].form.format(value)}" for name, value in zip(names, values, strict=True)
        )
        return f"{scores} at step {step:,.0f}, chosen by {SCORES[select].label}"

    def _links(self) -> str:
        links = {
            "attention.html": "attention maps",
            "evaluation/test.html": "the worst outputs, with their attention",
            "evaluation/test.tsv": "all test outputs",
        }
        there = [f'<a href="{path}">{text}</a>' for path, text in links.items() if (self.folder.path / path).exists()]
        return f"<p>{' · '.join(there)}</p>" if there else ""

    def _curves(self, metrics: Mapping[str, Sequence[float | None]]) -> str:
        panels = panels_of({"training": (metrics, "train/loss"), "validation": (metrics, "val/loss")}, "loss")
        for name in self.scores[:2]:
            panels += panels_of({"validation": (metrics, f"val/{name}")}, SCORES[name].label)
        return _figure(as_svg(curves(panels), name="curves")) if panels else ""

    def _time(self) -> str:
        seconds = {name: round(own, 1) for name, own in self.phases.seconds().items()}
        return _figure(as_svg(bars(seconds, x_label="seconds"), name="time"))


@contextmanager
def reported(setup: TrainingSetup, folder: RunFolder, phases: Phases) -> Iterator[Report]:
    """The page while the run lasts; however it ends inside, the page says so.

    Raises:
        RunFailed: the disk is full or fails.
    """
    report = Report(setup, folder, phases)
    try:
        yield report
    except BaseException:
        with suppress(Exception):  # what ended the run is to be told, not this
            if report.maps is not None and folder.page.exists():
                report.maps.write(is_live=False)
            report.write(read_result(folder.path))
        raise
    try:
        report.write(read_result(folder.path))
    except OSError as error:
        raise folder.explained(error) or error from error


def differences(options: TrainOptions, facts: Facts) -> list[str]:
    """What a run is told that it would not have chosen itself, each as one types it behind `train.py`."""
    usual = to_plain(choose(replace(TrainOptions(), task=options.task), facts)[0])
    usual["task"] = {field.name: to_plain(field.default) for field in fields(options.task)}
    own = to_plain(options)
    task = [] if own["task"]["kind"] == TrainOptions().task.kind else [f"task={own['task']['kind']}"]
    return task + [
        shlex.quote(f"{key}={_spelled(value)}")
        for (key, value), (_, other) in zip(_flat(own), _flat(usual), strict=True)
        if value != other and key not in ("task.kind", "run_dir", "resume")
    ]


def panels_of(lines: Mapping[str, tuple[Mapping[str, Sequence[float | None]], str]], title: str) -> list[Panel]:
    """One panel with a line for each column of some `metrics.csv`, without what is not in it; or no panel."""
    series = []
    for label, (metrics, column) in lines.items():
        if points := _rows(metrics, "step", column):
            series.append(Series(label, *zip(*points, strict=True)))
    return [Panel(title, series)] if series else []


def _rows(metrics: Mapping[str, Sequence[float | None]], *columns: str) -> list[tuple[Any, ...]]:
    """The rows that have something in all of these columns."""
    rows = zip(*(metrics.get(column, []) for column in columns), strict=False)
    return [row for row in rows if None not in row]


def length_panel(side: str, lines: Mapping[str, Sequence[Mapping[str, Any]]], score: str = "exact_match") -> Panel:
    """A score by length, one line for the bins of each `evaluation/test.json`, at the middle of each bin."""
    series = [
        Series(label, [(one["from"] + one["to"]) / 2 for one in bins], [one.get(score) for one in bins])
        for label, bins in lines.items()
    ]
    return Panel(f"{SCORES[score].label} by length", series, f"{side} tokens", points=True)


def _of_test(file: Path) -> dict[str, str]:
    """Scores by length and kinds of errors, once the run is tested."""
    if not file.exists():
        return {}
    details = read_json(file, "delete it")
    sides = ("source", "target")
    panels = [length_panel(side, {"test": details[f"by_{side}_length"]}) for side in sides]
    kinds = {name: kind["outputs"] for name, kind in details["errors"]["kinds"].items() if kind["outputs"]}
    return {
        "Test, by length": _figure(as_svg(curves(panels), name="lengths")),
        "Test, wrong outputs by main kind of error": _figure(as_svg(bars(kinds, x_label="outputs"), name="kinds"))
        if kinds
        else "<p>none is wrong</p>",
    }


def read_samples(file: Path) -> list[dict[str, Any]]:
    """What is in the file, but for lines that somebody has changed."""
    text = file.read_text(encoding="utf-8") if file.exists() else ""
    lines = (json.loads(line) for line in text.split("\n") if line)
    return [line for line in lines if {"step", "source", "reference", "hypothesis"} <= line.keys()]


def _outputs(samples: Sequence[Mapping[str, Any]]) -> str:
    """Of each source what the model said and from which step on, the newest first."""
    parts = []
    for source in list(dict.fromkeys(one["source"] for one in samples))[:NUM_SOURCES]:
        own = [one for one in samples if one["source"] == source]
        said = [next(same) for _, same in groupby(own, lambda one: one["hypothesis"])][::-1][:NUM_CHANGES]
        reference = own[0]["reference"]
        rows = "".join(
            f"<tr><td>from step {one['step']:,}</td><td{' class=right' if one['hypothesis'] == reference else ''}>"
            f"<bdi>{escape(one['hypothesis']) or '(empty)'}</bdi></td></tr>\n"
            for one in said
        )
        right = f'<tr><td>reference</td><td class="quiet"><bdi>{escape(reference)}</bdi></td></tr>'
        parts.append(f"<h3><bdi>{escape(source)}</bdi></h3>\n<table>{right}\n{rows}</table>\n")
    return "".join(parts)


def _pairs(lines: Mapping[str, str]) -> str:
    return f"<dl>{''.join(f'<dt>{name}</dt><dd>{escape(text)}</dd>' for name, text in lines.items() if text)}</dl>\n"


def _figure(svg: str) -> str:
    return f'<div class="wide" tabindex="0" role="region" aria-label="Figure">{svg}</div>\n'


def _flat(plain: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in plain.items():
        if isinstance(value, dict) and before != "task.":  # a task's are values
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value


def _spelled(value: Any) -> str:
    if isinstance(value, list):
        return f"[{','.join(map(_spelled, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_spelled(one)}" for name, one in value.items()) + "}"
    return "null" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
