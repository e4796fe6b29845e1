"""Scores and what is behind them as lines of at most 80 columns."""

import textwrap
from collections.abc import Mapping, Sequence
from typing import Any

from seq2see.evaluation.counts import ZERO_TO_HUNDRED

_WIDTH = 80
_BASELINES = {"copy": "copy", "nearest": "nearest", "most_frequent": "frequent"}


def shown(name: str, value: float | None, width: int = 8) -> str:
    """A score with the digits that it deserves, right-aligned."""
    if value is None:
        return f"{'-':>{width}}"
    if abs(value) >= 1_000:  # perplexities alone get there
        return f"{value:>{width},.0f}" if abs(value) < 100_000 else f"{value:>{width}.1e}"
    return f"{value:>{width}.{2 if name in ZERO_TO_HUNDRED or abs(value) >= 100 else 4}f}"


def score_lines(scores: dict[str, float], details: dict[str, Any]) -> list[str]:
    """The table of all scores, with their intervals and the baselines."""
    baselines = {name: details.get("baselines", {}).get(name) for name in _BASELINES}
    given = {name: own for name, own in baselines.items() if own}
    heading = f"  {'score':<20}{'value':>9}{'95 % interval':>21}"
    lines = [heading + "".join(f"{_BASELINES[name]:>9}" for name in given)]
    for name, value in scores.items():
        low_high = details.get("intervals", {}).get(name)
        line = f"  {name:<20}{shown(name, value, 9)}{_span(name, low_high):>21}"
        if any(name in own for own in given.values()):
            line += "".join(shown(name, own.get(name), 9) for own in given.values())
        lines.append(line.rstrip())
    return lines


def _span(name: str, low_high: Sequence[float] | None) -> str:
    if low_high is None:
        return ""
    low, high = low_high
    return f"{shown(name, low).strip()} to {shown(name, high).strip()}"


def detail_lines(details: dict[str, Any]) -> list[str]:
    """What is behind the scores: the gap, lengths, kinds of error, coverage."""
    lines = [f"  {'':<20}{'teacher-forced':>16}{'free-running':>14}{'gap':>9}"]
    for name, row in details["forced_and_free"].items():
        lines.append(
            f"  {name:<20}{shown(name, row['forced'], 16)}{shown(name, row['free'], 14)}{shown(name, row['gap'], 9)}"
        )
    lines += ["", *_length_lines(details["by_source_length"], details["by_target_length"])]
    if details["errors"]["wrong"]:
        lines += ["", *_error_lines(details["errors"])]
    return [*lines, "", *_coverage_lines(details["confidence"])]


def _error_lines(errors: dict[str, Any]) -> list[str]:
    lines = [f"  {'wrong, by main kind':<20}{'number':>9}   on these lines of the .tsv file"]
    for name, kind in errors["kinds"].items():
        if kind["outputs"]:
            more = ", ..." if kind["outputs"] > len(kind["lines"]) else ""
            lines.append(f"  {name:<20}{kind['outputs']:>9,}   {', '.join(map(str, kind['lines']))}{more}")
    return lines


def _length_lines(by_source: Sequence[dict[str, Any]], by_target: Sequence[dict[str, Any]]) -> list[str]:
    """Two tables side by side."""
    lines = [
        "  " + "   ".join(f"{side + ' tokens':<14}{'number':>7}{'exact':>8}{'ser':>8}" for side in ("source", "target"))
    ]
    for number in range(max(len(by_source), len(by_target))):
        halves = [_length_line(bins[number]) if number < len(bins) else " " * 37 for bins in (by_source, by_target)]
        lines.append(("  " + "   ".join(halves)).rstrip())
    return lines


def _length_line(one: dict[str, Any]) -> str:
    span = f"{one['from']}" if one["from"] == one["to"] else f"{one['from']} to {one['to']}"
    return f"{span:<14}{one['sentences']:>7,}{shown('exact_match', one['exact_match'])}{shown('ser', one['ser'])}"


def _coverage_lines(confidence: dict[str, Any]) -> list[str]:
    lines = [
        f"  {'most confident':<15}" + "".join(f"{100 * point['coverage']:>4.0f} %" for point in confidence["curve"]),
        f"  {'exact_match':<15}" + "".join(f"{point['exact_match']:>6.2f}" for point in confidence["curve"]),
    ]
    threshold = confidence["log_prob_at_95"]
    if threshold is None:
        return lines
    share = f"{100 * confidence['coverage_at_95']:.1f}".removesuffix(".0")
    return [*lines, f"  95 % right: the most confident {share} % (mean log-probability from {threshold:.3f})"]


def flag_lines(found: Mapping[str, Any]) -> list[str]:
    """What the flags of attention are worth.

    Args:
        found: `outputs`, `of`, `wrong`, `right` as numbers, and `flags` from `maps.cases.flags.report`.
    """
    scored = f"{found['outputs']:,}" + ("" if found["outputs"] == found["of"] else f" of {found['of']:,}")
    lines = [
        f"  {'attention flag':<20}{'area':>9}{'95 % interval':>21}",
        f"  over {scored} outputs: {found['wrong']:,} wrong, {found['right']:,} right; {found['attention']}",
    ]
    rows = []
    for name, one in found["flags"].items():
        area, interval = one["area_under_curve"], one["interval"]
        span = "" if interval is None else f"{interval[0]:.3f} to {interval[1]:.3f}"
        value = "-" if area is None else f"{area:.3f}"
        words = one["verdict"].split(",")[0].removeprefix("cannot be said: ").removesuffix(" outputs")
        rows.append(f"  {name:<20}{value:>9}{span:>21}   {words}")
    return [lines[0], *rows, lines[1]]


def comparison_lines(comparison: dict[str, Any]) -> list[str]:
    """The first checkpoint's scores beside each other one's, with the tests."""
    checkpoints, scores = comparison["checkpoints"], comparison["scores"]
    lines = []
    for number, path in enumerate(checkpoints, start=1):
        lines += wrapped(f"{number}  {path}")
    for number, tests in enumerate(comparison["against_first"], start=2):
        lines += ["", f"  {'score':<20}{1:>9}{number:>9}{f'{number} - 1':>10}{'95 % interval':>21}{'p':>8}"]
        for name, values in scores.items():
            first, other = values[0], values[number - 1]
            line = f"  {name:<20}{shown(name, first, 9)}{shown(name, other, 9)}"
            if name in tests:
                test = tests[name]
                line += f"{shown(name, test['difference'], 10)}{_span(name, test['interval']):>21}{test['p']:>8.3f}"
            lines.append(line)
    return [
        *lines,
        *([""] if comparison["notes"] else []),
        *(part for note in comparison["notes"] for part in wrapped(note)),
    ]


def wrapped(text: str) -> list[str]:
    """A sentence in lines that begin with two spaces; a long word, such as a path, stays whole."""
    return textwrap.wrap(
        text, _WIDTH, initial_indent="  ", subsequent_indent="    ", break_long_words=False, break_on_hyphens=False
    )
