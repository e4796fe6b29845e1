"""The scores of parts of a set: by length, and of the outputs that the model is surest of."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from seq2see.evaluation.counts import SentenceCounts

_NUM_BINS = 5
_COVERAGES = tuple(tenth / 10 for tenth in range(1, 11))
_WANTED = 0.95  # share of right outputs at which the coverage is told


def by_length(lengths: Sequence[int], counts: SentenceCounts) -> list[dict[str, Any]]:
    """The scores of sentences of similar lengths: five bins of about as many sentences each, or fewer.

    Args:
        lengths: of each sentence, in any unit; equal ones stay together.
        counts: of the sentences.

    Returns:
        for each bin, shortest first, `from` and `to` (both included), `sentences` and the scores.
    """
    values = np.asarray(lengths)
    shares = np.arange(1, _NUM_BINS + 1) / _NUM_BINS
    ends = np.unique(np.quantile(values, shares, method="inverted_cdf"))
    numbers = np.searchsorted(ends, values)
    bins = []
    for number in range(len(ends)):
        inside = numbers == number
        own = values[inside]
        bins.append({"from": int(own.min()), "to": int(own.max()), "sentences": len(own), **counts.scores(inside)})
    return bins


def by_confidence(log_probs: Sequence[float], right: Sequence[bool]) -> dict[str, Any]:
    """How many outputs are right among those that the model is surest of.

    Args:
        log_probs: of each output its mean log-probability a token, nats: how sure the model is.
        right: whether the output is.

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
