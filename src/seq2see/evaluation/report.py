"""Scores and what is behind them as lines of at most 80 columns."""

import textwrap
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from seq2see.evaluation.scores import ZERO_TO_HUNDRED

_WIDTH = 80
_BASELINES = {"copy": "copy", "nearest": "nearest", "most_frequent": "frequent"}


def aligned(rows: Iterable[Sequence[str]], *widths: int) -> list[str]:
    """A table: the first column to the left, the others to the right of so many characters; rows may be shorter."""
    lines = []
    for first, *others in rows:
        cells = "".join(f"{cell:>{width}}" for cell, width in zip(others, widths[1:], strict=False))
        lines.append(f"{first:<{widths[0]}}{cells}".rstrip())
    return lines


def shown(name: str, value: float | None) -> str:
    """A score with the digits that it deserves."""
    if value is None:
        return "-"
    if abs(value) >= 1_000:  # perplexities alone get there
        return f"{value:,.0f}" if abs(value) < 100_000 else f"{value:.1e}"
    return f"{value:.{2 if name in ZERO_TO_HUNDRED or abs(value) >= 100 else 4}f}"


def _span(name: str, low_high: Sequence[float] | None) -> str:
    return "" if low_high is None else f"{shown(name, low_high[0])} to {shown(name, low_high[1])}"


def score_lines(scores: dict[str, float], details: dict[str, Any]) -> list[str]:
    """The table of all scores, with their intervals and the baselines."""
    baselines = {label: details.get("baselines", {}).get(name) for name, label in _BASELINES.items()}
    given = {label: own for label, own in baselines.items() if own}
    rows: list[tuple[str, ...]] = [("  score", "value", "95 % interval", *given)]
    for name, value in scores.items():
        others = [shown(name, own[name]) for own in given.values() if name in own]
        rows.append((f"  {name}", shown(name, value), _span(name, details.get("intervals", {}).get(name)), *others))
    return aligned(rows, 22, 9, 21, 9, 9, 9)


def detail_lines(details: dict[str, Any]) -> list[str]:
    """What is behind the scores: the gap, lengths, kinds of error, coverage."""
    rows: list[tuple[str, ...]] = [("", "teacher-forced", "free-running", "gap")]
    for name, row in details["forced_and_free"].items():
        rows.append((f"  {name}", *(shown(name, row[column]) for column in ("forced", "free", "gap"))))
    lines = [*aligned(rows, 22, 16, 14, 9), ""]
    by_source, by_target = (_length_lines(side, details[f"by_{side}_length"]) for side in ("source", "target"))
    for number in range(max(len(by_source), len(by_target))):
        halves = [own[number] if number < len(own) else "" for own in (by_source, by_target)]
        lines.append(f"  {halves[0]:<37}   {halves[1]}".rstrip())
    return [*lines, "", *_error_lines(details["errors"]), *_coverage_lines(details["confidence"])]


def _length_lines(side: str, bins: Sequence[dict[str, Any]]) -> list[str]:
    rows: list[tuple[str, ...]] = [(f"{side} tokens", "number", "exact", "ser")]
    for one in bins:
        span = f"{one['from']}" if one["from"] == one["to"] else f"{one['from']} to {one['to']}"
        rows.append((span, f"{one['sentences']:,}", *(shown(name, one[name]) for name in ("exact_match", "ser"))))
    return aligned(rows, 14, 7, 8, 8)


def _error_lines(errors: dict[str, Any]) -> list[str]:
    if not errors["wrong"]:
        return []
    lines = [f"  {'wrong, by main kind':<20}{'number':>9}   on these lines of the .tsv file"]
    for name, kind in errors["kinds"].items():
        if kind["outputs"]:
            more = ", ..." if kind["outputs"] > len(kind["lines"]) else ""
            lines.append(f"  {name:<20}{kind['outputs']:>9,}   {', '.join(map(str, kind['lines']))}{more}")
    return [*lines, ""]


def _coverage_lines(confidence: dict[str, Any]) -> list[str]:
    curve, threshold = confidence["curve"], confidence["log_prob_at_95"]
    rows = [
        ("  most confident", *(f"{100 * point['coverage']:.0f} %" for point in curve)),
        ("  exact_match", *(f"{point['exact_match']:.2f}" for point in curve)),
    ]
    lines = aligned(rows, 17, *len(curve) * [6])
    if threshold is None:
        return lines
    share = f"{100 * confidence['coverage_at_95']:.1f}".removesuffix(".0")
    return [*lines, f"  95 % right: the most confident {share} % (mean log-probability from {threshold:.3f})"]


def flag_lines(found: Mapping[str, Any]) -> list[str]:
    """What the flags of attention are worth.

    Args:
        found: `outputs`, `of`, `wrong`, `right`, `beside` as numbers, and `flags` from `maps.cases.report`.
    """
    rows = [("  attention flag", "area", "95 % interval")]
    words = [""]
    for name, one in found["flags"].items():
        area, interval = one["area_under_curve"], one["interval"]
        span = "" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"
        rows.append((f"  {name}", "-" if area is None else f"{area:.3f}", span))
        words.append(one["verdict"].split(",")[0].removeprefix("cannot be said: ").removesuffix(" outputs"))
    lines = [f"{line:<52}   {word}".rstrip() for line, word in zip(aligned(rows, 22, 9, 21), words, strict=True)]
    scored = f"{found['outputs']:,}" + ("" if found["outputs"] == found["of"] else f" of {found['of']:,}")
    beside = f", beside {found['beside']:,} right ones of the test split" if found["beside"] else ""
    return [
        *lines,
        *wrapped(
            f"over {scored} outputs: {found['wrong']:,} wrong, {found['right']:,} right{beside}; {found['attention']}"
        ),
    ]


def cause_lines(found: Mapping[str, Any]) -> list[str]:
    """Whether attention explains the outputs, from `maps.causes.agreement`."""
    best, between = found["best"], found["between"]
    return wrapped(
        f"attention and causes: {found['verdict']}: Kendall's tau {best['tau']:.2f} at best (layer {best['layer']}, "
        f"head {best['head']}, the same word first in {100 * best['same_first']:.0f} % of {found['rows']:,} rows) with "
        f"leaving a word out, which agrees with blocking it at {between['tau']:.2f}"
    )


def comparison_lines(comparison: dict[str, Any]) -> list[str]:
    """The first checkpoint's scores beside each other one's, with the tests."""
    lines = []
    for number, path in enumerate(comparison["checkpoints"], start=1):
        lines += wrapped(f"{number}  {path}")
    for number, tests in enumerate(comparison["against_first"], start=2):
        rows: list[tuple[str, ...]] = [("  score", "1", f"{number}", f"{number} - 1", "95 % interval", "p")]
        for name, values in comparison["scores"].items():
            row = (f"  {name}", shown(name, values[0]), shown(name, values[number - 1]))
            if name in tests:
                test = tests[name]
                row += (shown(name, test["difference"]), _span(name, test["interval"]), f"{test['p']:.3f}")
            rows.append(row)
        lines += ["", *aligned(rows, 22, 9, 9, 10, 21, 8)]
    notes = [part for note in comparison["notes"] for part in wrapped(note)]
    return [*lines, *([""] if notes else []), *notes]


def wrapped(text: str) -> list[str]:
    """A sentence in lines that begin with two spaces; a long word, such as a path, stays whole."""
    return textwrap.wrap(
        text, _WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
