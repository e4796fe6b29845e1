"""What a training run would be trained on: counted, shown in the terminal, and written nowhere unless asked for."""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations, groupby, islice
from pathlib import Path
from typing import Any, TextIO

import numpy as np
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from seq2see.atomic_write import write_text
from seq2see.options import DataReportOptions, InitTokenizer, Normalize, TokenizerKind, tag_separator
from seq2see.options.plain import to_plain
from seq2see.options.training import NUM_SPECIAL
from seq2see.runs.choices import Facts, choose
from seq2see.runs.data import task_of
from seq2see.runs.tokenizers import Tokenizers, fit_tokenizers
from seq2see.tasks import Pair
from seq2see.tasks.progress import watched
from seq2see.text import UNK, Tokenizer, normalize, parted, untagged

NUM_SAMPLES = {"train": 3, "ood": 1}
NUM_ENTRIES = 10  # examples from a vocabulary
WIDTH = 80  # columns that everything fits into
LONGEST = 300  # characters of an example that are shown
_PAIRS_AT_ONCE = 8_192
_KEYS = np.dtype([(name, np.int64) for name in ("line", "pair", "source", "target")])

Report = dict[str, Any]
Row = tuple[str, ...]  # one cell: a sentence; two: a label and a text; more: a label and figures


def command(options: DataReportOptions) -> None:
    """What `scripts/data.py` does."""
    output = None if options.output is None else Path(options.output)
    if output is not None and (output.is_dir() or not output.parent.is_dir()):
        raise ValueError(f"output: {output} cannot be a file there: name a .json file in a folder that exists")
    report = data_report(options)
    page(report, sys.stdout)
    if output is not None:
        try:
            write_text(output, json.dumps(report, indent=2, ensure_ascii=False) + "\n")
        except OSError as error:
            raise ValueError(f"output: {output} cannot be written ({error.strerror})") from error
        print(f"written: {output}", file=sys.stderr)


def data_report(options: DataReportOptions) -> Report:
    """Reads the pairs and counts everything; nothing is written.

    Returns:
        `task`, its kind; `ood`, what that split is, empty if there is none; `notes`, what was skipped and why;
        `splits`, those that have pairs; `vocabularies`, of the sources and the targets, or of both; `samples`;
        `repeats` by split; `leaks`, what each split shares with each earlier one; `options` of the training run,
        nothing left open; and `reasons`, why those that were left open are so.

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
    max_length, form = filled.data.max_length, filled.tokenizer.normalize
    counts, sides = {}, {}
    for split, some in pairs.items():
        sides[split], too_long = _count(some, tokenizers, max_length if split == "train" else None)
        lengths = {name: side.lengths for name, side in sides[split].items()}
        counts[split] = {"pairs": len(some), **lengths, "too_long": too_long}
    vocabularies, notes = ["both"] if filled.tokenizer.shared else ["source", "target"], list(task.notes)
    if respaced := sum(own["target"].respaced for own in sides.values()):
        notes.append(f"{respaced:,} targets have other white space than one space between words: scored as if they had")
    if too_long := counts["train"]["too_long"]:
        most = f"more than {max_length} tokens a side (data.max_length)"
        notes.append(f"{too_long:,} of {len(pairs['train']):,} training pairs will be left out for {most}")
    keys = {split: keys_of(some, form, has_tags=has_tags) for split, some in pairs.items()}
    return {
        "task": options.task.kind,
        "ood": task.ood,
        "notes": notes,
        "splits": counts,
        "vocabularies": [_vocabulary(side, sides) for side in vocabularies],
        "samples": _samples(pairs),
        "repeats": {split: repeats_of(some, keys[split], form) for split, some in pairs.items()},
        "leaks": [leak_of(split, other, pairs[split], keys) for other, split in combinations(pairs, 2)],
        "options": after,
        "reasons": reasons or _chosen(before, after),
    }


def _chosen(before: dict[str, Any], after: dict[str, Any]) -> list[str]:
    """What was left open: of a generated task all of it follows from the task."""
    lines = []
    for part, values in after.items():
        if isinstance(values, dict):
            changed = [f"{key}={value}" for key, value in values.items() if before[part][key] != value]
            lines += [f"{part}: {', '.join(changed)} (task={after['task']['kind']})"] if changed else []
    return lines


class _Side:
    """The texts of one side of a split, counted: their words, their tokens, the entries of the vocabulary."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.words, self.tokens, self.entries = Counter[int](), Counter[int](), Counter[int]()
        self.unknown = Counter[str]()  # what stands for UNK
        self.respaced = 0  # texts with white space that a model of words cannot write

    def add(self, lines: list[str]) -> list[int]:
        """Counts these texts, too; returns their numbers of tokens."""
        encoded, separator = self.tokenizer.encode_batch(lines), self.tokenizer.tag_separator
        lengths = [len(ids) + 1 for ids in encoded]
        self.tokens.update(lengths)
        of_words = self.tokenizer.kind is TokenizerKind.word
        for line, ids in zip(lines, encoded, strict=True):
            tags, text = ([], line) if separator is None else parted(line, separator)
            text = normalize(text, self.tokenizer.normalize)
            words = text.split()
            self.words[len(words)] += 1
            self.entries.update(ids)
            self.respaced += of_words and text != " ".join(words)
            if UNK in ids:  # a `bpe` token is not a character, but of these only tags can be unknown
                pieces = [*(f"[{tag}]" for tag in tags), *(words if of_words else text)]
                self.unknown.update(piece for piece, id in zip(pieces, ids, strict=False) if id == UNK)
        return lengths

    @property
    def lengths(self) -> dict[str, dict[int, int]]:
        """How many texts have each length, in `words` without tags, in `tokens` with tags and EOS."""
        return {"words": dict(sorted(self.words.items())), "tokens": dict(sorted(self.tokens.items()))}


