"""The counts behind every score, sentence by sentence: a score of any set of sentences follows from their sums."""

from dataclasses import dataclass

import numpy as np
import sacrebleu

_BLEU, _CHRF = sacrebleu.BLEU(), sacrebleu.CHRF()  # their formulas alone; what is counted depends on the tokenizer
ZERO_TO_HUNDRED = ("bleu", "chrf")


@dataclass(frozen=True)
class SentenceCounts:
    """For each sentence the counts that scores are made of.

    Args:
        columns: by the score's name, float64 (N, k). For `bleu` and `chrf` what sacrebleu counts; for the others two: a
            sum, such as errors, and what it is divided by, such as characters.
    """

    columns: dict[str, np.ndarray]

    def __len__(self) -> int:
        return len(next(iter(self.columns.values())))

    def scores(self, rows: np.ndarray | None = None) -> dict[str, float]:
        """The scores of these sentences.

        Args:
            rows: their numbers, or True for each that is meant; None: all.
        """
        sums = {name: (column if rows is None else column[rows]).sum(0) for name, column in self.columns.items()}
        return {name: float(values[0]) for name, values in scores_of({n: s[None] for n, s in sums.items()}).items()}


def scores_of(sums: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The scores of sets of sentences; `perplexity` is added where there is a `loss`.

    Args:
        sums: each score's counts summed over each set, float64 (R, k).

    Returns:
        by the score's name, float64 (R,).
    """
    scores = {}
    for name, rows in sums.items():
        if name in ZERO_TO_HUNDRED:
            metric = _BLEU if name == "bleu" else _CHRF
            scores[name] = np.array([metric._compute_score_from_stats(row).score for row in rows.tolist()])
        else:
            scores[name] = rows[:, 0] / np.maximum(rows[:, 1], 1)
        if name == "loss":
            scores["perplexity"] = np.exp(np.minimum(scores[name], 700.0))
    return scores
