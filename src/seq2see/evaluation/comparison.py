"""Several systems on the same pairs: is a difference of their scores certain?"""

from collections.abc import Sequence
from typing import Any

import numpy as np

from seq2see.evaluation.evaluate import Evaluation
from seq2see.evaluation.scores import NUM_RESAMPLES, SentenceCounts, interval
from seq2see.options import SCORES

_OF_TOKENS = tuple(name for name, own in SCORES.items() if own.is_of_tokens)


def paired_tests(first: SentenceCounts, other: SentenceCounts) -> dict[str, dict[str, Any]]:
    """Whether another system is better on the same sentences, tested on the same resampled sets of them.

    Returns:
        by the score's name the `difference`, the other's score less the first's; the 95 % `interval` of the resampled
        differences; and `p`: how often a difference at least as large, in either direction, comes from the draw of
        sentences alone.

    Source:
        Koehn 2004, "Statistical Significance Tests for Machine Translation Evaluation", for the resampling; the p-value
        is that of the differences moved to a mean of zero (Efron and Tibshirani 1993, section 16.4), two-sided. Unlike
        sacrebleu's it is 1, not 0.001, for two equal systems.
    """
    of_first, of_other = first.scores(), other.scores()
    sets_of_first, sets_of_other = first.resampled(), other.resampled()
    tests = {}
    for name in (name for name in of_first if name in of_other):
        difference = of_other[name] - of_first[name]
        differences = sets_of_other[name] - sets_of_first[name]
        as_large = np.abs(differences - differences.mean()) >= abs(difference)
        p = (1 + int(as_large.sum())) / (1 + NUM_RESAMPLES)
        tests[name] = {"difference": difference, "interval": interval(differences), "p": p}
    return tests


def holm(p_values: Sequence[float]) -> list[float]:
    """The p-values of several tests, so that any of them is below 0.05 by chance in 5 % of such tables alone.

    Source:
        Holm 1979, "A Simple Sequentially Rejective Multiple Test Procedure".
    """
    adjusted, most = [0.0] * len(p_values), 0.0
    for rank, place in enumerate(sorted(range(len(p_values)), key=lambda place: p_values[place])):
        most = max(most, (len(p_values) - rank) * p_values[place])
        adjusted[place] = min(most, 1.0)
    return adjusted


def compare_evaluations(names: Sequence[str], evaluations: Sequence[Evaluation]) -> dict[str, Any]:
    """Each model against the first one, in plain values.

    Returns:
        `pairs`: how many; `checkpoints`: the names; `signatures`; `scores`, by name the value of each (None where it
        has none); `against_first`, for each but the first its paired tests; and `notes`: which scores were left out
        there, and why.

    Raises:
        ValueError: they have not translated the same pairs, or their scores were computed in different ways.
    """
    first, *others = evaluations
    notes, against_first = [], []
    for number, other in enumerate(others, start=2):
        _require_alike(names[0], first, names[number - 1], other)
        tests = paired_tests(first.counts, other.counts)
        if first.target_tokens != other.target_tokens:
            unknown = any(one.details["unknown"]["target"] for one in (first, other))  # easier than they should be
            left_out = (*_OF_TOKENS, "target_log_prob") if unknown else _OF_TOKENS
            notes.append(
                f"1 and {number} cut the targets into other tokens, so {', '.join(left_out)} are not comparable"
                + ("" if unknown else ": target_log_prob, of whole targets, is")
            )
            tests = {name: test for name, test in tests.items() if name not in left_out}
        against_first.append(tests)
    scores = dict.fromkeys(name for one in evaluations for name in one.scores)
    return {
        "pairs": len(first.pairs),
        "checkpoints": list(names),
        "signatures": first.details["signatures"],
        "scores": {name: [one.scores.get(name) for one in evaluations] for name in scores},
        "against_first": against_first,
        "notes": notes,
    }


def _require_alike(first_name: str, first: Evaluation, name: str, other: Evaluation) -> None:
    signatures = [one.details["signatures"] for one in (first, other)]
    if signatures[0] != signatures[1]:
        raise ValueError(
            f"ckpt: scores of {name} have the signatures {signatures[1]}, those of {first_name} {signatures[0]}: such "
            "scores cannot be compared"
        )
    pairs, others = ([pair[:2] for pair in one.pairs] for one in (first, other))
    if pairs != others:
        found = f"{len(others):,} pairs instead of {len(pairs):,}"
        if len(pairs) == len(others):
            found = f"pair {[a == b for a, b in zip(pairs, others, strict=True)].index(False) + 1:,} is another one"
        raise ValueError(
            f"ckpt: {name} would be scored on other pairs than {first_name} ({found}): set task.test=FILE, so that all "
            "are scored on the same"
        )
