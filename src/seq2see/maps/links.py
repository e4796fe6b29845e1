"""Word alignment: links found in a map or read from a file, two directions made into one, and how good they are.

In a file, one sentence a line; a link is `i-j` if it is sure, `ipj` or `i?j` if it is only possible: source word i,
target word j. What `translate.py format=tsv` and `format=jsonl` write is read as it stands.
"""

import json
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

Link = tuple[int, int]
"""Source word and target word, 0-based."""

_LINK = re.compile(r"(\d+)([-p?])(\d+)", re.ASCII)
_NEIGHBOURS = ((0, -1), (-1, 0), (0, 1), (1, 0), (-1, -1), (1, -1), (-1, 1), (1, 1))  # source, target


class Rows(Enum):
    """Which row of a map stands for target token t: the one that predicts it (row t) or that reads it (row t + 1)."""

    predicts = 0
    reads = 1


@dataclass(frozen=True)
class LinkCounts:
    """What scores of links are made of: numbers, or arrays of one entry a head.

    Counts of sentences add with `+`, so a corpus is summed before the one division, and its rate is not the mean of its
    sentences' rates. A score is NaN where nothing can be divided by.

    Source:
        Och and Ney 2003, "A Systematic Comparison of Various Statistical Alignment Models", section 5.
    """

    sure_hits: ArrayLike = 0
    possible_hits: ArrayLike = 0
    found: ArrayLike = 0
    sure: ArrayLike = 0

    def __add__(self, other: "LinkCounts") -> "LinkCounts":
        return LinkCounts(*map(np.add, vars(self).values(), vars(other).values()))

    @property
    def precision(self) -> NDArray[np.float64]:
        """The share of the found links that are possible."""
        return _share(self.possible_hits, self.found)

    @property
    def recall(self) -> NDArray[np.float64]:
        """The share of the sure links that were found."""
        return _share(self.sure_hits, self.sure)

    @property
    def error_rate(self) -> NDArray[np.float64]:
        """1 - (|A and S| + |A and P|) / (|A| + |S|); 0 is best."""
        return 1 - _share(np.add(self.sure_hits, self.possible_hits), np.add(self.found, self.sure))


def _share(part: ArrayLike, whole: ArrayLike) -> NDArray[np.float64]:
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.true_divide(part, whole)


def word_weights(
    weights: NDArray,
    *,
    rows: Rows = Rows.predicts,
    source_words: Sequence[int] | None = None,
    target_words: Sequence[int] | None = None,
) -> NDArray:
    """A cross map without EOS, of words: summed over a source word's tokens, averaged over a target word's.

    Args:
        weights: float (..., target tokens with EOS, source tokens with EOS), no padding.
        rows: which row stands for a target token.
        source_words: the word number of each source token, EOS left out; None means each token is a word.
        target_words: the same for target tokens.
    """
    num_targets = weights.shape[-2] - 1
    inner = weights[..., rows.value : rows.value + num_targets, :-1]
    if source_words is not None:
        inner = inner @ _membership(source_words).T
    if target_words is not None:
        members = _membership(target_words)
        inner = (members / np.maximum(members.sum(-1, keepdims=True), 1)) @ inner
    return inner


def _membership(words: Sequence[int]) -> NDArray[np.float32]:
    """0/1, (words, tokens)."""
    numbers = np.asarray(words, dtype=np.int64)
    return (np.arange(numbers.max(initial=-1) + 1)[:, None] == numbers).astype(np.float32)


def count_links(words: NDArray, sure: Collection[Link]) -> LinkCounts:
    """How good the links in one sentence's `word_weights` (..., target words, source words) are, for each head.

    Each target word is linked to the source word that it attends to most, the first of equals: one without a true link
    pays for it. EOS is left out on both sides; punctuation is a word like any other.
    """
    *heads, num_targets, num_sources = words.shape
    if not num_sources or not num_targets:
        return LinkCounts(*np.zeros((4, *heads)))
    is_sure = np.zeros((num_targets, num_sources), dtype=bool)
    for source, target in sure:
        is_sure[target, source] = True
    hits = is_sure[np.arange(num_targets), words.argmax(-1)].sum(-1)
    return LinkCounts(hits, hits, np.full(heads, num_targets), np.full(heads, is_sure.sum()))


