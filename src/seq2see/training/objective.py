"""What is minimised, and what is reported beside it."""

from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

CHUNK = 2**24  # logits at a time, 64 MB: smaller products are slower (2**19: 231 ms where this took 137)


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


def label_smoothed_cross_entropy(states: Tensor, weight: Tensor, targets: Tensor, *, smoothing: float) -> Objective:
    """Cross entropy of the logits `states @ weight.T` against targets that give `smoothing` of their mass to all alike.

    Gradients take the place of the logits, and of many logits only a part is there at a time.

    Args:
        states: (N, D), what the decoder made of each real token: padding is left out.
        weight: (V, D), of the projection to the vocabulary.
        targets: int64 (N,).
        smoothing: 0 for plain cross entropy.

    Source:
        Szegedy et al. 2016, section 7.
    """
    objective, loss = _ChunkedCrossEntropy.apply(states, weight, targets, smoothing)  # pyright: ignore[reportGeneralTypeIssues]
    return Objective(objective, loss.detach(), len(targets))


class _ChunkedCrossEntropy(torch.autograd.Function):
    """Takes the gradients of each chunk of logits while it is at hand, in the place of the logits."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, targets: Tensor, smoothing: float) -> tuple[Tensor, Tensor]:
        kind = states.device.type
        dtype = torch.get_autocast_dtype(kind) if torch.is_autocast_enabled(kind) else states.dtype
        exact = torch.promote_types(dtype, torch.float32)
        vocab_size = len(weight)
        num_rows = max(CHUNK // vocab_size, 1)
        objective, loss = states.new_zeros((), dtype=exact), states.new_zeros((), dtype=exact)
        grad_states, grad_weight = torch.empty_like(states), torch.zeros_like(weight)
        with torch.autocast(kind, enabled=False):
            kernel = weight.to(dtype)
            for start in range(0, len(states), num_rows):
                rows, wanted = states[start : start + num_rows].to(dtype), targets[start : start + num_rows]
                log_probs = torch.log_softmax((rows @ kernel.t()).to(exact), dim=-1)
                here = torch.arange(len(rows), device=rows.device), wanted
                chunk_loss = -log_probs[here].sum()
                loss += chunk_loss
                objective += (1 - smoothing) * chunk_loss
                if smoothing:
                    objective -= smoothing / vocab_size * log_probs.sum()
                grad = log_probs.exp_().sub_(smoothing / vocab_size)
                grad[here] -= 1 - smoothing
                grad = grad.to(dtype)
                grad_states[start : start + num_rows] = grad @ kernel
                _add_product(grad_weight, grad.t(), rows)
        ctx.save_for_backward(grad_states, grad_weight)
        ctx.mark_non_differentiable(loss)
        return objective, loss

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad_objective: Tensor, grad_loss: Tensor) -> tuple[Tensor, Tensor, None, None]:
        grad_states, grad_weight = ctx.saved_tensors
        return grad_states * grad_objective, grad_weight * grad_objective, None, None


def _add_product(total: Tensor, left: Tensor, right: Tensor) -> None:
    """Adds `left @ right` to the total, without a product of its own in memory where the types allow it."""
    if total.dtype == left.dtype:
        total.addmm_(left, right)
    else:
        total += left @ right
