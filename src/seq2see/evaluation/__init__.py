"""Hypotheses and references in, scores out."""

from seq2see.evaluation.forced import TokenTotals, teacher_forced, token_totals
from seq2see.evaluation.scores import error_rates, signatures, text_scores

__all__ = ["TokenTotals", "error_rates", "signatures", "teacher_forced", "text_scores", "token_totals"]