class SentenceLinks(NamedTuple):
    """The links of one sentence.

    Args:
        sure: those that must be found.
        possible: those that may be found, the sure ones among them.
    """

    sure: frozenset[Link] = frozenset()
    possible: frozenset[Link] = frozenset()


def parse_links(text: str) -> SentenceLinks:
    """The links of one line, between white space; a ValueError if something in it is no link."""
    links = []
    for entry in text.split():
        found = _LINK.fullmatch(entry)
        if found is None:
            raise ValueError(f"{entry!r} is no link: write i-j (sure), ipj or i?j (possible), one space between links")
        links.append((found[2] == "-", (int(found[1]), int(found[3]))))
    return SentenceLinks(frozenset(link for is_sure, link in links if is_sure), frozenset(link for _, link in links))


def read_links(path: str | Path) -> list[SentenceLinks]:
    """The links of a file, one entry a line; of what `translate.py` writes those of each line's best translation.

    Raises:
        ValueError: the file cannot be read, or a line is malformed; the message names file, line and text.
    """
    try:
        content = Path(path).read_bytes().decode("utf-8-sig").replace("\r\n", "\n")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.reason if isinstance(error, UnicodeDecodeError) else error.strerror
        raise ValueError(
            f"{path} cannot be read ({reason}): name a file of links in UTF-8, one sentence a line"
        ) from error
    lines = content.removesuffix("\n").split("\n") if content else []
    if content.startswith("{") or "alignment" in content.partition("\n")[0].split("\t"):
        numbered = _best_of_translate(lines, path)
    else:
        numbered = enumerate(lines, start=1)
    result = []
    for number, text in numbered:
        try:
            result.append(parse_links(text))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from error
    return result


def _best_of_translate(lines: Sequence[str], path: str | Path) -> Iterator[tuple[int, str]]:
    """The number of each line and its links as text; of several translations of a source the first alone."""
    is_table, columns = not lines[0].startswith("{"), lines[0].split("\t")
    last = None
    for number, line in enumerate(lines[is_table:], start=1 + is_table):
        try:
            if is_table:
                row = dict(zip(columns, line.split("\t"), strict=True))
                source, text = row.get("line", number), row["alignment"]
            else:
                entry: dict[str, Any] = json.loads(line)
                source, text = entry["line"], entry["hypotheses"][0]["alignment"] if entry["hypotheses"] else ""
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise ValueError(f"{path}, line {number}: {line[:80]!r} is not what translate.py writes") from error
        if source != last:
            yield number, text
        last = source


def score_links(gold: Sequence[SentenceLinks], found: Sequence[frozenset[Link]]) -> LinkCounts:
    """How good the links found in as many sentences are."""
    counts = (
        LinkCounts(len(links & true.sure), len(links & true.possible), len(links), len(true.sure))
        for true, links in zip(gold, found, strict=True)
    )
    return sum(counts, LinkCounts())


def grow_diag_final_and(forward: frozenset[Link], backward: frozenset[Link]) -> frozenset[Link]:
    """The links of two directions, both (source, target), as one set between their intersection and their union.

    From the intersection it grows to neighbours, diagonal ones too, that are in the union and have a word without a
    link; then links of either direction are added whose words both have none. Target words are gone through first to
    last, and for each the source words.

    Source:
        Koehn et al. 2005, "Edinburgh System Description for the 2005 IWSLT Speech Translation Evaluation".
    """
    union, result = forward | backward, set(forward & backward)
    before = None
    while before != len(result):
        before = len(result)
        for source, target in sorted(union, key=lambda link: link[::-1]):
            if (source, target) not in result:
                continue
            for across, down in _NEIGHBOURS:
                link = (source + across, target + down)
                if link in union and link not in result and not all(_linked(link, result)):
                    result.add(link)
    for direction in (forward, backward):
        for link in sorted(direction, key=lambda link: link[::-1]):
            if not any(_linked(link, result)):
                result.add(link)
    return frozenset(result)


def _linked(link: Link, links: Collection[Link]) -> tuple[bool, bool]:
    """Whether its source word and its target word have a link."""
    return any(source == link[0] for source, _ in links), any(target == link[1] for _, target in links)
