"""Scores of a trained model: of any pairs from Python, and of a checkpoint's own splits or other data for a command."""

from seq2see.runs.evaluate.checkpoints import command, evaluate, evaluate_several
from seq2see.runs.evaluate.evaluation import Evaluation, evaluate_pairs

__all__ = ["Evaluation", "command", "evaluate", "evaluate_pairs", "evaluate_several"]
