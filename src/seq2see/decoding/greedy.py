"""One hypothesis a row, one token at a time, with a cache; rows leave the batch as they end."""

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from seq2see.decoding.hypothesis import Hypothesis, allow_only_exact, evaluation_mode, limits_of, next_log_probs
from seq2see.text import BOS, EOS
from seq2see.transformer import Transformer

Choose = Callable[[Tensor, Tensor, int], Tensor]
"""log-probabilities (R, V), which rows of the batch these are (R,), step from 0 -> the tokens to take, int64 (R,)."""


def most_probable(log_probs: Tensor, rows: Tensor, step: int) -> Tensor:
    """The most probable token of each row."""
    return log_probs.argmax(dim=-1)


def greedy(
    model: Transformer,
    src: Tensor,
    src_mask: Tensor,
    *,
    max_lengths: Sequence[int],
    exact_lengths: bool = False,
    choose: Choose = most_probable,
) -> list[Hypothesis]:
    """The most probable token at each step, for each row until EOS or its limit.

    Args:
        model: any `Transformer`; its mode is put back after.
        src: source ids, int64 (B, S).
        src_mask: bool (B, S), True = a real token.
        max_lengths: for each row the most tokens to produce, EOS included.
        exact_lengths: each row gets exactly that many, EOS being the last.
        choose: another choice than the most probable token, such as `Sampler`.

    Returns:
        B hypotheses, in the order of the rows.

    Raises:
        ValueError: `max_lengths` is not one number of at least 0 for each row.
    """
    num_rows = src.shape[0]
    ids: list[list[int]] = [[] for _ in range(num_rows)]
    scores = [0.0] * num_rows
    ended = [False] * num_rows
    with evaluation_mode(model):
        limits = limits_of(max_lengths, src)
        rows = torch.arange(num_rows, device=src.device)[limits > 0]
        limits, src_mask = limits[rows], src_mask[rows]
        memory = model.encode(src[rows], src_mask)
        cache = model.new_cache()
        tokens = torch.full((len(rows), 1), BOS, device=src.device)
        for step in range(1, max(max_lengths, default=0) + 1):
            log_probs = next_log_probs(model.decode(tokens, memory, src_mask, cache)[:, -1])  # (R, V)
            if exact_lengths:
                log_probs = allow_only_exact(log_probs, limits, step)
            token = choose(log_probs, rows, step - 1)
            taken = log_probs.gather(1, token[:, None])[:, 0]
            for row, log_prob, symbol in zip(rows.tolist(), taken.tolist(), token.tolist(), strict=True):
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
