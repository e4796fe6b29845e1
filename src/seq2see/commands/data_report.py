"""What a training run would be trained on: counted, shown in the terminal, and written nowhere unless asked for."""

import json
import sys
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations, groupby
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from seq2see.atomic_write import write_text
from seq2see.commands.data_counts import Leak, Repeats, SplitCounts, Vocabulary, count_split, keys_of
from seq2see.options import DataReportOptions, InitTokenizer, tag_separator
from seq2see.options.plain import to_plain
from seq2see.options.training import NUM_SPECIAL
from seq2see.runs.choices import Facts, choose
from seq2see.runs.data import task_of
from seq2see.runs.tokenizers import Tokenizers, fit_tokenizers
from seq2see.tasks import Pair

NUM_SAMPLES = {"train": 3, "ood": 1}
WIDTH = 80  # columns that everything fits into
LONGEST = 300  # characters of an example that are shown

Row = tuple[str, ...]  # one cell: a sentence; two: a label and a text; more: a label and figures


@dataclass(frozen=True)
class Sample:
    """A pair as it stands in the data."""

    split: str
    number: int  # its place in the split, from 1
    source: str
    target: str
    links: Sequence[tuple[int, int]] | None  # sure ones (source word, target word), 0-based; None: not known


@dataclass(frozen=True)
class DataReport:
    """All that `scripts/data.py` shows."""

    task: str  # its kind
    ood: str  # what the split `ood` is; empty if there is none
    notes: list[str]  # what was skipped and why, what was split off
    splits: dict[str, SplitCounts]  # those that have pairs
    vocabularies: list[Vocabulary]  # of the sources and the targets, or of both
    samples: list[Sample]
    repeats: dict[str, Repeats]  # by split
    leaks: list[Leak]  # what each split shares with each earlier one
    options: dict[str, Any]  # of the training run, nothing left open
    reasons: list[str]  # which of them were left open, and why they are so


def command(options: DataReportOptions) -> None:
    """What `scripts/data.py` does."""
    output = None if options.output is None else Path(options.output)
    if output is not None and (output.is_dir() or not output.parent.is_dir()):
        raise ValueError(f"output: {output} cannot be a file there: name a .json file in a folder that exists")
    report = data_report(options)
    page(report, sys.stdout)
    if output is not None:
        try:
            write_text(output, json.dumps(asdict(report), indent=2, ensure_ascii=False) + "\n")
        except OSError as error:
            raise ValueError(f"output: {output} cannot be written ({error.strerror})") from error
        print(f"written: {output}", file=sys.stderr)


def data_report(options: DataReportOptions) -> DataReport:
    """Reads the pairs and counts everything; nothing is written.

    Raises:
        ValueError: the options or the data are wrong.
    """
    known: Tokenizers | None = None
    if options.init is not None:
        from seq2see.runs.init import begin  # torch

        options, init = begin(options)
        known = init.tokenizers if init and options.init_tokenizer is InitTokenizer.keep else None
    task = task_of(options)
    pairs = {split: task.pairs(split) for split in ("train", "valid", "test", *(["ood"] if task.ood else []))}
    pairs = {split: some for split, some in pairs.items() if some or split == "train"}
    has_tags = tag_separator(options.task) is not None
    filled, reasons = choose(options, Facts.of(pairs["train"], has_tags=has_tags))
    before, after = to_plain(options), to_plain(filled)
    del after["output"]
    tokenizers = fit_tokenizers(pairs["train"], filled, known)
    counts, sides = {}, {}
    for split, some in pairs.items():
        max_length = filled.data.max_length if split == "train" else None
        counts[split], sides[split] = count_split(some, *tokenizers, max_length=max_length)
    vocabularies, form = ["both"] if filled.tokenizer.shared else ["source", "target"], filled.tokenizer.normalize
    notes, too_long = list(task.notes), counts["train"].too_long
    if respaced := sum(own["target"].respaced for own in sides.values()):
        notes.append(f"{respaced:,} targets have other white space than one space between words: scored as if they had")
    if too_long:
        most = f"more than {filled.data.max_length} tokens a side (data.max_length)"
        notes.append(f"{too_long:,} of {len(pairs['train']):,} training pairs will be left out for {most}")
    keys = {split: keys_of(some, form, has_tags=has_tags) for split, some in pairs.items()}
    return DataReport(
        task=options.task.kind,
        ood=task.ood,
        notes=notes,
        splits=counts,
        vocabularies=[Vocabulary.of(side, sides) for side in vocabularies],
        samples=_samples(pairs),
        repeats={split: Repeats.of(some, keys[split], form) for split, some in pairs.items()},
        leaks=[Leak.of(split, other, pairs[split], keys) for other, split in combinations(pairs, 2)],
        options=after,
        reasons=reasons or _chosen(before, after),
    )


