"""Attention with several heads: projections, positions, two paths over the same weights, and a cache for decoding."""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seq2see.attention.dropout import require_probability
from seq2see.attention.masks import Unpadded, visible_keys
from seq2see.attention.single import AdditiveScore, DotScore, ScoreFunction, attend
from seq2see.options import Score


class PositionTerms(NamedTuple):
    """What positions do to attention (rotate queries and keys, or add to the scores), and where tokens stand.

    Args:
        query_rotation: complex numbers of length 1 (T, K/2) by which pairs of query numbers are rotated; None: not.
        key_rotation: the same for the keys (new keys, K/2).
        bias: added to the scores (H or 1, T, S); None: nothing.
        query_tokens: where the queries stand if they come without padding (N, D); None: they come as (B, T, D).
        key_tokens: the same for the keys and values.
    """

    query_rotation: Tensor | None = None
    key_rotation: Tensor | None = None
    bias: Tensor | None = None
    query_tokens: Unpadded | None = None
    key_tokens: Unpadded | None = None


class KeyValueCache:
    """Projected keys and values that later calls need not project again.

    A growing one appends each call's (self attention while decoding), any other keeps the first's (of the source).
    """

    def __init__(self, *, growing: bool) -> None:
        self.growing = growing
        self.key: Tensor | None = None  # (B, key and value heads, S, K), rotated already
        self.value: Tensor | None = None

    @property
    def complete(self) -> bool:
        """Whether there is nothing to project any more."""
        return self.key is not None and not self.growing

    def update(self, key: Tensor, value: Tensor) -> tuple[Tensor, Tensor]:
        """Takes the keys and values (B, heads, new, K) in and returns all of them (B, heads, S, K)."""
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
    """Several heads, each with its own projection of the query; their contexts are joined and projected.

    Keys and values have a head for each of the query's, or one that several neighbours share.

    Args:
        d_model: D, width of queries and outputs.
        num_heads: H; must divide `d_model`.
        num_kv_heads: heads of keys and values; must divide `num_heads`; None: as many. Fewer are grouped-query
            attention, and a single one is multi-query attention.
        kdim: width of keys; None: D.
        vdim: width of values; None: D.
        dropout: probability of dropping a weight in training; above 0 it costs the fused kernel.
        score: `Score`, or any function of query (B, H, T, K) and key (B, H, S, K) that returns scores (B, H, T, S); a
            module's parameters are trained with the rest.
        window: each query sees the keys at most this far away; None: all.

    Raises:
        ValueError: `num_heads` does not divide `d_model`, `num_kv_heads` does not divide `num_heads`, `dropout` is no
            probability below 1, or `window` is negative.

    Source:
        Vaswani et al. 2017, section 3.2.2; Shazeer 2019 and Ainslie et al. 2023 on fewer key and value heads.
    """

    def __init__(
        self,
        d_model: int,
        num_heads: int,
        *,
        num_kv_heads: int | None = None,
        kdim: int | None = None,
        vdim: int | None = None,
        dropout: float = 0.0,
        score: Score | ScoreFunction = Score.scaled_dot,
        window: int | None = None,
    ) -> None:
        super().__init__()
        if num_heads < 1 or d_model % num_heads != 0:
            raise ValueError(f"d_model ({d_model}) must be divisible by num_heads ({num_heads})")
        num_kv_heads = num_heads if num_kv_heads is None else num_kv_heads
        if num_kv_heads < 1 or num_heads % num_kv_heads != 0:
            raise ValueError(f"num_heads ({num_heads}) must be divisible by num_kv_heads ({num_kv_heads})")
        require_probability(dropout)
        if window is not None and window < 0:
            raise ValueError(f"window ({window}) must not be negative: 0 shows each query its own position alone")
        width = d_model // num_heads
        self.num_heads = num_heads
        self.num_kv_heads = num_kv_heads
        self.dropout = dropout
        self.window = window
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model if kdim is None else kdim, num_kv_heads * width)
        self.v_proj = nn.Linear(d_model if vdim is None else vdim, num_kv_heads * width)
        self.out_proj = nn.Linear(d_model, d_model)
        if isinstance(score, Score):
            additive = score is Score.additive
            score = AdditiveScore(width, num_heads) if additive else DotScore(scaled=score is Score.scaled_dot)
        self.score = score

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
            key: (B, S, kdim).
            value: (B, S, vdim).
            mask: bool (B, S) or (B, T, S), True = may be attended to; None: all.
            causal: hides the keys after a query's own position; the last query stands at the last key.
            need_weights: take the explicit path and return the weights.
            positions: rotations and biases of a position scheme, and where tokens without padding stand; None: nothing.
            cache: keys and values of earlier calls. `key` and `value` are appended to a growing one, and not looked at
                when a complete one is given.

        Returns:
            output, shaped as the queries, and the weights (B, H, T, S) before dropout, or None.

        Raises:
            ValueError: the mask is not boolean, its shape does not fit, query and key differ in batch, or key and value
                in length.
        """
        positions = positions or PositionTerms()
        q = _split_heads(self.q_proj(query), self.num_heads, positions.query_tokens)  # (B, H, T, K)
        q = apply_rotary(q, positions.query_rotation)
        if cache is not None and cache.complete:
            k, v = cache.key, cache.value
            assert k is not None and v is not None
        else:
            if key.shape[-2] != value.shape[-2]:
                raise ValueError(f"{key.shape[-2]} keys need as many values, not {value.shape[-2]}")
            k = _split_heads(self.k_proj(key), self.num_kv_heads, positions.key_tokens)
            k = apply_rotary(k, positions.key_rotation)
            v = _split_heads(self.v_proj(value), self.num_kv_heads, positions.key_tokens)
            if cache is not None:
                k, v = cache.update(k, v)
        k, v = repeat_kv(k, self.num_heads), repeat_kv(v, self.num_heads)  # (B, H, S, K)
        if q.shape[0] != k.shape[0]:
            raise ValueError(f"{q.shape[0]} sequences of queries need as many of keys, not {k.shape[0]}: expand one")
        context, weights = self._attend(q, k, v, mask, positions.bias, causal=causal, need_weights=need_weights)
        return self.out_proj(_join_heads(context, positions.query_tokens)), weights if need_weights else None

    def _attend(
        self,
        q: Tensor,
        k: Tensor,
        v: Tensor,
        mask: Tensor | None,
        bias: Tensor | None,
        *,
        causal: bool,
        need_weights: bool,
    ) -> tuple[Tensor, Tensor | None]:
        """The context (B, H, T, K), and the weights where torch's fused kernel does not serve or is slower."""
        num_queries, num_keys = q.shape[2], k.shape[2]
        dropout = self.dropout if self.training else 0.0
        is_slow = q.device.type == "cpu" and (num_queries == 1 or dropout)  # decoding: the kernel costs twice as much
        if need_weights or is_slow or type(self.score) is not DotScore:
            return attend(self.score, q, k, v, mask, causal=causal, window=self.window, bias=bias, dropout=dropout)
        is_triangle = causal and num_queries == num_keys and mask is None and bias is None and self.window is None
        attn_mask = None  # the kernel knows the triangle
        if not is_triangle:
            attn_mask = visible_keys(mask, q, num_keys, causal=causal, window=self.window)
        if bias is not None:
            bias = bias.to(q.dtype)
            attn_mask = bias if attn_mask is None else torch.where(attn_mask, bias, float("-inf"))
        scale = self.score.scale(q.shape[-1])
        context = F.scaled_dot_product_attention(
            q, k, v, attn_mask=attn_mask, dropout_p=dropout, is_causal=is_triangle, scale=scale
        )
        return context, None