def _count(pairs: Sequence[Pair], tokenizers: Tokenizers, max_length: int | None) -> tuple[dict[str, _Side], int]:
    """Both sides of a split, and how many pairs have more than `max_length` tokens a side."""
    sides, too_long = {"source": _Side(tokenizers[0]), "target": _Side(tokenizers[1])}, 0
    rest = iter(watched(pairs, "counting", total=len(pairs)))
    while some := list(islice(rest, _PAIRS_AT_ONCE)):
        lengths = [side.add([getattr(pair, name) for pair in some]) for name, side in sides.items()]
        too_long += 0 if max_length is None else sum(length > max_length for length in map(max, *lengths))
    return sides, too_long


def _vocabulary(side: str, sides: dict[str, dict[str, _Side]]) -> Report:
    """What the vocabulary of a side, or of `both`, holds, and what it lacks in each split."""
    names = ("source", "target") if side == "both" else (side,)
    entries = {split: sum((own[name].entries for name in names), Counter[int]()) for split, own in sides.items()}
    unknown = {}
    for split, own in sides.items():
        examples = sum((own[name].unknown for name in names), Counter[str]()).most_common(NUM_ENTRIES)
        unknown[split] = {
            "tokens": entries[split][UNK],
            "of": entries[split].total(),
            "examples": [piece for piece, _ in examples],
        }
    tokenizer = sides["train"][names[0]].tokenizer
    del entries["train"][UNK]
    return {
        "side": side,
        "kind": tokenizer.kind.value,
        "size": tokenizer.vocab_size,  # the special ones included
        "tokens": unknown["train"]["of"],  # EOS not included
        "frequent": [(tokenizer.tokens([id])[0], count) for id, count in entries["train"].most_common(NUM_ENTRIES)],
        "unknown": unknown,
    }


