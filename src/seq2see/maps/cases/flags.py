"""Signs of trouble in a cross map of an output, and how well they tell wrong outputs from right ones.

All three are known from the search for translations that have lost touch with their source (Guerreiro, Voita and
Martins 2023, "Looking for a Needle in a Haystack: A Comprehensive Study of Hallucinations in Neural Machine
Translation"), where attention alone is a weak sign. So none is believed here: each is measured.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

SEEN = 0.2  # attention that a source word must get, summed over all rows, to count as looked at
GRID = np.linspace(0, 1, 101)  # places in the source, from its beginning to its end
NORMAL = 1.959964  # standard deviations on either side that hold 95 %


class Flags(NamedTuple):
    """Signs of trouble in one map; more is worse.

    Args:
        unattended: share of the source words that are never attended to.
        eos_mass: attention on the source's EOS, mean over the rows that predict a token other than EOS.
        distance: how far the map's spread over the source is from the usual one, in lengths of the source, 0 to 1.
    """

    unattended: float
    eos_mass: float
    distance: float


def unattended_words(weights: NDArray, source_words: Sequence[int]) -> list[int]:
    """The numbers of the source words that get less than `SEEN` from all rows together.

    Args:
        weights: (T, S), both with EOS.
        source_words: the word number of each source token, EOS left out.

    Source:
        Berard, Calapodescu and Roux 2019, "Naver Labs Europe's Systems for the WMT19 Machine Translation Robustness
        Task", for counting source words with little attention; ours are words, theirs tokens.
    """
    if not len(source_words):
        return []
    mass = np.bincount(np.asarray(source_words), weights=weights[:, :-1].sum(0))
    return np.flatnonzero(mass < SEEN).tolist()


def eos_mass(weights: NDArray) -> float:
    """Attention on the source's EOS; the row that predicts EOS is left out, if there is another one."""
    rows = weights[:-1] if len(weights) > 1 else weights
    return float(rows[:, -1].mean())


def spread(weights: NDArray) -> NDArray[np.float64]:
    """How much of a map's attention lies before each place of `GRID`: (101,), from 0 to 1."""
    share = weights.mean(0, dtype=np.float64)
    before = np.concatenate([[0.0], np.cumsum(share)])
    return np.interp(GRID, np.linspace(0, 1, len(before)), before / max(before[-1], 1e-12))


def distance(own: NDArray, usual: NDArray) -> float:
    """The Wasserstein distance between two spreads, in lengths of the source.

    Source:
        Guerreiro et al. 2023, "Optimal Transport for Unsupervised Hallucination Detection in Neural Machine
        Translation". They compare with single good translations of held-out data; here the usual spread is the mean
        over the scored outputs, right and wrong.
    """
    return float(np.trapezoid(np.abs(own - usual), GRID))


def flags_of(weights: NDArray, source_words: Sequence[int], usual: NDArray) -> Flags:
    """All flags of a map; arguments as above, `usual` a mean of `spread`."""
    num_words = len(set(source_words))
    unattended = len(unattended_words(weights, source_words)) / num_words if num_words else 0.0
    return Flags(unattended, eos_mass(weights), distance(spread(weights), usual))


def predicts(values: Sequence[float], wrong: Sequence[bool]) -> dict[str, Any]:
    """How well a flag tells wrong outputs from right ones.

    Args:
        values: the flag of each output; more is meant to be worse.
        wrong: for each output whether it is wrong.

    Returns:
        `area_under_curve`, under the receiver operating characteristic: how often a wrong output has more of the flag
        than a right one; its `interval` of 95 %; both None where there are only wrong or only right ones; and a
        `verdict` in words.

    Source:
        The area as a Mann-Whitney statistic, ties counted half: Hanley and McNeil 1982. Its interval: method 5 of
        Newcombe 2006, "Confidence Intervals for an Effect Size Measure Based on the Mann-Whitney Statistic. Part 2",
        which stays honest for few outputs and for an area of 0 or 1.
    """
    is_wrong, flag = np.asarray(wrong, bool), np.asarray(values, np.float64)
    bad, good = flag[is_wrong], np.sort(flag[~is_wrong])
    if not len(bad) or not len(good):
        verdict = f"cannot be said: there is no {'right' if len(bad) else 'wrong'} output"
        return {"area_under_curve": None, "interval": None, "verdict": verdict}
    below = np.searchsorted(good, bad, "left") + np.searchsorted(good, bad, "right")
    area = float(below.sum()) / (2 * len(bad) * len(good))
    low, high = _interval(area, len(bad), len(good))
    if low <= 0.5 <= high:
        verdict = "does not predict wrong outputs"
    elif low > 0.5:
        verdict = "is higher for wrong outputs" if area < 0.8 else "is much higher for wrong outputs"
    else:
        verdict = "is lower for wrong outputs, the other way round than meant"
    return {"area_under_curve": area, "interval": [low, high], "verdict": verdict}


def _interval(area: float, num_bad: int, num_good: int) -> tuple[float, float]:
    """The least and the largest true area that the measured one is not too far from."""
    true = np.linspace(0, 1, 100_001)
    extra = (num_bad + num_good) / 2 - 1
    variance = 1 + extra * ((1 - true) / (2 - true) + true / (1 + true))
    deviations = np.sqrt(true * (1 - true) * variance / (num_bad * num_good))
    near = true[np.abs(area - true) <= NORMAL * deviations]
    return float(near.min(initial=area)), float(near.max(initial=area))


def report(flags: Sequence[Flags], wrong: Sequence[bool]) -> dict[str, dict[str, Any]]:
    """What `predicts` says of each flag, by its name."""
    return {name: predicts([getattr(own, name) for own in flags], wrong) for name in Flags._fields}
