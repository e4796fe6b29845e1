"""Scores of a checkpoint on its own splits or other data, and of several checkpoints side by side."""

from seq2see.runs.evaluate.checkpoints import command, evaluate, evaluate_several, write

__all__ = ["command", "evaluate", "evaluate_several", "write"]
