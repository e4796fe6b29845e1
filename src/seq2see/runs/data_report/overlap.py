"""Pairs that occur more than once: within a split, and, which is leakage, in two splits.

Texts are compared by 64-bit hashes of all pairs in numpy arrays, so a million pairs take seconds and 48 MB. The chance
that any two of a million different texts share a hash is 3 in 100 million.
"""

import unicodedata
from array import array
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import NamedTuple

import numpy as np

from seq2see.options import Normalize
from seq2see.tasks import Pair
from seq2see.tasks.progress import watched
from seq2see.text import normalize as normalized
from seq2see.text import untagged

NUM_EXAMPLES = 3


class Keys(NamedTuple):
    """A hash for each pair of a split, six uint64 arrays (pairs,).

    Attributes:
        line: of the source with its tags.
        pair: of that and the target.
        near_pair: of both in small letters, without punctuation and white space.
        source: of the source alone, as splits are made by it.
        near_source: of that in small letters, without punctuation and white space.
        target: of the target.
    """

    line: np.ndarray
    pair: np.ndarray
    near_pair: np.ndarray
    source: np.ndarray
    near_source: np.ndarray
    target: np.ndarray

    @classmethod
    def of(cls, pairs: Sequence[Pair], normalize: Normalize, *, has_tags: bool) -> "Keys":
        """The hashes of these pairs, their texts in the Unicode form that training sees; tags may stand before them."""
        keys = [array("Q") for _ in cls._fields]
        for pair in watched(pairs, "comparing", total=len(pairs)):
            line, target = normalized(pair.source, normalize), normalized(pair.target, normalize)
            source = untagged(line) if has_tags else line
            near_pair = f"{folded(line)}\n{folded(target)}"
            texts = (line, f"{line}\n{target}", near_pair, source, folded(source), target)
            for column, text in zip(keys, texts, strict=True):
                column.append(_hash(text))
        return cls(*(np.frombuffer(column, dtype=np.uint64) for column in keys))


def folded(text: str) -> str:
    """The text as near-duplicates share it: case folded, without punctuation, white space and control characters.

    A text of nothing else stays as it is, so that `?` and `!` are not the same.
    """
    return text.casefold().translate(_DROPPED) or text


class _Dropped(dict[int, int | None]):
    """The translation table of `folded`, filled as characters are met."""

    def __missing__(self, code: int) -> int | None:
        kept = None if unicodedata.category(chr(code))[0] in "PZC" else code
        self[code] = kept
        return kept


_DROPPED = _Dropped()


def _hash(text: str) -> int:
    return int.from_bytes(blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest(), "little")


@dataclass(frozen=True)
class Repeats:
    """What occurs more than once in a split.

    Args:
        same_pair: pairs that stand earlier in the split as well.
        same_source: pairs whose source stands earlier in the split as well.
        several_targets: sources with more than one target.
        best_exact_match: the share of pairs that a model can get right with one answer to each source; 1 for no pairs.
        pair_examples: the commonest repeated pairs: source, target, how often.
        target_examples: the sources with the most targets, and some of these.
    """

    same_pair: int
    same_source: int
    several_targets: int
    best_exact_match: float
    pair_examples: list[tuple[str, str, int]]
    target_examples: list[tuple[str, list[str]]]


