"""What stands in the pairs: lengths, vocabularies, repeats within a split, and leakage from one into another."""

from array import array
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from seq2see.options import Normalize, TokenizerKind
from seq2see.options.training import NUM_SPECIAL
from seq2see.tasks import Pair
from seq2see.tasks.progress import watched
from seq2see.text import UNK, Tokenizer, normalize, parted, untagged

NUM_ENTRIES = 10  # examples from a vocabulary
NUM_EXAMPLES = 3  # of repeats and leaks
_PAIRS_AT_ONCE = 8_192


@dataclass(frozen=True)
class Lengths:
    """How many texts of one side have each length."""

    words: dict[int, int]  # split at white space; tags are no words
    tokens: dict[int, int]  # tags and EOS included


@dataclass(frozen=True)
class SplitCounts:
    """The size of a split and the lengths of its texts."""

    pairs: int
    source: Lengths
    target: Lengths
    too_long: int  # training pairs that `data.max_length` leaves out


@dataclass(frozen=True)
class Unknown:
    """Tokens of a split that are not in the vocabulary."""

    tokens: int
    of: int  # all tokens, EOS not included
    examples: list[str]  # the commonest


@dataclass(frozen=True)
class Vocabulary:
    """What the texts of one side, or of both, are made of."""

    side: str  # source, target or both
    kind: str  # of the tokenizer
    size: int  # entries, the special ones included
    tokens: int  # of the training pairs, EOS not included
    frequent: list[tuple[str, int]]  # the commonest entries with their counts
    once: int  # entries that the training pairs have once
    once_examples: list[str]
    never: int  # entries that they do not have: bytes of `bpe`, and pieces that became parts of others
    unknown: dict[str, Unknown]  # by split


@dataclass(frozen=True)
class Repeats:
    """What occurs more than once in a split."""

    same_pair: int  # pairs that stand earlier in the split as well
    same_source: int  # pairs whose source stands earlier in the split as well
    several_targets: int  # sources with more than one target
    best_exact_match: float  # the share of pairs that a model can get right with one answer to each source
    pair_examples: list[tuple[str, str, int]]  # the commonest repeated pairs: source, target, how often
    target_examples: list[tuple[str, list[str]]]  # the sources with the most targets, and some of these


@dataclass(frozen=True)
class Leak:
    """What a split, such as `test`, shares with an earlier one, such as `train`."""

    split: str
    other: str
    pairs: int  # of the split; the next three count those of them
    same_source: int  # whose source, tags left out, is in the other split
    same_target: int  # whose target is in the other split
    same_pair: int  # that are in the other split, tags and all
    source_examples: list[str]


