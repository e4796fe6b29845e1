"""Hypotheses and references in, scores out."""

from seq2see.evaluation.forced import TokenTotals, teacher_forced, token_totals
from seq2see.evaluation.scores import signatures, text_scores

__all__ = ["TokenTotals", "signatures", "teacher_forced", "text_scores", "token_totals"]