def repeats_in(pairs: Sequence[Pair], keys: Keys) -> Repeats:
    """Counts what a split has more than once.

    Args:
        pairs: of the split.
        keys: of these pairs.
    """
    if not pairs:
        return Repeats(0, 0, 0, 1.0, [], [])
    _, first, times = np.unique(keys.pair, return_index=True, return_counts=True)  # of the distinct pairs
    order = np.lexsort((first, keys.line[first]))
    first, times = first[order], times[order]
    _, starts, num_targets = np.unique(keys.line[first], return_index=True, return_counts=True)
    commonest = [place for place in np.lexsort((first, -times))[:NUM_EXAMPLES].tolist() if times[place] > 1]
    most_targets = [n for n in np.lexsort((first[starts], -num_targets))[:NUM_EXAMPLES].tolist() if num_targets[n] > 1]
    return Repeats(
        same_pair=len(pairs) - len(first),
        same_source=len(pairs) - len(starts),
        several_targets=int((num_targets > 1).sum()),
        best_exact_match=float(np.maximum.reduceat(times, starts).sum() / len(pairs)),
        pair_examples=[(*_texts(pairs[int(first[place])]), int(times[place])) for place in commonest],
        target_examples=[
            _with_targets(pairs, first[starts[source] : starts[source] + num_targets[source]].tolist())
            for source in most_targets
        ],
    )


def _texts(pair: Pair) -> tuple[str, str]:
    return pair.source, pair.target


def _with_targets(pairs: Sequence[Pair], places: list[int]) -> tuple[str, list[str]]:
    """The source that these pairs share, and the first few of their targets."""
    return pairs[places[0]].source, [pairs[place].target for place in places[:NUM_EXAMPLES]]


@dataclass(frozen=True)
class Leak:
    """What a split shares with another one.

    Args:
        split: whose pairs are counted, such as `test`.
        other: where they are looked for, such as `train`.
        pairs: all of the split.
        same_source: its pairs whose source, tags left out, is in the other split.
        same_target: its pairs whose target is in the other split.
        same_pair: its pairs that are in the other split, tags and all.
        near_source: its pairs whose source, tags left out, is in the other split only up to case, punctuation and
            white space.
        near_pair: its pairs that are in the other split only up to case, punctuation and white space of either side.
        source_examples: some sources that are in both.
        near_examples: some sources with the one that is nearly the same in the other split.
    """

    split: str
    other: str
    pairs: int
    same_source: int
    same_target: int
    same_pair: int
    near_source: int
    near_pair: int
    source_examples: list[str]
    near_examples: list[tuple[str, str]]

    @property
    def is_none(self) -> bool:
        """Whether the splits share no source."""
        return not (self.same_source or self.near_source or self.near_pair)


def leak(split: str, other: str, pairs: Mapping[str, Sequence[Pair]], keys: Mapping[str, Keys]) -> Leak:
    """Counts what one split shares with another.

    Args:
        split: the name of the split whose pairs are counted.
        other: the name of the split where they are looked for.
        pairs: of each split.
        keys: of each split.
    """
    own, there = keys[split], keys[other]
    same_source = _found(own.source, there.source)
    same_pair = _found(own.pair, there.pair)
    near_source = _found(own.near_source, there.near_source) & ~same_source
    near_pair = _found(own.near_pair, there.near_pair) & ~same_pair
    near_examples = [
        (pairs[split][place].source, pairs[other][int(np.argmax(there.near_source == own.near_source[place]))].source)
        for place in _firsts(near_source, own.near_source)
    ]
    return Leak(
        split=split,
        other=other,
        pairs=len(pairs[split]),
        same_source=int(same_source.sum()),
        same_target=int(_found(own.target, there.target).sum()),
        same_pair=int(same_pair.sum()),
        near_source=int(near_source.sum()),
        near_pair=int(near_pair.sum()),
        source_examples=[pairs[split][place].source for place in _firsts(same_source, own.source)],
        near_examples=near_examples,
    )


def _found(keys: np.ndarray, among: np.ndarray) -> np.ndarray:
    """Whether each key is among the others, which are at least one; bool (keys,)."""
    order = np.sort(among)
    places = np.searchsorted(order, keys)
    return order[np.minimum(places, len(order) - 1)] == keys


def _firsts(where: np.ndarray, keys: np.ndarray) -> list[int]:
    """Places of the first pairs that are counted, one a key."""
    places = np.flatnonzero(where)
    _, first = np.unique(keys[places], return_index=True)
    return places[np.sort(first)[:NUM_EXAMPLES]].tolist()