def _chosen(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What was left open: of a generated task all of it follows from the task."""
    lines = []
    for part, values in after.items():
        if isinstance(values, dict):
            changed = [f"{key}={value}" for key, value in values.items() if before[part][key] != value]
            lines += [f"{part}: {', '.join(changed)} (task={after['task']['kind']})"] if changed else []
    return lines


def _samples(pairs: dict[str, Sequence[Pair]]) -> list[Sample]:
    """Some pairs of a split, evenly over all of them, for files are often sorted."""
    samples = []
    for split, number in NUM_SAMPLES.items():
        some = pairs.get(split, ())
        number = min(number, len(some))
        places = [(2 * part + 1) * len(some) // (2 * number) for part in range(number)]
        samples += [Sample(split, place + 1, *some[place]) for place in places]
    return samples


def page(report: DataReport, stream: TextIO) -> None:
    """Writes the report in 80 columns to a terminal, a pipe or a file; what its encoding cannot show is escaped."""
    console = Console(file=stream, width=WIDTH, markup=False, emoji=False, highlight=False)
    sections = {
        f"Pairs of task={report.task}": _pairs(report),
        "Vocabulary": _vocabularies(report),
        "Samples": _sample_pairs(report),
        "Repeats": _repeats(report),
        "Leakage": _leakage(report),
        "What training would choose": [tuple(reason.split(": ", 1)) for reason in report.reasons],
    }
    for heading, rows in sections.items():
        console.print(Text(heading, style="bold"))
        for num_cells, some in groupby(rows, len):
            table = Table.grid(padding=(0, 2, 0, 0))
            for number in range(num_cells):
                table.add_column(justify="right" if number and num_cells > 2 else "left", overflow="fold")
            for row in some:
                table.add_row(*(Text(_printable(cell, stream.encoding)) for cell in row))
            console.print(Padding(table, (0, 0, 0, 2), expand=False))
        console.print()


def _printable(text: str, encoding: str | None) -> str:
    """The text, not too long, with escapes for what has no shape or what the console cannot show."""
    text = text if len(text) <= LONGEST else text[:LONGEST] + "..."
    shown = "".join(one if one.isprintable() else one.encode("unicode_escape").decode("ascii") for one in text)
    encoding = encoding or "ascii"
    return shown.encode(encoding, errors="backslashreplace").decode(encoding)


def _pairs(report: DataReport) -> Iterable[Row]:
    yield ("", "", "words", "", "", "", "tokens", "", "", "")
    yield ("", "pairs", *2 * ("min", "median", "95%", "max"))
    for split, counts in report.splits.items():
        for side, lengths in (("source", counts.source), ("target", counts.target)):
            figures = (*_quantiles(lengths["words"]), *_quantiles(lengths["tokens"]))
            yield (f"{split} {side}", f"{counts.pairs:,}", *map(str, figures))
    yield ("-", "the end of a text counts as a token")
    if report.ood:
        yield ("-", f"ood, out of distribution: {report.ood}")
    yield from (("-", note) for note in report.notes)


def _quantiles(lengths: dict[int, int]) -> list[int]:
    """The shortest, the median, what 95 % do not exceed, the longest."""
    every = np.repeat(list(lengths), list(lengths.values()))
    return np.quantile(every, [0, 0.5, 0.95, 1], method="inverted_cdf").tolist()


def _vocabularies(report: DataReport) -> Iterable[Row]:
    for each in report.vocabularies:
        side = "both sides" if each.side == "both" else each.side
        yield (f"{side}: {each.kind}, {each.size:,} entries, {NUM_SPECIAL} of them special",)
        yield ("  most often", "  ".join(f"{one} {count / each.tokens:.1%}" for one, count in each.frequent))
        for split, unknown in each.unknown.items():
            share = _share(unknown["tokens"], unknown["of"])
            yield ("  unknown", "  ".join((f"{split} {share}", *unknown["examples"])))


def _sample_pairs(report: DataReport) -> Iterable[Row]:
    for sample in report.samples:
        yield (f"{sample.split}, pair {sample.number:,}",)
        yield ("  source", sample.source)
        yield ("  target", sample.target)
        if sample.links is not None:
            yield ("  links", " ".join(f"{i}-{j}" for i, j in sample.links))


def _repeats(report: DataReport) -> Iterable[Row]:
    yield ("", "same pair", "same source", "several targets", "best exact match")
    for split, repeats in report.repeats.items():
        num = report.splits[split].pairs
        shares = (_share(repeats.same_pair, num), _share(repeats.same_source, num))
        yield (split, *shares, f"{repeats.several_targets:,}", f"{repeats.best_exact_match:.3f}")
    yield (
        "Pairs that repeat an earlier pair, or its source; sources with several targets; and the score that no model "
        "with one answer to a source can exceed.",
    )
    for split, repeats in report.repeats.items():
        if repeats.example is not None:
            source, targets = repeats.example
            yield (split, " | ".join((source, *(f"{target} ({count:,})" for target, count in targets))))


def _leakage(report: DataReport) -> Iterable[Row]:
    yield ("", "same source", "same pair", "same target")
    for each in report.leaks:
        counts = (each.same_source, each.same_pair, each.same_target)
        yield (f"{each.split} in {each.other}", *(_share(count, each.pairs) for count in counts))
    if report.options["task"].get("features") is not None:
        yield ("Tags before a source count in pairs alone.",)
    yield from ((f"{each.split} and {each.other}", each.example) for each in report.leaks if each.same_source)


def _share(count: int, of: int) -> str:
    return f"{count:,} ({count / of:.1%})" if count else "0"