class Side:
    """The texts of one side of a split, counted: their words, their tokens, the entries of the vocabulary."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.tokenizer = tokenizer
        self.words = array("l")  # of each text, as are the tokens
        self.tokens = array("l")
        self.entries: Counter[int] = Counter()
        self.unknown: Counter[str] = Counter()

    def add(self, lines: list[str]) -> None:
        """Counts these texts, too."""
        for line, ids in zip(lines, self.tokenizer.encode_batch(lines), strict=True):
            text = line if self.tokenizer.tag_separator is None else untagged(line)
            self.words.append(len(text.split()))
            self.tokens.append(len(ids) + 1)
            self.entries.update(ids)
            if UNK in ids:  # a `bpe` token is not a character, but of these only tags can be unknown
                self.unknown.update(piece for piece, id in zip(self._pieces(line), ids, strict=False) if id == UNK)

    def _pieces(self, line: str) -> list[str]:
        """What the ids of a line stand for: tags, and characters or words."""
        separator = self.tokenizer.tag_separator
        tags, text = ([], line) if separator is None else parted(line, separator)
        text = normalize(text, self.tokenizer.normalize)
        return [*(f"[{tag}]" for tag in tags), *(text.split() if self.tokenizer.kind is TokenizerKind.word else text)]

    @property
    def lengths(self) -> Lengths:
        """The histograms, shortest first."""
        words, tokens = (dict(sorted(Counter(lengths).items())) for lengths in (self.words, self.tokens))
        return Lengths(words, tokens)


def count_split(
    pairs: Sequence[Pair], source: Tokenizer, target: Tokenizer, *, max_length: int | None
) -> tuple[SplitCounts, dict[str, Side]]:
    """The size and the lengths of a split, and both sides; at most `max_length` tokens a side are not too long."""
    sides = {"source": Side(source), "target": Side(target)}
    rest = iter(watched(pairs, "counting", total=len(pairs)))
    while some := list(islice(rest, _PAIRS_AT_ONCE)):
        for name, side in sides.items():
            side.add([getattr(pair, name) for pair in some])
    longer = map(max, sides["source"].tokens, sides["target"].tokens)
    too_long = 0 if max_length is None else sum(length > max_length for length in longer)
    return SplitCounts(len(pairs), sides["source"].lengths, sides["target"].lengths, too_long), sides


def vocabulary_of(side: str, sides: dict[str, dict[str, Side]]) -> Vocabulary:
    """What the vocabulary of a side, or of `both`, holds, and what it lacks in each split."""
    names = ("source", "target") if side == "both" else (side,)
    entries = {split: sum((own[name].entries for name in names), Counter[int]()) for split, own in sides.items()}
    pieces = {split: sum((own[name].unknown for name in names), Counter[str]()) for split, own in sides.items()}
    tokenizer, known = sides["train"][names[0]].tokenizer, entries["train"].copy()
    del known[UNK]
    once = [entry for entry, count in known.items() if count == 1]
    return Vocabulary(
        side=side,
        kind=tokenizer.kind.value,
        size=tokenizer.vocab_size,
        tokens=entries["train"].total(),
        frequent=[(tokenizer.tokens([entry])[0], count) for entry, count in known.most_common(NUM_ENTRIES)],
        once=len(once),
        once_examples=tokenizer.tokens(once[:NUM_ENTRIES]),
        never=tokenizer.vocab_size - NUM_SPECIAL - len(known),
        unknown={
            split: Unknown(counts[UNK], counts.total(), [piece for piece, _ in pieces[split].most_common(NUM_ENTRIES)])
            for split, counts in entries.items()
        },
    )


class Keys(NamedTuple):
    """Hashes of the texts of a split, int64 (pairs,) each: a million pairs are 32 MB."""

    line: np.ndarray  # of the source with its tags
    pair: np.ndarray  # of that and the target
    source: np.ndarray  # of the source alone, as splits are made by it
    target: np.ndarray

    @classmethod
    def of(cls, pairs: Sequence[Pair], form: Normalize, *, has_tags: bool) -> "Keys":
        """The keys of these pairs, their texts in the Unicode form that training sees; tags may stand before them."""
        columns = [array("q") for _ in cls._fields]
        for pair in watched(pairs, "comparing", total=len(pairs)):
            line, target = normalize(pair.source, form), normalize(pair.target, form)
            texts = (line, (line, target), untagged(line) if has_tags else line, target)
            for column, text in zip(columns, texts, strict=True):
                column.append(hash(text))
        return cls(*map(np.array, columns))


def repeats_in(pairs: Sequence[Pair], keys: Keys, form: Normalize) -> Repeats:
    """Counts what a split has more than once; sources are compared with their tags."""
    _, line, times = np.unique(keys.line, return_inverse=True, return_counts=True)
    targets: dict[str, Counter[str]] = defaultdict(Counter)  # of each source that occurs more than once
    for pair, is_repeated in zip(pairs, (times > 1)[line].tolist(), strict=True):
        if is_repeated:
            targets[normalize(pair.source, form)][normalize(pair.target, form)] += 1
    counts = Counter({(source, target): count for source, own in targets.items() for target, count in own.items()})
    varied = Counter({source: len(own) for source, own in targets.items() if len(own) > 1})
    return Repeats(
        same_pair=counts.total() - len(counts),
        same_source=counts.total() - len(targets),
        several_targets=len(varied),
        best_exact_match=1 - sum(own.total() - max(own.values()) for own in targets.values()) / len(pairs),
        pair_examples=[(*texts, count) for texts, count in counts.most_common(NUM_EXAMPLES) if count > 1],
        target_examples=[
            (source, list(islice(targets[source], NUM_EXAMPLES))) for source, _ in varied.most_common(NUM_EXAMPLES)
        ],
    )


def leak(split: str, other: str, pairs: Sequence[Pair], keys: dict[str, Keys]) -> Leak:
    """Counts what a split of these pairs shares with another one."""
    own, there = keys[split], keys[other]
    same_source = np.isin(own.source, there.source)
    return Leak(
        split=split,
        other=other,
        pairs=len(pairs),
        same_source=int(same_source.sum()),
        same_target=int(np.isin(own.target, there.target).sum()),
        same_pair=int(np.isin(own.pair, there.pair).sum()),
        source_examples=[pairs[place].source for place in np.flatnonzero(same_source)[:NUM_EXAMPLES].tolist()],
    )
