"""Files of links against a gold standard, and two directions made into one."""

import math
from collections.abc import Sequence

from seq2see.maps.links import (
    Link,
    LinkScores,
    SentenceLinks,
    grow_diag_final_and,
    read_links,
    score_links,
    turned,
    written_by_translate,
)
from seq2see.options import AttentionOptions


def score_files(options: AttentionOptions) -> list[str]:
    """Precision, recall, error rate and number of links, as lines of a table.

    Raises:
        ValueError: a file cannot be read, a line is malformed, or the numbers of lines differ.
    """
    assert options.gold is not None and options.hypothesis is not None
    base = options.index_base
    gold = read_links(options.gold, index_base=base)
    forward = _links(options.hypothesis, options, gold)
    sets: dict[str, Sequence[frozenset[Link]]] = {"hypothesis": forward}
    notes = [f"  gold        {options.gold}: {_base(options.gold, base)}, {_size(gold)}"]
    notes.append(f"  hypothesis  {options.hypothesis}: {_base(options.hypothesis, base)}")
    if options.reverse is not None:
        backward = _links(options.reverse, options, gold)
        order = "read as source-target, as the hypothesis" if options.reverse_turned else "read as target-source"
        notes.append(f"  reverse     {options.reverse}: {_base(options.reverse, base)}, {order}")
        if not options.reverse_turned:
            backward = [turned(links) for links in backward]
        both = list(zip(forward, backward, strict=True))
        sets |= {
            "reverse": backward,
            "intersection": [one & other for one, other in both],
            "union": [one | other for one, other in both],
            "grow-diag-final-and": [grow_diag_final_and(one, other) for one, other in both],
        }
    lines = [f"  {'':<20}{'precision':>10}{'recall':>9}{'error rate':>12}{'links':>11}"]
    lines += [_row(name, score_links(gold, links)) for name, links in sets.items()]
    return [*notes, "", *lines]


def _links(path: str, options: AttentionOptions, gold: Sequence[SentenceLinks]) -> list[frozenset[Link]]:
    sentences = read_links(path, index_base=options.index_base)
    if len(sentences) != len(gold):
        raise ValueError(
            f"{path} has {len(sentences)} lines of links, {options.gold} has {len(gold)}: give one line for each "
            "sentence, an empty one where there are no links"
        )
    return [sentence.possible for sentence in sentences]


def _base(path: str, base: int) -> str:
    return "words count from 0 (written by translate.py)" if written_by_translate(path) else f"words count from {base}"


def _size(gold: Sequence[SentenceLinks]) -> str:
    sure = sum(len(sentence.sure) for sentence in gold)
    possible = sum(len(sentence.possible) for sentence in gold)
    return f"{len(gold):,} sentences, {sure:,} sure links, {possible - sure:,} only possible"


def _row(name: str, scores: LinkScores) -> str:
    precision, recall, rate = map(_figure, (scores.precision, scores.recall, scores.error_rate))
    return f"  {name:<20}{precision:>10}{recall:>9}{rate:>12}{scores.num_links:>11,}"


def _figure(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.4f}"
