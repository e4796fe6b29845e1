"""Attention with several heads: projections, positions, two paths over the same weights, and a cache for decoding."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seq2see.attention.dropout import require_probability
from seq2see.attention.masks import broadcast_mask, limit_reach
from seq2see.attention.scores import AdditiveScore, DotScore, ScoreFunction
from seq2see.attention.single import attend
from seq2see.options import Score

SHORT = 24  # keys; up to here plain products beat torch's fused CPU kernel in training (10: 2.8 against 4.6 ms)


class PositionTerms(NamedTuple):
    """What positions do to attention: they turn queries and keys, or they add to the scores.

    Args:
        query_turn: cosines and sines (2, T, K/2) by which pairs of query numbers are turned; None: not turned.
        key_turn: the same for the keys (2, new keys, K/2).
        bias: added to the scores (H or 1, T, S); None: nothing.
    """

    query_turn: Tensor | None = None
    key_turn: Tensor | None = None
    bias: Tensor | None = None


class KeyValueCache:
    """Projected keys and values that later calls need not project again.

    Args:
        growing: each call appends (self attention while decoding); otherwise the first call's are kept (attention to
            the source).
    """

    def __init__(self, *, growing: bool) -> None:
        self.growing = growing
        self.key: Tensor | None = None  # (B, H, S, K), turned already
        self.value: Tensor | None = None

    @property
    def complete(self) -> bool:
        """Whether there is nothing to project any more."""
        return self.key is not None and not self.growing

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Takes the keys and values (B, H, new, K) in and returns all of them (B, H, S, K)."""
        if self.key is not None and self.value is not None:
            key, value = torch.cat((self.key, key), dim=2), torch.cat((self.value, value), dim=2)
        self.key, self.value = key.contiguous(), value.contiguous()  # as every later call would make them
        return self.key, self.value

    def select(self, rows: Tensor) -> None:
        """Keeps these rows (int64 or bool (B,)) of the batch, in this order."""
        if self.key is not None and self.value is not None:
            if rows.dtype == torch.bool:
                rows = rows.nonzero()[:, 0]
            self.key, self.value = self.key.index_select(0, rows), self.value.index_select(0, rows)


