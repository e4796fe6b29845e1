"""Several runs in one table: scores over the seeds of each recipe, tests against one of them, and what they cost."""

import textwrap
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean

from seq2see.atomic_write import write_text
from seq2see.commands.compare.formats import FORMATS
from seq2see.commands.compare.rows import KINDS, Comparison, add_tests, compared, values_of
from seq2see.options import CompareOptions
from seq2see.runs.finished import FinishedRun
from seq2see.runs.terminal import WIDTH, Terminal, clock

NAME_WIDTH, SHORT_WIDTH = 29, 27  # columns of names in the first and the second table
MOST_RUNS = 16  # that are shown one by one


def compare(options: CompareOptions) -> Comparison:
    """What `scripts/compare.py` does: reads the runs, prints the tables and writes the file that is asked for.

    Raises:
        ValueError: no run is named, a folder is not a finished run, a score cannot be compared, or the file cannot be
            written.
    """
    comparison = compared(options)
    ending = "" if options.output is None else Path(options.output).suffix.lower()
    if len(comparison.rows) > 1 or ending == ".html":
        add_tests(comparison)
    lines = [*_of_metric(comparison), "", *_of_all(comparison)]
    for note in comparison.notes:
        lines += textwrap.wrap(note, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    if options.output is not None:
        try:
            write_text(Path(options.output), FORMATS[ending](comparison))
        except OSError as error:
            raise ValueError(
                f"output: {options.output} cannot be written ({error.strerror}): set output to another place"
            ) from error
        lines.append(f"  {options.output}")
    Terminal().result("\n".join(lines))
    return comparison


def _of_metric(comparison: Comparison) -> Iterable[str]:
    """A line a row: the tested score, over the seeds."""
    kind, number = KINDS[comparison.metric], comparison.rows.index(comparison.base) + 1
    head = f"{'n':>3}{'mean':>8}{'95 % interval':>16}{'lowest':>8}{'highest':>8}"
    tested = any(row.test for row in comparison.rows)
    yield f"{kind.label:<{NAME_WIDTH}}{head}{f'p vs {number}' if tested else '':>8}".rstrip()
    for place, row in enumerate(comparison.rows, start=1):
        found, cells = row.summary(comparison.metric), ["-"] * 4
        if found is not None:
            interval = "-" if found.interval is None else " to ".join(map(kind.form.format, found.interval))
            cells = [kind.form.format(found.mean), interval, *map(kind.form.format, (found.lowest, found.highest))]
        p = f"{row.test['p_holm']:.3f}" if row.test else "-" if tested else ""
        mean, interval, lowest, highest = cells
        line = f"{len(row.runs):>3}{mean:>8}{interval:>16}{lowest:>8}{highest:>8}{p:>8}"
        yield from _beside(f"{place} {row.name}", line.rstrip(), NAME_WIDTH)


def _of_all(comparison: Comparison) -> Iterable[str]:
    """The other scores and the cost, of each row and, where they are few, of each run."""
    unlike = "target_log_prob" if "loss" in comparison.scores else "loss"  # the former where losses cannot be compared
    names = [name for name in comparison.scores if KINDS[name].is_compared and name != unlike]
    heads = "".join(f"{KINDS[name].label.removesuffix(' match'):>7}" for name in names)
    few = sum(len(row.runs) for row in comparison.rows) <= MOST_RUNS
    yield f"{'each run' if few else 'each row':<{SHORT_WIDTH}}{'seed':>4}{'time':>7}{'tok/s':>7}{heads}"
    for place, row in enumerate(comparison.rows, start=1):
        for run in row.runs if few or len(row.runs) == 1 else ():
            name = f"{place} {run.name}"
            yield from _beside(name, f"{run.options.seed:>4}{_cells([run], names, max)}", SHORT_WIDTH)
        picks = (("mean", fmean), ("lowest", min), ("highest", max))[: 3 if len(comparison.rows) == 1 else 1]
        for heading, pick in picks if len(row.runs) > 1 else ():
            yield f"{f'{place}   {heading} of {len(row.runs)}':<{SHORT_WIDTH + 4}}{_cells(row.runs, names, pick)}"


def _cells(runs: Sequence[FinishedRun], names: Sequence[str], pick: Callable[..., float]) -> str:
    """One value out of those of several runs, of the costs and of each score."""
    values = [values_of(run) for run in runs]
    forms = {"seconds": clock, "tokens_per_second": lambda value: f"{value / 1000:.1f}k"}
    forms |= {name: KINDS[name].form.format for name in names}
    return "".join(
        f"{form(pick(own[name] for own in values)) if all(name in own for own in values) else '-':>7}"
        for name, form in forms.items()
    )


def _beside(name: str, line: str, width: int) -> list[str]:
    """A line of a table; a long name goes on below."""
    first, *more = textwrap.wrap(
        name, width - 1, subsequent_indent="  ", break_on_hyphens=False, max_lines=3, placeholder=" ..."
    )
    return [f"{first:<{width}}{line}", *more]
