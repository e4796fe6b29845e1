"""What is behind the scores: by length, by the model's own certainty, and what went wrong in each wrong output."""

from collections.abc import Iterator, Sequence
from enum import Enum
from typing import Any

import numpy as np
from rapidfuzz.distance import Levenshtein

from seq2see.decoding import Hypothesis
from seq2see.evaluation.scores import SentenceCounts
from seq2see.text import EOS

_NUM_BINS = 5
_COVERAGES = tuple(tenth / 10 for tenth in range(1, 11))
_WANTED = 0.95  # share of right outputs at which the coverage is told
_LONGEST_BLOCK = 20  # units of a repeated block
_CHANGE = 1 << 20  # cost of a substitution
_GAP = _CHANGE + 1  # of an omission or insertion: of the shortest edits, those with the fewest of these are counted


def by_length(lengths: Sequence[int], counts: SentenceCounts) -> list[dict[str, Any]]:
    """The scores of sentences of similar lengths: five bins of about as many sentences each, or fewer.

    Sentences of one length stay together. Each bin, shortest first, has `from` and `to` (both included), `sentences`
    and the scores.
    """
    values = np.asarray(lengths)
    ends = np.unique(np.quantile(values, np.arange(1, _NUM_BINS + 1) / _NUM_BINS, method="inverted_cdf"))
    numbers = np.searchsorted(ends, values)
    bins = []
    for number in range(len(ends)):
        inside = numbers == number
        own = values[inside]
        bins.append({"from": int(own.min()), "to": int(own.max()), "sentences": len(own), **counts.scores(inside)})
    return bins


def by_confidence(log_probs: Sequence[float], right: Sequence[bool]) -> dict[str, Any]:
    """How many outputs are right among those that the model is surest of, by mean log-probability a token, nats.

    Returns:
        `curve`: for the surest tenth, two tenths and so on, their `coverage`, `exact_match` and the lowest `log_prob`;
        `area`: mean exact match over all coverages (1 is perfect; a model that cannot tell its errors gets its exact
        match); `coverage_at_95`: the largest coverage at which 95 % are right, 0 if there is none, and the lowest
        `log_prob_at_95` there.
    """
    sure = np.asarray(log_probs)
    order = np.argsort(-sure, kind="stable")
    sure = sure[order]
    share = np.cumsum(np.asarray(right, dtype=np.float64)[order]) / np.arange(1, len(sure) + 1)
    curve = []
    for coverage in _COVERAGES:
        last = int(np.ceil(coverage * len(sure) - 1e-9)) - 1
        curve.append({"coverage": coverage, "exact_match": float(share[last]), "log_prob": float(sure[last])})
    enough = np.flatnonzero(share >= _WANTED)
    return {
        "curve": curve,
        "area": float(share.mean()),
        "coverage_at_95": (int(enough[-1]) + 1) / len(sure) if len(enough) else 0.0,
        "log_prob_at_95": float(sure[enough[-1]]) if len(enough) else None,
    }


def tokens_in_place(hypothesis: Hypothesis, reference: Sequence[int]) -> int:
    """Reference tokens, EOS included, that stand at their very place in a free-running output.

    What `token_accuracy` counts when the model is not told what came before: after a token too many or too few, hardly
    any stands in its place.
    """
    written = [*hypothesis.ids, EOS] if hypothesis.ended else hypothesis.ids
    return sum(own == other for own, other in zip(written, [*reference, EOS], strict=False))


class Kind(Enum):
    """The main kind of error of an output; the first that holds, from top to bottom.

    Units are words or characters; "shortest edits" are the fewest substitutions, omissions and insertions that make
    the output of the reference, those with the most substitutions if there are several.
    """

    unknown_symbol = "unknown symbol"  # UNK is in it, so that it cannot be right
    stopped_early = "stopped early"  # the beginning of the reference, or empty
    swap = "swap"  # the reference's units, each as often, in another order
    repetition = "repetition"  # a block of units twice running; without the second all of them would be fewer errors
    substitution = "substitution"  # the most frequent of the shortest edits, as the next two; the first of equal ones
    omission = "omission"
    insertion = "insertion"


def kind_of_error(output: str, reference: str, *, has_unknown: bool, characters: bool) -> Kind | None:
    """The main kind of error of an output; None where it is right.

    Units are `characters`, or words, as white space separates them (where two texts differ in white space alone,
    characters too).
    """
    if output == reference:
        return None
    units, right = (list(output), list(reference)) if characters else (output.split(), reference.split())
    if units == right:
        units, right = list(output), list(reference)
    if has_unknown:
        return Kind.unknown_symbol
    if units == right[: len(units)]:
        return Kind.stopped_early
    if sorted(units) == sorted(right):
        return Kind.swap
    errors, gaps = divmod(Levenshtein.distance(units, right, weights=(_GAP, _GAP, _CHANGE)), _CHANGE)
    for begin, length in _repeated_blocks(units):
        if Levenshtein.distance(units[:begin] + units[begin + length :], right) == errors - length:
            return Kind.repetition
    insertions = (gaps + len(units) - len(right)) // 2
    counts = {Kind.substitution: errors - gaps, Kind.omission: gaps - insertions, Kind.insertion: insertions}
    return max(counts, key=lambda kind: counts[kind])


def _repeated_blocks(units: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Begin and length of blocks that directly follow themselves, one for each run of repetitions."""
    for length in range(1, min(len(units) // 2, _LONGEST_BLOCK) + 1):
        same = 0
        for place in range(len(units) - length):
            same = same + 1 if units[place] == units[place + length] else 0
            if same == length:
                yield place + 1 - length, length
