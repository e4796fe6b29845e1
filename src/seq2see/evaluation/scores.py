"""Free-running scores: what the model wrote against the references, under the names and scales of the whole project."""

from collections.abc import Sequence

import sacrebleu
from torchmetrics.functional.text import char_error_rate, word_error_rate


def text_scores(hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """Scores over a whole set.

    Args:
        hypotheses: what the model wrote.
        references: what it should have written; as many.

    Returns:
        `exact_match` (0-1), `bleu` and `chrf` (0-100, sacrebleu); empty if there is nothing to score.
    """
    if not references:
        return {}
    pairs = list(zip(hypotheses, references, strict=True))
    return {
        "exact_match": sum(hypothesis == reference for hypothesis, reference in pairs) / len(pairs),
        "bleu": _bleu().corpus_score(list(hypotheses), [list(references)]).score,
        "chrf": sacrebleu.CHRF().corpus_score(list(hypotheses), [list(references)]).score,
    }


def error_rates(hypotheses: Sequence[str], references: Sequence[str]) -> dict[str, float]:
    """`cer` and `wer`, character and word error rates (torchmetrics; 0 is perfect); empty without anything to score."""
    if not references:
        return {}
    hypotheses, references = list(hypotheses), list(references)
    return {
        "cer": float(char_error_rate(hypotheses, references)),
        "wer": float(word_error_rate(hypotheses, references)),
    }


def signatures() -> dict[str, str]:
    """How `bleu` and `chrf` are computed, in sacrebleu's own words."""
    metrics = {"bleu": _bleu(), "chrf": sacrebleu.CHRF()}
    for metric in metrics.values():
        metric.corpus_score(["a b c d"], [["a b c d"]])  # a signature is known after a score
    return {name: str(metric.get_signature()) for name, metric in metrics.items()}


def _bleu() -> sacrebleu.BLEU:
    return sacrebleu.BLEU(force=True)  # no complaint about text that looks tokenised: generated tasks are