class MultiHeadAttention(nn.Module):
    """Several heads, each with its own projections of query, key and value; their contexts are joined and projected.

    Args:
        d_model: D, width of queries, keys, values and outputs.
        num_heads: H; must divide `d_model`.
        dropout: probability of dropping a weight in training; above 0 it costs the fused kernel.
        score: `Score`, or any function of query (B, H, T, K) and key (B, H, S, K) that returns scores (B, H, T, S); a
            module's parameters are trained with the rest.
        bias: whether the projections have one.
        window: each query sees the keys at most this far away; None: all.

    Raises:
        ValueError: `num_heads` does not divide `d_model`, `dropout` is no probability below 1, or `window` is negative.

    Source:
        Vaswani et al. 2017, section 3.2.2.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        dropout: float = 0.0,
        score: Score | ScoreFunction = Score.scaled_dot,
        bias: bool = True,
        window: int | None = None,
    ) -> None:
        super().__init__()
        if num_heads < 1 or d_model % num_heads != 0:
            raise ValueError(f"d_model ({d_model}) must be divisible by num_heads ({num_heads})")
        require_probability(dropout)
        if window is not None and window < 0:
            raise ValueError(f"window ({window}) must not be negative: 0 shows each query its own position alone")
        self.num_heads = num_heads
        self.dropout = dropout
        self.window = window
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.out_proj = nn.Linear(d_model, d_model, bias=bias)
        self.score = _score_function(score, d_model // num_heads, num_heads)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        mask: Tensor | None = None,
        *,
        causal: bool = False,
        need_weights: bool = False,
        positions: PositionTerms | None = None,
        cache: KeyValueCache | None = None,
    ) -> tuple[Tensor, Tensor | None]:
        """What each query gathers from the values, and on request the weights with which it does.

        Args:
            query: (B, T, D).
            key: (B, S, D).
            value: (B, S, D).
            mask: bool (B, S) or (B, T, S), True = may be attended to; None: all.
            causal: hides the keys after a query's own position; the last query stands at the last key.
            need_weights: take the explicit path and return the weights.
            positions: turns and biases of a position scheme; None: no positions.
            cache: keys and values of earlier calls. `key` and `value` are appended to a growing one, and not looked at
                when a complete one is given.

        Returns:
            output (B, T, D), and the weights (B, H, T, S) before dropout, or None.

        Raises:
            ValueError: the mask is not boolean, its shape does not fit, query and key differ in batch, or key and value
                in length.
        """
        positions = positions or PositionTerms()
        q = turn(self._split(self.q_proj(query)), positions.query_turn)  # (B, H, T, K)
        if cache is not None and cache.complete:
            k, v = cache.key, cache.value
            assert k is not None and v is not None
        else:
            if key.shape[1] != value.shape[1]:
                raise ValueError(f"{key.shape[1]} keys need as many values, not {value.shape[1]}")
            k = turn(self._split(self.k_proj(key)), positions.key_turn)  # (B, H, S, K)
            v = self._split(self.v_proj(value))
            if cache is not None:
                k, v = cache.update(k, v)
        if q.shape[0] != k.shape[0]:
            raise ValueError(f"{q.shape[0]} sequences of queries need as many of keys, not {k.shape[0]}: expand one")
        dropout = self.dropout if self.training else 0.0
        weights = None
        one_by_one = q.shape[2] == 1 and q.device.type == "cpu"  # decoding: the fused kernel costs twice as much
        if need_weights or type(self.score) is not DotScore or one_by_one:
            context, weights = attend(
                self.score, q, k, v, mask, causal=causal, window=self.window, bias=positions.bias, dropout=dropout
            )
        else:
            context = self._fused(q, k, v, mask, causal, positions.bias, dropout)
        output = self.out_proj(context.transpose(1, 2).flatten(2))  # (B, T, D)
        return output, weights if need_weights else None

    def _fused(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None,
        causal: bool,
        bias: Tensor | None,
        dropout: float,
    ) -> Tensor:
        """The same context through torch's fused kernel (B, H, T, K)."""
        assert isinstance(self.score, DotScore)
        scale = self.score.scale(q.shape[-1])
        num_queries, num_keys = q.shape[2], k.shape[2]
        if num_queries == 1 and self.window is None:
            causal = False  # a single query stands at the last key and sees them all
        if causal and mask is None and bias is None and self.window is None and num_queries == num_keys:
            return _kernel(q, k, v, None, dropout=dropout, causal=True, scale=scale)
        visible = limit_reach(
            broadcast_mask(mask, q, num_keys), num_queries, num_keys, causal=causal, window=self.window, device=q.device
        )
        if bias is not None:
            bias = bias.to(q.dtype)
            visible = bias if visible is None else torch.where(visible, bias, float("-inf"))
        return _kernel(q, k, v, visible, dropout=dropout, causal=False, scale=scale)

    def _split(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)  # (B, H, T, K)


def _kernel(
    q: Tensor, k: Tensor, v: Tensor, visible: Tensor | None, *, dropout: float, causal: bool, scale: float
) -> Tensor:
    """Plain matrix products for short sequences on a CPU, where they are faster; otherwise torch's own choice.

    Called by their own name, for `sdpa_kernel` sets a choice for all threads of the process.
    """
    if torch.compiler.is_compiling() or q.device.type != "cpu" or k.shape[2] > SHORT:
        return F.scaled_dot_product_attention(
            q, k, v, attn_mask=visible, dropout_p=dropout, is_causal=causal, scale=scale
        )
    if visible is not None and visible.dtype == torch.bool:
        visible = torch.zeros(visible.shape, dtype=q.dtype).masked_fill_(~visible, float("-inf"))
    return torch.ops.aten._scaled_dot_product_attention_math(q, k, v, visible, dropout, causal, None, scale=scale)[0]


def turn(x: Tensor, turns: Tensor | None) -> Tensor:
    """Turns the pairs (number i, number i + K/2) of each vector (B, H, T, K) by angles given as (2, T, K/2)."""
    if turns is None:
        return x
    cosine, sine = turns.to(x.dtype)
    first, second = x.chunk(2, dim=-1)
    return torch.cat((first * cosine - second * sine, second * cosine + first * sine), dim=-1)


def _score_function(score: Score | ScoreFunction, width: int, num_heads: int) -> ScoreFunction:
    if not isinstance(score, Score):
        return score
    if score is Score.additive:
        return AdditiveScore(width, num_heads)
    return DotScore(scaled=score is Score.scaled_dot)
