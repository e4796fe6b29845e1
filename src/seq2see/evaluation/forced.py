"""Teacher-forced scores: how probable are the references, token by token, when the model is told what came before."""

import math
from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from seq2see.data import Batch
from seq2see.decoding import evaluation_mode
from seq2see.text import PAD
from seq2see.transformer import Transformer


class TokenTotals(NamedTuple):
    """Sums over real target tokens, EOS included, so that no mean depends on how pairs were batched.

    Args:
        loss: negative log-likelihood, nats.
        correct: tokens whose most probable symbol is the reference's.
        tokens: how many.
    """

    loss: float = 0.0
    correct: float = 0.0
    tokens: float = 0.0

    def scores(self) -> dict[str, float]:
        """`loss` (nats a token), `perplexity`, `token_accuracy`; nothing if there is no token."""
        if not self.tokens:
            return {}
        loss = self.loss / self.tokens
        return {
            "loss": loss,
            "perplexity": math.exp(min(loss, 700.0)),
            "token_accuracy": self.correct / self.tokens,
        }


def token_totals(logits: Tensor, tgt_out: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Summed loss, number of correct tokens and number of tokens, as scalars.

    Args:
        logits: (B, T, V).
        tgt_out: int64 (B, T), PAD where nothing is to be predicted.
    """
    real = tgt_out != PAD
    rows, targets = logits[real], tgt_out[real]
    rows = rows.to(torch.promote_types(rows.dtype, torch.float32))
    return F.cross_entropy(rows, targets, reduction="sum"), (rows.argmax(-1) == targets).sum(), real.sum()


def teacher_forced(model: Transformer, batches: Iterable[Batch]) -> TokenTotals:
    """The totals over all batches, on the model's device."""
    device = next(model.parameters()).device
    loss = correct = tokens = 0.0
    with evaluation_mode(model):
        for batch in batches:
            src, src_mask, tgt_in = batch.src.to(device), batch.src_mask.to(device), batch.tgt_in.to(device)
            totals = token_totals(model(src, src_mask, tgt_in), batch.tgt_out.to(device))
            loss, correct, tokens = (
                sum_ + float(new) for sum_, new in zip((loss, correct, tokens), totals, strict=True)
            )
    return TokenTotals(loss, correct, tokens)
