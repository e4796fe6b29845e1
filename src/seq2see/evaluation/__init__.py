"""Hypotheses and references in, scores out, and what is behind them."""

from seq2see.evaluation.comparison import compare_evaluations
from seq2see.evaluation.evaluate import Evaluation, evaluate_pairs
from seq2see.evaluation.references import References, one_line
from seq2see.evaluation.scores import SentenceCounts

__all__ = ["Evaluation", "References", "SentenceCounts", "compare_evaluations", "evaluate_pairs", "one_line"]
