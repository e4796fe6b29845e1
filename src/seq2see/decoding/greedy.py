"""Greedy decoding: at each step the most probable token, with a cache, and rows leave the batch as they end."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

import torch
from torch import Tensor

from seq2see.text import BOS, EOS, PAD
from seq2see.transformer import Transformer


class Hypothesis(NamedTuple):
    """What a model answers to one source.

    Args:
        ids: target ids without BOS and EOS.
        score: summed log-probability of the ids and EOS, nats.
        ended: whether EOS was reached before the length limit.
    """

    ids: list[int]
    score: float
    ended: bool


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


def greedy(model: Transformer, src: Tensor, src_mask: Tensor, *, max_lengths: Sequence[int]) -> list[Hypothesis]:
    """The most probable token at each step, for each row until EOS or its limit.

    Args:
        model: any `Transformer`; its mode is put back after.
        src: source ids, int64 (B, S).
        src_mask: bool (B, S), True = a real token.
        max_lengths: for each row the most tokens to produce, EOS included.

    Returns:
        B hypotheses, in the order of the rows.
    """
    num_rows = src.shape[0]
    ids: list[list[int]] = [[] for _ in range(num_rows)]
    scores = [0.0] * num_rows
    ended = [False] * num_rows
    with evaluation_mode(model):
        memory = model.encode(src, src_mask)
        cache = model.new_cache()
        rows = torch.arange(num_rows, device=src.device)
        limits = torch.tensor(max_lengths, device=src.device)
        tokens = torch.full((num_rows, 1), BOS, device=src.device)
        for step in range(1, max(max_lengths, default=0) + 1):
            log_probs = next_log_probs(model.decode(tokens, memory, src_mask, cache)[:, -1])  # (rows, V)
            best, token = log_probs.max(dim=-1)
            for row, log_prob, symbol in zip(rows.tolist(), best.tolist(), token.tolist(), strict=True):
                scores[row] += log_prob
                if symbol == EOS:
                    ended[row] = True
                else:
                    ids[row].append(symbol)
            going = (token != EOS) & (limits > step)
            if not going.all():
                if not going.any():
                    break
                rows, limits, token = rows[going], limits[going], token[going]
                memory, src_mask = memory[going], src_mask[going]
                cache.select(going)
            tokens = token[:, None]
    return [Hypothesis(*row) for row in zip(ids, scores, ended, strict=True)]


def next_log_probs(logits: Tensor) -> Tensor:
    """Log-probabilities (..., V) of the next token, float32 at least; PAD and BOS cannot be produced."""
    logits = logits.to(torch.promote_types(logits.dtype, torch.float32)).clone()
    logits[..., [PAD, BOS]] = float("-inf")
    return torch.log_softmax(logits, dim=-1)
