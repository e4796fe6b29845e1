"""Hypotheses and references in, scores out, and what is behind them."""

from seq2see.evaluation.baselines import Baselines, make_baselines, nearest_sources
from seq2see.evaluation.bootstrap import PairedTest, interval, intervals, paired_tests, resampled
from seq2see.evaluation.breakdown import by_confidence, by_length
from seq2see.evaluation.comparison import System, compare_systems
from seq2see.evaluation.counts import SentenceCounts
from seq2see.evaluation.edits import Edits, edit_counts
from seq2see.evaluation.evaluate import Evaluation, evaluate_pairs
from seq2see.evaluation.kinds import Kind, error_kinds
from seq2see.evaluation.references import References, as_scored, tokens_in_place
from seq2see.evaluation.scorer import BleuTokenizer, Scorer, one_line

__all__ = [
    "Baselines",
    "BleuTokenizer",
    "Edits",
    "Evaluation",
    "Kind",
    "PairedTest",
    "References",
    "Scorer",
    "SentenceCounts",
    "System",
    "as_scored",
    "by_confidence",
    "by_length",
    "compare_systems",
    "edit_counts",
    "error_kinds",
    "evaluate_pairs",
    "interval",
    "intervals",
    "make_baselines",
    "nearest_sources",
    "one_line",
    "paired_tests",
    "resampled",
    "tokens_in_place",
]
