"""How sure a score is: the same sentences drawn again and again, with replacement."""

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from seq2see.evaluation.counts import SentenceCounts, scores_of

NUM_RESAMPLES = 1_000
_SEED = 12_345  # sacrebleu's, and drawn as it draws, so that intervals of `bleu` and `chrf` are those of its bootstrap
_DRAWS = 1 << 20  # at a time


class PairedTest(NamedTuple):
    """Whether another system is better on the same sentences.

    Args:
        difference: the other's score less the first's.
        interval: 95 % of the resampled differences lie between these.
        p: how often a difference at least as large, in either direction, comes from the draw of sentences alone.
    """

    difference: float
    interval: tuple[float, float]
    p: float


def resampled(counts: SentenceCounts) -> dict[str, np.ndarray]:
    """The scores of `NUM_RESAMPLES` sets of as many sentences; the same sets for the same number of sentences.

    Returns:
        by the score's name, float64 (R,).
    """
    widths = [column.shape[1] for column in counts.columns.values()]
    table = np.concatenate(list(counts.columns.values()), axis=1)  # (N, sum of k)
    sums = np.concatenate([times @ table for times in _times_drawn(len(counts))])
    return scores_of(dict(zip(counts.columns, np.split(sums, np.cumsum(widths)[:-1], axis=1), strict=True)))


def _times_drawn(num_sentences: int) -> Iterator[np.ndarray]:
    """How often each sentence is in each set, float64 (some sets, N)."""
    random = np.random.default_rng(_SEED)
    at_once = max(_DRAWS // num_sentences, 1)
    for begin in range(0, NUM_RESAMPLES, at_once):
        num_sets = min(at_once, NUM_RESAMPLES - begin)
        drawn = random.choice(num_sentences, size=(num_sets, num_sentences), replace=True)
        drawn += num_sentences * np.arange(num_sets)[:, None]
        times = np.bincount(drawn.ravel(), minlength=num_sets * num_sentences)
        yield times.reshape(num_sets, num_sentences).astype(np.float64)


def interval(values: np.ndarray) -> tuple[float, float]:
    """The 2.5 and 97.5 percentiles: a 95 % interval.

    Source:
        Efron and Tibshirani 1993, "An Introduction to the Bootstrap", section 13.3.
    """
    low, high = np.percentile(values, [2.5, 97.5])
    return float(low), float(high)


def intervals(counts: SentenceCounts) -> dict[str, tuple[float, float]]:
    """The 95 % interval of every score."""
    return {name: interval(values) for name, values in resampled(counts).items()}


def paired_tests(first: SentenceCounts, other: SentenceCounts) -> dict[str, PairedTest]:
    """Each score's difference, tested on the same resampled sets of sentences.

    Args:
        first: of the system that is compared with.
        other: of the other system, on the same sentences.

    Source:
        Koehn 2004, "Statistical Significance Tests for Machine Translation Evaluation", for the resampling; the p-value
        is that of the differences moved to a mean of zero (Efron and Tibshirani 1993, section 16.4), two-sided. Unlike
        sacrebleu's it is 1, not 0.001, for two equal systems.
    """
    assert len(first) == len(other)
    of_first, of_other = first.scores(), other.scores()
    sets_of_first, sets_of_other = resampled(first), resampled(other)
    tests = {}
    for name in of_first:
        if name not in of_other:
            continue
        difference = of_other[name] - of_first[name]
        differences = sets_of_other[name] - sets_of_first[name]
        as_large = np.abs(differences - differences.mean()) >= abs(difference)
        p = (1 + int(as_large.sum())) / (1 + NUM_RESAMPLES)
        tests[name] = PairedTest(difference, interval(differences), p)
    return tests
