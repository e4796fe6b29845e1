"""Teacher-forced scores: how probable are the references, token by token, when the model is told what came before."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional as F

from seq2see.data import Batch
from seq2see.decoding import Hypothesis, evaluation_mode
from seq2see.text import EOS, PAD
from seq2see.transformer import Transformer


class Forced(NamedTuple):
    """Sums over the real target tokens of each pair, EOS included, so that nothing depends on how pairs were batched.

    Args:
        loss: negative log-likelihood, nats, float64 (N,).
        correct: tokens whose most probable symbol is the reference's, float64 (N,).
        tokens: how many, float64 (N,).
    """

    loss: np.ndarray
    correct: np.ndarray
    tokens: np.ndarray

    def columns(self, groups: Sequence[Sequence[int]]) -> dict[str, np.ndarray]:
        """The counts behind `loss` and `token_accuracy`, as `SentenceCounts` keeps them.

        Args:
            groups: for each sentence the pairs that belong to it.
        """
        loss, correct, tokens = (np.array([column[list(own)].sum() for own in groups]) for column in self)
        return {"loss": np.stack([loss, tokens], axis=1), "token_accuracy": np.stack([correct, tokens], axis=1)}


def token_totals(logits: Tensor, tgt_out: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Summed loss, number of correct tokens and number of tokens, as scalars.

    Args:
        logits: (B, T, V).
        tgt_out: int64 (B, T), PAD where nothing is to be predicted.
    """
    rows, targets = _real_rows(logits, tgt_out)
    correct = (rows.argmax(-1) == targets).sum()
    return F.cross_entropy(rows, targets, reduction="sum"), correct, (tgt_out != PAD).sum()


def _real_rows(logits: Tensor, tgt_out: Tensor) -> tuple[Tensor, Tensor]:
    """Logits (tokens, V), float32 at least, and targets (tokens,), of the real tokens."""
    real = tgt_out != PAD
    rows = logits[real]
    return rows.to(torch.promote_types(rows.dtype, torch.float32)), tgt_out[real]


def teacher_forced(model: Transformer, batches: Iterable[Batch]) -> Forced:
    """The sums of all pairs, in the order of the batches' `ids`, on the model's device."""
    device = next(model.parameters()).device
    ids, sums = [], []
    with evaluation_mode(model):
        for batch in batches:
            src, src_mask, tgt_in = batch.src.to(device), batch.src_mask.to(device), batch.tgt_in.to(device)
            rows, targets = _real_rows(model(src, src_mask, tgt_in), batch.tgt_out.to(device))
            losses, correct = F.cross_entropy(rows, targets, reduction="none"), rows.argmax(-1) == targets
            real = batch.tgt_out != PAD
            of_tokens = torch.zeros(*real.shape, 3, dtype=torch.float64)
            of_tokens[real] = torch.stack([part.cpu().double() for part in (losses, correct, targets > PAD)], dim=1)
            ids.append(batch.ids.numpy())
            sums.append(of_tokens.sum(1).numpy())
    if not ids:
        return Forced(*np.zeros((3, 0)))
    return Forced(*np.concatenate(sums)[np.argsort(np.concatenate(ids))].T)


def tokens_in_place(hypothesis: Hypothesis, reference: Sequence[int]) -> int:
    """Reference tokens, EOS included, that stand at their very place in a free-running output.

    What `token_accuracy` counts when the model is not told what came before: after a token too many or too few, hardly
    any stands in its place.

    Args:
        hypothesis: the output.
        reference: target ids without BOS and EOS.
    """
    written = [*hypothesis.ids, EOS] if hypothesis.ended else hypothesis.ids
    return sum(own == other for own, other in zip(written, [*reference, EOS], strict=False))
