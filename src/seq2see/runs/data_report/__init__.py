"""What a training run would be trained on: counted, drawn in the terminal, and written nowhere unless asked for."""

import json
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from itertools import combinations
from pathlib import Path
from typing import Any

from seq2see.options import DataReportOptions, InitTokenizer, TokenizerKind, tag_separator
from seq2see.runs.choices import Facts, choose
from seq2see.runs.config import to_plain
from seq2see.runs.data import task_of
from seq2see.runs.data_report.counts import Counted, SplitCounts, Symbol, Vocabulary, count_split, vocabulary_of
from seq2see.runs.data_report.overlap import Keys, Leak, Repeats, leak, repeats_in
from seq2see.runs.tokenizers import Tokenizers, fit_tokenizers
from seq2see.tasks import Pair, Task
from seq2see.tasks.whole_file import write_text
from seq2see.text import Tokenizer, normalize

__all__ = ["DataReport", "Sample", "command", "data_report"]

NUM_SAMPLES = {"train": 3, "ood": 1}


@dataclass(frozen=True)
class Sample:
    """A pair as it stands in the data.

    Args:
        split: where it stands.
        number: its place in the split, from 1.
        source: the source.
        target: the target.
        links: sure links (source word, target word), 0-based; None: not known.
    """

    split: str
    number: int
    source: str
    target: str
    links: Sequence[tuple[int, int]] | None


@dataclass(frozen=True)
class DataReport:
    """All that `scripts/data.py` shows.

    Args:
        task: its kind.
        ood: what the split `ood` is; empty if there is none.
        notes: of the task: what was skipped and why, what was split off.
        splits: sizes and lengths of each split that has pairs.
        vocabularies: of the sources and the targets, or of both.
        samples: some pairs.
        repeats: for each split what it has more than once.
        leaks: what each split shares with each earlier one.
        options: of the training run, nothing left open, in plain values.
        reasons: why they are so, where they follow from the data.
    """

    task: str
    ood: str
    notes: list[str]
    splits: dict[str, SplitCounts]
    vocabularies: list[Vocabulary]
    samples: list[Sample]
    repeats: dict[str, Repeats]
    leaks: list[Leak]
    options: dict[str, Any] = field(repr=False)
    reasons: list[str]

    def write(self, path: Path) -> None:
        """Writes all of it as JSON.

        Raises:
            ValueError: the file cannot be written.
        """
        try:
            write_text(path, json.dumps(asdict(self), indent=2, ensure_ascii=False) + "\n")
        except OSError as error:
            raise ValueError(f"output: {path} cannot be written ({error.strerror})") from error


def command(options: DataReportOptions) -> None:
    """What `scripts/data.py` does."""
    from seq2see.runs.data_report.page import page

    output = None if options.output is None else Path(options.output)
    if output is not None and (output.is_dir() or not output.parent.is_dir()):
        raise ValueError(f"output: {options.output} cannot be a file there: name a .json file in a folder that exists")
    report = data_report(options)
    page(report, sys.stdout)
    if output is not None:
        report.write(output)
        print(f"written: {options.output}", file=sys.stderr)


def data_report(options: DataReportOptions) -> DataReport:
    """Reads the pairs and counts everything; nothing is written.

    Args:
        options: as for a training run.

    Raises:
        ValueError: the options or the data are wrong.
    """
    options, known = (options, None) if options.init is None else _started(options)
    task = task_of(options)
    pairs = _splits(task)
    has_tags = tag_separator(options.task) is not None
    filled, reasons = choose(options, Facts.of(pairs["train"], has_tags=has_tags))
    source, target = fit_tokenizers(pairs["train"], filled, known)
    counted = {
        split: count_split(some, source, target, filled.data.max_length if split == "train" else None)
        for split, some in pairs.items()
    }
    keys = {split: Keys.of(some, filled.tokenizer.normalize, has_tags=has_tags) for split, some in pairs.items()}
    tokenizers = {"both": source} if filled.tokenizer.shared else {"source": source, "target": target}
    plain = to_plain(filled)
    del plain["output"]
    return DataReport(
        task=options.task.kind,
        ood=task.ood,
        notes=[*task.notes, *_rewritten(pairs, target)],
        splits={split: each.counts for split, each in counted.items()},
        vocabularies=[
            vocabulary_of(side, tokenizer, _symbols(side, counted)) for side, tokenizer in tokenizers.items()
        ],
        samples=_samples(pairs),
        repeats={split: repeats_in(some, keys[split]) for split, some in pairs.items()},
        leaks=[leak(later, earlier, pairs, keys) for earlier, later in combinations(pairs, 2)],
        options=plain,
        reasons=reasons,
    )


def _started(options: DataReportOptions) -> tuple[DataReportOptions, Tokenizers | None]:
    from seq2see.runs.init import begin  # torch

    options, init = begin(options)
    return options, init.tokenizers if init and options.init_tokenizer is InitTokenizer.keep else None


def _splits(task: Task) -> dict[str, Sequence[Pair]]:
    """The training pairs, and those of every other split that has some."""
    pairs = {"train": task.pairs("train")}
    for split in ("valid", "test", *(["ood"] if task.ood else [])):
        found = task.pairs(split)
        if found:
            pairs[split] = found
    return pairs


def _rewritten(pairs: dict[str, Sequence[Pair]], target: Tokenizer) -> list[str]:
    """What a model of words cannot write of the targets, if anything: outputs are compared without it."""
    if target.kind is not TokenizerKind.word:
        return []
    texts = (normalize(pair.target, target.normalize) for some in pairs.values() for pair in some)
    count = sum(target.writable(text) != text for text in texts)
    if not count:
        return []
    return [f"{count:,} targets have other white space than one space between words: they are scored as if they had"]


def _symbols(side: str, counted: dict[str, Counted]) -> dict[str, Counter[Symbol]]:
    if side == "both":
        return {split: each.source + each.target for split, each in counted.items()}
    return {split: getattr(each, side) for split, each in counted.items()}


def _samples(pairs: dict[str, Sequence[Pair]]) -> list[Sample]:
    """Some pairs of a split, evenly over all of them, for files are often sorted."""
    samples = []
    for split, number in NUM_SAMPLES.items():
        some = pairs.get(split, ())
        number = min(number, len(some))
        places = [(2 * part + 1) * len(some) // (2 * number) for part in range(number)]
        samples += [Sample(split, place + 1, *some[place]) for place in places]
    return samples