def _split_heads(x: Tensor, num_heads: int, tokens: Unpadded | None) -> Tensor:
    x = x if tokens is None else tokens.pad(x)
    return x.unflatten(-1, (num_heads, -1)).transpose(1, 2)  # (B, heads, T, K)


def _join_heads(x: Tensor, tokens: Unpadded | None) -> Tensor:
    x = x.transpose(1, 2)  # (B, T, H, K)
    return (x if tokens is None else tokens.pack(x)).flatten(-2)


def repeat_kv(x: Tensor, num_heads: int) -> Tensor:
    """Keys or values (B, heads, S, K) for each head of the query (B, H, S, K): neighbours get the same."""
    return x if x.shape[1] == num_heads else x.repeat_interleave(num_heads // x.shape[1], dim=1)


def apply_rotary(x: Tensor, rotation: Tensor | None) -> Tensor:
    """Rotates the pairs (number 2i, number 2i + 1) of each vector (B, H, T, K) by complex numbers (T, K/2)."""
    if rotation is None:
        return x
    x, dtype = x.contiguous(), x.dtype  # which the products that follow want anyhow
    pairs = torch.view_as_complex(x.to(rotation.real.dtype).unflatten(-1, (-1, 2)))
    return torch.view_as_real(pairs * rotation).flatten(-2).to(dtype)
