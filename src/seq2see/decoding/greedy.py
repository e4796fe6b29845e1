"""One hypothesis a row, one token at a time, with a cache; rows leave the batch as they end.

The token is the most probable one, or is drawn at random, as probable as the model says, and repeatably.
"""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from torch import Tensor

from seq2see.decoding.constraints import Restriction
from seq2see.decoding.ensemble import Predictor
from seq2see.decoding.hypothesis import Hypothesis, best_first, evaluation_mode, most_ids, next_log_probs
from seq2see.options import DecodeOptions
from seq2see.text import BOS, EOS

Choose = Callable[[Tensor, Tensor], Tensor]
"""log-probabilities (R, V), which rows of the batch these are (R,) -> the tokens to take, int64 (R,)."""


def most_probable(log_probs: Tensor, rows: Tensor) -> Tensor:
    """The most probable token of each row."""
    return log_probs.argmax(dim=-1)


def greedy(
    model: Predictor,
    src: Tensor,
    src_mask: Tensor,
    *,
    max_lengths: Sequence[int],
    choose: Choose = most_probable,
    restriction: Restriction | None = None,
) -> list[Hypothesis]:
    """The most probable token at each step, for each row until EOS or its limit.

    Args:
        model: any `Transformer` or `Ensemble`; its mode is put back after.
        src: source ids, int64 (B, S).
        src_mask: bool (B, S), True = a real token.
        max_lengths: for each row the most tokens to produce, EOS included.
        choose: another choice than the most probable token, such as a `Sampler`.
        restriction: what may be written.
    """
    num_rows = src.shape[0]
    ids: list[list[int]] = [[] for _ in range(num_rows)]
    scores, ended = [0.0] * num_rows, [False] * num_rows
    with evaluation_mode(model):
        limits = torch.tensor(max_lengths, device=src.device, dtype=torch.int64)
        rows = torch.arange(num_rows, device=src.device)[limits > 0]
        limits, src_mask = limits[rows], src_mask[rows]
        memory = model.encode(src[rows], src_mask)
        cache, longest = model.new_cache(), most_ids(model)
        tokens = torch.full((len(rows), 1), BOS, device=src.device)
        states = None if restriction is None else restriction.begin[rows]
        for step in range(1, max(max_lengths, default=0) + 1):
            log_probs = next_log_probs(model.decode(tokens, memory, src_mask, cache)[:, -1])  # (R, V)
            if restriction is not None and states is not None:
                following = restriction.restrict(log_probs, states, rows, limits.clamp(max=longest) - step)
                states = following.gather(1, (token := choose(log_probs, rows))[:, None])[:, 0]
            else:
                token = choose(log_probs, rows)
            taken = log_probs.gather(1, token[:, None])[:, 0]
            for row, log_prob, symbol in zip(rows.tolist(), taken.tolist(), token.tolist(), strict=True):
                if symbol == EOS:
                    ended[row] = True
                elif step <= longest:
                    ids[row].append(symbol)
                else:
                    continue
                scores[row] += log_prob
            going = (token != EOS) & (limits > step)
            if not going.all():
                if not going.any():
                    break
                rows, limits, token = rows[going], limits[going], token[going]
                memory, src_mask = memory[going], src_mask[going]
                states = states if states is None else states[going]
                cache.select(going)
            tokens = token[:, None]
    return [Hypothesis(*row) for row in zip(ids, scores, ended, strict=True)]


def sample(
    model: Predictor,
    src: Tensor,
    src_mask: Tensor,
    *,
    max_lengths: Sequence[int],
    numbers: Sequence[int],
    options: DecodeOptions,
    restriction: Restriction | None = None,
) -> list[list[Hypothesis]]:
    """For each row `options.num_best` independent samples, best first; the rest as in `greedy`.

    Its draws follow from its number among `numbers`, such as that of its line; `options` leave nothing open. A
    restriction is of as many rows as there are samples.
    """
    count = options.num_best
    assert count and options.length_penalty is not None
    found = greedy(
        model,
        src.repeat_interleave(count, 0),
        src_mask.repeat_interleave(count, 0),
        max_lengths=[length for length in max_lengths for _ in range(count)],
        choose=Sampler(options, [number * count + copy for number in numbers for copy in range(count)]),
        restriction=restriction,
    )
    return [best_first(found[start : start + count], options.length_penalty) for start in range(0, len(found), count)]


class Sampler:
    """Draws each row's next token; the draws of a row depend on the seed and its number alone, not on its batch."""

    def __init__(self, options: DecodeOptions, numbers: Sequence[int]) -> None:
        self.options = options
        seed = options.seed or 0
        self._generators = [np.random.Generator(np.random.Philox(key=[seed, number])) for number in numbers]

    def __call__(self, log_probs: Tensor, rows: Tensor) -> Tensor:
        """The tokens drawn for these rows, int64 (R,), with log-probabilities (R, V)."""
        probs, order = kept_probs(log_probs.double(), self.options)
        draws = [self._generators[row].random() for row in rows.tolist()]
        rising = probs.cumsum(dim=-1)
        height = torch.tensor(draws, dtype=rising.dtype, device=rising.device) * rising[:, -1]
        place = torch.searchsorted(rising, height[:, None], right=True)
        last = (probs > 0).sum(dim=-1, keepdim=True) - 1  # rounding must not lead behind the tokens that are left
        return order.gather(1, place.minimum(last))[:, 0]


def kept_probs(log_probs: Tensor, options: DecodeOptions) -> tuple[Tensor, Tensor]:
    """The probabilities from which a token is drawn, falling, 0 for what is left out, and whose they are, both (R, V).

    Temperature divides first, then `top_k` and `top_p` leave tokens out.

    Source:
        Fan et al. 2018 (top-k); Holtzman et al. 2020 (top-p, "nucleus").
    """
    falling, order = log_probs.sort(dim=-1, descending=True, stable=True)
    # the first stays 0 however near to 0 the temperature is
    falling = (falling - falling[:, :1]) / (options.temperature or 1.0)
    if options.top_k is not None:
        falling[:, options.top_k :] = float("-inf")
    probs = falling.softmax(dim=-1)
    if options.top_p is not None:
        probs = probs.masked_fill(probs.cumsum(dim=-1) - probs >= options.top_p, 0.0)
        probs = probs / probs.sum(dim=-1, keepdim=True)
    return probs, order