def _samples(pairs: dict[str, Sequence[Pair]]) -> list[Report]:
    """Some pairs of a split, evenly over all of them, for files are often sorted."""
    samples = []
    for split, number in NUM_SAMPLES.items():
        some = pairs.get(split, ())
        number = min(number, len(some))
        for place in ((2 * part + 1) * len(some) // (2 * number) for part in range(number)):
            samples.append({"split": split, "number": place + 1, **some[place]._asdict()})
    return samples


def keys_of(pairs: Sequence[Pair], form: Normalize, *, has_tags: bool) -> np.ndarray:
    """Hashes of the texts of each pair, in the Unicode form that training sees: a million pairs are 32 MB.

    `line` is of the source with its tags, `pair` of that and the target, `source` of the source alone, as splits are
    made by it, `target` of the target.
    """

    def hashes(pair: Pair) -> tuple[int, ...]:
        line, target = normalize(pair.source, form), normalize(pair.target, form)
        return hash(line), hash((line, target)), hash(untagged(line) if has_tags else line), hash(target)

    return np.fromiter(map(hashes, watched(pairs, "comparing", total=len(pairs))), _KEYS, len(pairs))


def repeats_of(pairs: Sequence[Pair], keys: np.ndarray, form: Normalize) -> Report:
    """What occurs more than once in a split; sources are compared with their tags.

    Returns:
        `same_pair`, `same_source`: pairs that stand earlier in the split, or whose source does; `several_targets`:
        sources with more than one; `best_exact_match`: the share that one answer to each source can get right;
        `example`: the commonest source that repeats, some of its targets and how often.
    """
    _, line, times = np.unique(keys["line"], return_inverse=True, return_counts=True)
    targets: dict[str, Counter[str]] = defaultdict(Counter)  # of each source that occurs more than once
    for place in np.flatnonzero((times > 1)[line]).tolist():
        targets[normalize(pairs[place].source, form)][normalize(pairs[place].target, form)] += 1
    num_pairs = sum(own.total() for own in targets.values())
    commonest = max(targets, key=lambda source: targets[source].total(), default=None)
    return {
        "same_pair": num_pairs - sum(map(len, targets.values())),
        "same_source": num_pairs - len(targets),
        "several_targets": sum(len(own) > 1 for own in targets.values()),
        "best_exact_match": 1 - (num_pairs - sum(max(own.values()) for own in targets.values())) / len(pairs),
        "example": None if commonest is None else (commonest, targets[commonest].most_common(3)),
    }


def leak_of(split: str, other: str, pairs: Sequence[Pair], keys: dict[str, np.ndarray]) -> Report:
    """How many pairs of a split share the source (tags left out), the target or all with an earlier one."""
    shared = {name: np.isin(keys[split][name], keys[other][name]) for name in ("source", "target", "pair")}
    counts = {f"same_{name}": int(places.sum()) for name, places in shared.items()}
    example = pairs[int(shared["source"].argmax())].source if counts["same_source"] else ""
    return {"split": split, "other": other, "pairs": len(pairs), **counts, "example": example}


def page(report: Report, stream: TextIO) -> None:
    """Writes the report in 80 columns to a terminal, a pipe or a file; what its encoding cannot show is escaped."""
    console = Console(file=stream, width=WIDTH, markup=False, emoji=False, highlight=False)
    sections = {
        f"Pairs of task={report['task']}": _pairs(report),
        "Vocabulary": _vocabularies(report),
        "Samples": _sample_pairs(report),
        "Repeats": _repeats(report),
        "Leakage": _leakage(report),
        "What training would choose": [tuple(reason.split(": ", 1)) for reason in report["reasons"]],
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


def _pairs(report: Report) -> Iterable[Row]:
    yield ("", "", "words", "", "", "", "tokens", "", "", "")
    yield ("", "pairs", *2 * ("min", "median", "95%", "max"))
    for split, counts in report["splits"].items():
        for side in ("source", "target"):
            figures = (*_quantiles(counts[side]["words"]), *_quantiles(counts[side]["tokens"]))
            yield (f"{split} {side}", f"{counts['pairs']:,}", *map(str, figures))
    yield ("-", "the end of a text counts as a token")
    if report["ood"]:
        yield ("-", f"ood, out of distribution: {report['ood']}")
    yield from (("-", note) for note in report["notes"])


def _quantiles(lengths: dict[int, int]) -> list[int]:
    """The shortest, the median, what 95 % do not exceed, the longest."""
    every = np.repeat(list(lengths), list(lengths.values()))
    return np.quantile(every, [0, 0.5, 0.95, 1], method="inverted_cdf").tolist()


def _vocabularies(report: Report) -> Iterable[Row]:
    for each in report["vocabularies"]:
        side = "both sides" if each["side"] == "both" else each["side"]
        yield (f"{side}: {each['kind']}, {each['size']:,} entries, {NUM_SPECIAL} of them special",)
        yield ("  most often", "  ".join(f"{one} {count / each['tokens']:.1%}" for one, count in each["frequent"]))
        for split, unknown in each["unknown"].items():
            share = _share(unknown["tokens"], unknown["of"])
            yield ("  unknown", "  ".join((f"{split} {share}", *unknown["examples"])))


def _sample_pairs(report: Report) -> Iterable[Row]:
    for sample in report["samples"]:
        yield (f"{sample['split']}, pair {sample['number']:,}",)
        yield ("  source", sample["source"])
        yield ("  target", sample["target"])
        if sample["links"] is not None:
            yield ("  links", " ".join(f"{i}-{j}" for i, j in sample["links"]))


def _repeats(report: Report) -> Iterable[Row]:
    yield ("", "same pair", "same source", "several targets", "best exact match")
    for split, own in report["repeats"].items():
        shares = (_share(own[name], report["splits"][split]["pairs"]) for name in ("same_pair", "same_source"))
        yield (split, *shares, f"{own['several_targets']:,}", f"{own['best_exact_match']:.3f}")
    yield (
        "Pairs that repeat an earlier pair, or its source; sources with several targets; and the score that no model "
        "with one answer to a source can exceed.",
    )
    for split, own in report["repeats"].items():
        if own["example"] is not None:
            source, targets = own["example"]
            yield (split, " | ".join((source, *(f"{target} ({count:,})" for target, count in targets))))


def _leakage(report: Report) -> Iterable[Row]:
    yield ("", "same source", "same pair", "same target")
    for each in report["leaks"]:
        shares = (_share(each[name], each["pairs"]) for name in ("same_source", "same_pair", "same_target"))
        yield (f"{each['split']} in {each['other']}", *shares)
    if report["options"]["task"].get("features") is not None:
        yield ("Tags before a source count in pairs alone.",)
    for each in report["leaks"]:
        if each["same_source"]:
            yield (f"{each['split']} and {each['other']}", each["example"])


def _share(count: int, of: int) -> str:
    return f"{count:,} ({count / of:.1%})" if count else "0"
