"""What is minimised, and what is reported beside it."""

from typing import NamedTuple

import torch
from torch import Tensor


class Objective(NamedTuple):
    """Sums over the real target tokens of a batch.

    Args:
        objective: label-smoothed cross entropy, nats; carries the gradient.
        loss: plain cross entropy, nats; no gradient.
        tokens: how many, EOS included.
    """

    objective: Tensor
    loss: Tensor
    tokens: int


def label_smoothed_cross_entropy(logits: Tensor, targets: Tensor, *, smoothing: float) -> Objective:
    """Cross entropy against targets that give `smoothing` of their mass to all symbols alike.

    Args:
        logits: (N, V), one row for each real token: padding is left out before the projection to V.
        targets: int64 (N,).
        smoothing: 0 for plain cross entropy.

    Source:
        Szegedy et al. 2016, section 7.
    """
    if not smoothing:
        loss = torch.nn.functional.cross_entropy(logits, targets, reduction="sum")
        return Objective(loss, loss.detach(), len(targets))
    log_probs = torch.log_softmax(logits, dim=-1)
    loss = -log_probs.gather(-1, targets[:, None]).sum()
    uniform = -log_probs.mean(dim=-1).sum()
    return Objective((1 - smoothing) * loss + smoothing * uniform, loss.detach(), len(targets))
