"""Word alignments in files: read, scored against a gold standard, and two directions made into one.

One sentence a line; a link is `i-j` if it is sure, `ipj` or `i?j` if it is only possible: source word i, target word j.
What `translate.py format=tsv` and `format=jsonl` write is read as it stands.
"""

from __future__ import annotations

import heapq
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

Link = tuple[int, int]
"""Source word and target word, 0-based."""

_LINK = re.compile(r"(\d+)([-p?])(\d+)", re.ASCII)
_NEIGHBOURS = ((-1, 0), (0, -1), (1, 0), (0, 1), (-1, -1), (-1, 1), (1, -1), (1, 1))


@dataclass(frozen=True)
class SentenceLinks:
    """The links of one sentence.

    Args:
        sure: those that must be found.
        possible: those that may be found, the sure ones among them.
    """

    sure: frozenset[Link] = frozenset()
    possible: frozenset[Link] = frozenset()


@dataclass(frozen=True)
class LinkScores:
    """What a set of links is worth, from sums over the whole corpus; NaN where nothing can be divided by.

    Args:
        precision: share of the links that are possible.
        recall: share of the sure links that were found.
        error_rate: 0 is best.
        num_links: how many there are.

    Source:
        Och and Ney 2003, "A Systematic Comparison of Various Statistical Alignment Models", section 5.
    """

    precision: float
    recall: float
    error_rate: float
    num_links: int


def parse_links(text: str, *, index_base: int = 0) -> SentenceLinks:
    """The links of one line.

    Args:
        text: links between white space.
        index_base: 0 or 1, the number of the first word.

    Raises:
        ValueError: something in it is no link, or a word's number lies before the first.
    """
    sure, possible = set(), set()
    for entry in text.split():
        found = _LINK.fullmatch(entry)
        if found is None:
            raise ValueError(f"{entry!r} is no link: write i-j (sure), ipj or i?j (possible), one space between links")
        link = (int(found[1]) - index_base, int(found[3]) - index_base)
        if min(link) < 0:
            raise ValueError(f"{entry!r} counts a word from 0, index_base={index_base} from 1: set index_base=0")
        possible.add(link)
        if found[2] == "-":
            sure.add(link)
    return SentenceLinks(frozenset(sure), frozenset(possible))


def read_links(path: str | Path, *, index_base: int = 0) -> list[SentenceLinks]:
    """The links of a file, one entry a line.

    A file that `translate.py` has written (`format=tsv`, `format=jsonl`) gives those of the best translation of each
    line; they count from 0 whatever `index_base`.

    Raises:
        ValueError: the file cannot be read, or a line is malformed; the message names file, line and text.
    """
    lines = _lines(path)
    written = _is_written_by_translate(lines)
    result = []
    for number, text in _alignments(lines, path):
        try:
            result.append(parse_links(text, index_base=0 if written else index_base))
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}") from error
    return result


def written_by_translate(path: str | Path) -> bool:
    """Whether a file is what `translate.py` writes beside plain text; errors as in `read_links`."""
    return _is_written_by_translate(_lines(path))


def _lines(path: str | Path) -> list[str]:
    try:
        lines = Path(path).read_bytes().decode("utf-8-sig").split("\n")
    except OSError as error:
        raise ValueError(
            f"{path} cannot be read ({error.strerror}): name a file of links, one sentence a line"
        ) from error
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 ({error.reason}): convert the file to UTF-8") from error
    return [line.removesuffix("\r") for line in (lines[:-1] if lines[-1] == "" else lines)]


def _is_written_by_translate(lines: Sequence[str]) -> bool:
    return bool(lines) and (lines[0].startswith("{") or "alignment" in lines[0].split("\t"))


def _alignments(lines: Sequence[str], path: str | Path) -> Iterator[tuple[int, str]]:
    """The number of each line, from 1, and its links as text; of several translations of a line the first alone."""
    if not _is_written_by_translate(lines):
        yield from enumerate(lines, start=1)
        return
    is_table, columns = not lines[0].startswith("{"), lines[0].split("\t")
    last = None
    for number, line in enumerate(lines[1:] if is_table else lines, start=2 if is_table else 1):
        try:
            if is_table:
                row = dict(zip(columns, line.split("\t"), strict=True))
                source, text = row.get("line", number), row["alignment"]
            else:
                entry = json.loads(line)
                source, text = entry["line"], entry["hypotheses"][0]["alignment"] if entry["hypotheses"] else ""
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise ValueError(f"{path}, line {number}: {line[:80]!r} is not what translate.py writes") from error
        if source != last:
            yield number, text
        last = source


def score_links(gold: Sequence[SentenceLinks], found: Sequence[frozenset[Link]]) -> LinkScores:
    """How good links are; sums run over the whole corpus before the one division.

    Args:
        gold: the standard.
        found: for each of its sentences the links to score.

    Raises:
        ValueError: there are not as many sentences.
    """
    if len(gold) != len(found):
        raise ValueError(f"{len(found)} sentences have links, the gold standard has {len(gold)}: give as many")
    num_links = sum(map(len, found))
    num_sure = sum(len(sentence.sure) for sentence in gold)
    sure_hits = sum(len(links & sentence.sure) for sentence, links in zip(gold, found, strict=True))
    possible_hits = sum(len(links & sentence.possible) for sentence, links in zip(gold, found, strict=True))
    return LinkScores(
        _share(possible_hits, num_links),
        _share(sure_hits, num_sure),
        1 - _share(sure_hits + possible_hits, num_links + num_sure),
        num_links,
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else float("nan")


def turned(links: frozenset[Link]) -> frozenset[Link]:
    """The links with source and target exchanged."""
    return frozenset((target, source) for source, target in links)


def grow_diag_final_and(forward: frozenset[Link], backward: frozenset[Link]) -> frozenset[Link]:
    """The links of two directions made into one set, between their intersection and their union.

    From the intersection it grows to neighbours, diagonal ones too, that are in the union and have a word without a
    link; then links of either direction are added whose words both have none. Target words are gone through first to
    last, and for each the source words.

    Args:
        forward: links (source, target).
        backward: of the other direction, also (source, target).

    Source:
        Koehn et al. 2005, "Edinburgh System Description for the 2005 IWSLT Speech Translation Evaluation".
    """
    union, result = forward | backward, set(forward & backward)
    sources, targets = {source for source, _ in result}, {target for _, target in result}

    def add(link: Link) -> None:
        result.add(link)
        sources.add(link[0])
        targets.add(link[1])

    grown = True
    while grown:
        grown = False
        due = [(target, source) for source, target in result]
        heapq.heapify(due)
        while due:
            place = heapq.heappop(due)
            for step in _NEIGHBOURS:
                target, source = place[0] + step[0], place[1] + step[1]
                link, is_free = (source, target), source not in sources or target not in targets
                if is_free and link in union and link not in result:
                    add(link)
                    grown = True
                    if (target, source) > place:  # this round comes to it yet
                        heapq.heappush(due, (target, source))
    for direction in (forward, backward):
        for source, target in sorted(direction, key=lambda link: (link[1], link[0])):
            if source not in sources and target not in targets:
                add((source, target))
    return frozenset(result)
