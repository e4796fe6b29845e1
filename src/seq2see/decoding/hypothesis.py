"""What decoding finds, and what all its methods share."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor

from seq2see.text import BOS, EOS, PAD


class Hypothesis(NamedTuple):
    """What a model answers to one source.

    Args:
        ids: target ids without BOS and EOS.
        score: summed log-probability of the ids, and of EOS if it was reached, nats.
        ended: whether EOS was reached before the length limit.
    """

    ids: list[int]
    score: float
    ended: bool

    def ranked_by(self, length_penalty: float) -> float:
        """Log-probability / length ** length_penalty, the length counted with EOS."""
        return penalised(self.score, len(self.ids) + self.ended, length_penalty)


def penalised(score: float, length: int, length_penalty: float) -> float:
    """What hypotheses of different lengths are ranked by."""
    return score / max(length, 1) ** length_penalty


@contextmanager
def evaluation_mode(model: torch.nn.Module) -> Iterator[None]:
    """No dropout and no gradients inside; the mode is put back after."""
    training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(training)


def limits_of(max_lengths: Sequence[int], src: Tensor) -> Tensor:
    """The limits of the rows of a source (B, S), int64 (B,).

    Raises:
        ValueError: there is not one for each row, or one is negative.
    """
    if len(max_lengths) != len(src):
        raise ValueError(f"max_lengths has {len(max_lengths)} limits for {len(src)} sources: give one for each")
    if min(max_lengths, default=0) < 0:
        raise ValueError(f"max_lengths ({min(max_lengths)}) must not be negative")
    return torch.tensor(max_lengths, device=src.device, dtype=torch.int64)


def next_log_probs(logits: Tensor) -> Tensor:
    """Log-probabilities (..., V) of the next token, float32 at least; PAD and BOS cannot be produced.

    Args:
        logits: (..., V); changed in place.
    """
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
    logits[..., [PAD, BOS]] = float("-inf")
    return torch.log_softmax(logits, dim=-1)


def allow_only_exact(log_probs: Tensor, limits: Tensor, step: int) -> Tensor:
    """Leaves EOS, and EOS alone, at the step at which a row's length is reached.

    What is left keeps its log-probability, so that a score stays that of the text under the model.

    Args:
        log_probs: (R, V); changed in place.
        limits: for each row its length, EOS included, int64 (R,).
        step: counted from 1.
    """
    ends = log_probs[:, EOS].clone()
    last = limits == step
    if last.any():
        log_probs[last] = float("-inf")
    log_probs[:, EOS] = ends.masked_fill(~last, float("-inf"))
    return log_probs
