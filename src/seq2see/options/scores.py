"""All scores of outputs and of references: what is said, logged and chosen by follows from this table.

How one is computed stands in `evaluation/scores.py`.
"""

from typing import NamedTuple


class ScoreKind(NamedTuple):
    """How people read a score, and what it is good for."""

    label: str
    form: str = "{:.3f}"
    lower_is_better: bool = False
    is_forced: bool = False  # of the reference, when the model is told what came before; else of its own output
    can_choose: bool = True  # the best checkpoint, as `training.select`
    is_compared: bool = False  # a column of `scripts/compare.py`
    is_of_tokens: bool = False  # depends on how a target is cut into tokens


SCORES = {
    "exact_match": ScoreKind("exact match", is_compared=True),
    "bleu": ScoreKind("BLEU", "{:.1f}", is_compared=True),
    "chrf": ScoreKind("chrF", "{:.1f}", is_compared=True),
    "cer": ScoreKind("CER", lower_is_better=True),
    "wer": ScoreKind("WER", lower_is_better=True),
    "ser": ScoreKind("SER", lower_is_better=True, is_of_tokens=True),
    "loss": ScoreKind("loss", lower_is_better=True, is_forced=True, is_compared=True, is_of_tokens=True),
    "perplexity": ScoreKind("perplexity", lower_is_better=True, is_forced=True, can_choose=False, is_of_tokens=True),
    "token_accuracy": ScoreKind("token acc.", is_forced=True, is_of_tokens=True),
    "target_log_prob": ScoreKind("logp", "{:.2f}", is_forced=True, can_choose=False, is_compared=True),
}
