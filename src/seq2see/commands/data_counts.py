"""What stands in the pairs: lengths, vocabularies, repeats within a split, and leakage from one into another."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np

from seq2see.options import Normalize, TokenizerKind
from seq2see.tasks import Pair
from seq2see.tasks.progress import watched
from seq2see.text import UNK, Tokenizer, normalize, parted, untagged

NUM_ENTRIES = 10  # examples from a vocabulary
_PAIRS_AT_ONCE = 8_192

Lengths = dict[str, dict[int, int]]
"""How many texts have each length, shortest first: in `words`, without tags; in `tokens`, with tags and EOS."""


@dataclass(frozen=True)
class SplitCounts:
    """The size of a split and the lengths of its texts."""

    pairs: int
    source: Lengths
    target: Lengths
    too_long: int  # training pairs that `data.max_length` leaves out


class Side:
    """The texts of one side of a split, counted: their words, their tokens, the entries of the vocabulary."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.words: Counter[int] = Counter()
        self.tokens: Counter[int] = Counter()
        self.entries: Counter[int] = Counter()
        self.unknown: Counter[str] = Counter()  # what stands for UNK
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
    def lengths(self) -> Lengths:
        """The histograms."""
        return {"words": dict(sorted(self.words.items())), "tokens": dict(sorted(self.tokens.items()))}


def count_split(
    pairs: Sequence[Pair], source: Tokenizer, target: Tokenizer, *, max_length: int | None
) -> tuple[SplitCounts, dict[str, Side]]:
    """The size and the lengths of a split, and both sides; at most `max_length` tokens a side are not too long."""
    sides, too_long = {"source": Side(source), "target": Side(target)}, 0
    rest = iter(watched(pairs, "counting", total=len(pairs)))
    while some := list(islice(rest, _PAIRS_AT_ONCE)):
        lengths = [side.add([getattr(pair, name) for pair in some]) for name, side in sides.items()]
        if max_length is not None:
            too_long += sum(length > max_length for length in map(max, *lengths))
    return SplitCounts(len(pairs), sides["source"].lengths, sides["target"].lengths, too_long), sides


@dataclass(frozen=True)
class Vocabulary:
    """What the texts of one side, or of both, are made of."""

    side: str  # source, target or both
    kind: str  # of the tokenizer
    size: int  # entries, the special ones included
    tokens: int  # of the training pairs, EOS not included
    frequent: list[tuple[str, int]]  # the commonest entries with their counts
    unknown: dict[str, dict[str, Any]]  # by split: `tokens` that are no entries, `of` how many, commonest `examples`

    @classmethod
    def of(cls, side: str, sides: dict[str, dict[str, Side]]) -> "Vocabulary":
        """What the vocabulary of a side, or of `both`, holds, and what it lacks in each split."""
        names = ("source", "target") if side == "both" else (side,)
        entries = {split: sum((own[name].entries for name in names), Counter[int]()) for split, own in sides.items()}
        unknown = {}
        for split, own in sides.items():
            pieces = sum((own[name].unknown for name in names), Counter[str]())
            examples = [piece for piece, _ in pieces.most_common(NUM_ENTRIES)]
            unknown[split] = {"tokens": entries[split][UNK], "of": entries[split].total(), "examples": examples}
        tokenizer = sides["train"][names[0]].tokenizer
        del entries["train"][UNK]
        return cls(
            side=side,
            kind=tokenizer.kind.value,
            size=tokenizer.vocab_size,
            tokens=unknown["train"]["of"],
            frequent=[(tokenizer.tokens([id])[0], count) for id, count in entries["train"].most_common(NUM_ENTRIES)],
            unknown=unknown,
        )


Keys = dict[str, np.ndarray]
"""Hashes of the texts of a split, int64 (pairs,) each: a million pairs are 32 MB.

`line` is of the source with its tags, `pair` of that and the target, `source` of the source alone, as splits are made
by it, `target` of the target.
"""


def keys_of(pairs: Sequence[Pair], form: Normalize, *, has_tags: bool) -> Keys:
    """The keys of these pairs, their texts in the Unicode form that training sees; tags may stand before them."""
    columns = {name: array("q") for name in ("line", "pair", "source", "target")}
    for pair in watched(pairs, "comparing", total=len(pairs)):
        line, target = normalize(pair.source, form), normalize(pair.target, form)
        texts = (line, (line, target), untagged(line) if has_tags else line, target)
        for column, text in zip(columns.values(), texts, strict=True):
            column.append(hash(text))
    return {name: np.array(column) for name, column in columns.items()}


@dataclass(frozen=True)
class Repeats:
    """What occurs more than once in a split; sources are compared with their tags."""

    same_pair: int  # pairs that stand earlier in the split as well
    same_source: int  # pairs whose source stands earlier in the split as well
    several_targets: int  # sources with more than one target
    best_exact_match: float  # the share of pairs that a model can get right with one answer to each source
    example: tuple[str, list[tuple[str, int]]] | None  # the commonest such source, some of its targets and how often

    @classmethod
    def of(cls, pairs: Sequence[Pair], keys: Keys, form: Normalize) -> "Repeats":
        """Those of a split with these keys."""
        _, line, times = np.unique(keys["line"], return_inverse=True, return_counts=True)
        targets: dict[str, Counter[str]] = defaultdict(Counter)  # of each source that occurs more than once
        for place in np.flatnonzero((times > 1)[line]).tolist():
            targets[normalize(pairs[place].source, form)][normalize(pairs[place].target, form)] += 1
        num_pairs = sum(own.total() for own in targets.values())
        commonest = max(targets, key=lambda source: targets[source].total(), default=None)
        return cls(
            same_pair=num_pairs - sum(map(len, targets.values())),
            same_source=num_pairs - len(targets),
            several_targets=sum(len(own) > 1 for own in targets.values()),
            best_exact_match=1 - (num_pairs - sum(max(own.values()) for own in targets.values())) / len(pairs),
            example=None if commonest is None else (commonest, targets[commonest].most_common(3)),
        )


@dataclass(frozen=True)
class Leak:
    """What a split, such as `test`, shares with an earlier one, such as `train`."""

    split: str
    other: str
    pairs: int  # of the split; the next three count those of them
    same_source: int  # whose source, tags left out, is in the other split
    same_target: int  # whose target is in the other split
    same_pair: int  # that are in the other split, tags and all
    example: str  # a source that is in both; empty if none is

    @classmethod
    def of(cls, split: str, other: str, pairs: Sequence[Pair], keys: dict[str, Keys]) -> "Leak":
        """What the split of these pairs shares with the other one."""
        shared = {name: np.isin(keys[split][name], keys[other][name]) for name in ("source", "target", "pair")}
        counts = {f"same_{name}": int(places.sum()) for name, places in shared.items()}
        example = pairs[int(shared["source"].argmax())].source if counts["same_source"] else ""
        return cls(split=split, other=other, pairs=len(pairs), example=example, **counts)
