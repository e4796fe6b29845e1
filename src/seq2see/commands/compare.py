"""Several runs in one table: each run's scores, and for runs that differ in their seed alone mean and range."""

import textwrap
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import groupby
from statistics import fmean
from typing import Any

from seq2see.options import SCORES, CompareOptions, TrainOptions
from seq2see.options.plain import to_plain
from seq2see.runs.expected import NEUTRAL, NEUTRAL_TRAINER, fingerprint
from seq2see.runs.finished import FinishedRun, finished_runs
from seq2see.runs.terminal import Terminal, clock

COLUMNS = {
    **{name: (own.label.removesuffix(" match"), own.form) for name, own in SCORES.items() if own.is_compared},
    "alignment_error_rate": ("AER", "{:.3f}"),
}
NAME_WIDTH = 34  # of 80 columns


def compare(options: CompareOptions) -> list[FinishedRun]:
    """What `scripts/compare.py` does: reads the runs and prints the table.

    Raises:
        ValueError: no run is named, or a folder is not a finished run.
    """
    paths = [options.ckpt] if isinstance(options.ckpt, str) else list(options.ckpt or [])
    if not paths:
        raise ValueError("name the runs to compare, as in compare.py outputs/reverse/*")
    runs, notes = finished_runs(paths)
    runs.sort(key=lambda run: (fingerprint(run.options), run.options.seed))
    groups = [list(same) for _, same in groupby(runs, lambda run: fingerprint(run.options))]
    other_tokens = len({_target_tokens(run) for run in runs}) > 1
    columns = [name for name in COLUMNS if name != ("loss" if other_tokens else "target_log_prob")]
    lines = [f"{'run':<{NAME_WIDTH}}{'seed':>4}{'time':>7}" + "".join(f"{COLUMNS[name][0]:>7}" for name in columns)]
    for same, settings in zip(groups, _differing([same[0].options for same in groups]), strict=True):
        for run in same:
            name = " ".join((run.name[-21:], *settings))
            lines += _row(name, str(run.options.seed), [run.result], columns, max)
        for heading, pick in (("mean", fmean), ("lowest", min), ("highest", max)) if len(same) > 1 else ():
            lines += _row(f"  {heading} of {len(same)}", "", [run.result for run in same], columns, pick)
    if other_tokens:
        lines.append("no loss, for these runs have other target tokens: logp is the log-probability of a whole target")
    Terminal().result("\n".join(lines + notes))
    return runs


def _target_tokens(run: FinishedRun) -> tuple[Any, ...]:
    """The same for runs that cut targets in the same way."""
    own = run.options.tokenizer
    return own.target, own.vocab_size, own.shared, own.normalize


def _row(
    name: str, seed: str, results: Sequence[dict[str, Any]], columns: Sequence[str], pick: Callable[..., float]
) -> list[str]:
    """A line of the table, of one value out of those of several runs; a long name goes on below."""
    cells = []
    for column in columns:
        values = [result["test"].get(column) for result in results]
        cells.append("-" if None in values else COLUMNS[column][1].format(pick(values)))
    time = clock(pick(result["seconds"] for result in results))
    first, *more = textwrap.wrap(
        name, NAME_WIDTH - 1, subsequent_indent="  ", break_on_hyphens=False, max_lines=3, placeholder=" ..."
    )
    return [f"{first:<{NAME_WIDTH}}{seed:>4}{time:>7}" + "".join(f"{cell:>7}" for cell in cells), *more]


def _differing(recipes: Sequence[TrainOptions]) -> Iterator[list[str]]:
    """For each recipe what all have and not all have alike, as `key=value`."""
    settings = [dict(_flat(to_plain(options))) for options in recipes]
    keys = [key for key in settings[0] if all(key in own for own in settings)]
    keys = [key for key in keys if any(own[key] != settings[0][key] for own in settings)]
    short = {key: key.removesuffix(".kind").rpartition(".")[2] for key in keys}  # `task`, as it is typed
    times = Counter(short.values())
    labels = {key: name if times[name] == 1 else key for key, name in short.items()}
    for own in settings:
        yield [f"{label}={'null' if own[key] is None else own[key]}" for key, label in labels.items()]


def _flat(plain: dict[str, Any], before: str = "") -> Iterable[tuple[str, Any]]:
    """What matters of a run's options, by whole keys."""
    for name, value in plain.items():
        if name in (NEUTRAL_TRAINER if before == "trainer." else () if before else NEUTRAL):
            continue
        if isinstance(value, dict):
            yield from _flat(value, f"{before}{name}.")
        else:
            yield f"{before}{name}", value
