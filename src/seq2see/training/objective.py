"""What is minimised, and what is reported beside it."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn import functional as F

from seq2see.data import Batch
from seq2see.text import PAD
from seq2see.transformer import Transformer


class Objective(NamedTuple):
    """Sums over the real target tokens of a batch."""

    objective: Tensor  # label-smoothed cross entropy, nats; carries the gradient
    loss: Tensor  # plain cross entropy, nats; no gradient
    tokens: int  # how many, EOS included


class NotFinite(RuntimeError):
    """The loss or gradient of these training pairs is no number; the weights are still those after `step` steps."""

    def __init__(self, step: int, ids: list[int]) -> None:
        super().__init__(f"step {step + 1}: the loss or the gradient is not finite")
        self.step = step
        self.ids = ids


def objective_of(model: Transformer, batch: Batch, *, smoothing: float) -> Objective:
    """What a training step minimises: the model's logits of a batch on its device, and their cross entropy."""
    real = batch.tgt_out != PAD
    targets = batch.tgt_out[real]
    logits = model(batch.src, batch.src_mask, batch.tgt_in, real)  # (N, V)
    objective, loss = label_smoothed_cross_entropy(logits, targets, smoothing=smoothing)
    return Objective(objective, loss, len(targets))


def label_smoothed_cross_entropy(logits: Tensor, targets: Tensor, *, smoothing: float) -> tuple[Tensor, Tensor]:
    """Torch's cross entropy, smoothed, and plain without a gradient, both summed, from one softmax in float32 at least.

    Args:
        logits: (N, V).
        targets: int64 (N,).
        smoothing: share of each target's mass that goes to all symbols alike; 0 for plain cross entropy.

    Source:
        Szegedy et al. 2016, section 7.
    """
    dtype = torch.promote_types(logits.dtype, torch.float32)
    log_probs = torch.log_softmax(logits, dim=-1, dtype=dtype)
    objective = loss = F.nll_loss(log_probs, targets, reduction="sum")
    if smoothing:
        objective = (1 - smoothing) * loss - smoothing / logits.shape[-1] * log_probs.sum()
    return objective, loss.detach()
