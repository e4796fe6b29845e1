"""Attention with one head: how similar a query and a key are, what follows from it, and the modules around it."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

from seq2see.attention.dropout import dropout as drop
from seq2see.attention.dropout import require_probability
from seq2see.attention.masks import masked_softmax, visible_keys

ScoreFunction = Callable[[Tensor, Tensor], Tensor]
"""query (..., T, K), key (..., S, K) -> scores (..., T, S), higher = more similar."""


class DotScore(nn.Module):
    """The dot product, divided by the square root of the width if `scaled`.

    Source:
        Vaswani et al. 2017, section 3.2.1. The query is scaled before the product, not the product after it: the same
        number, but half precision cannot overflow on the way.
    """

    def __init__(self, *, scaled: bool = True) -> None:
        super().__init__()
        self.scaled = scaled

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        """Scores of every query (..., T, K) against every key (..., S, K): (..., T, S)."""
        return (query * self.scale(query.shape[-1])) @ key.transpose(-2, -1)

    def scale(self, width: int) -> float:
        """What the dot products of vectors of this width are multiplied by."""
        return 1 / math.sqrt(width) if self.scaled else 1.0


class AdditiveScore(nn.Module):
    """`v^T tanh(query + key)` of vectors of width K, with one `v` for each head, if there are heads.

    Inside `MultiHeadAttention` the query and key projections play the parts of W and U, so that the whole is
    `v^T tanh(W q + U k)` per head; `AdditiveAttention` has W and U of its own.

    Source:
        Bahdanau et al. 2015, appendix A.1.2. Memory grows with T x S x K.
    """

    def __init__(self, width: int, num_heads: int | None = None) -> None:
        super().__init__()
        shape = (width,) if num_heads is None else (num_heads, 1, 1, width)
        self.v = nn.Parameter(torch.empty(shape))
        nn.init.uniform_(self.v, -1 / math.sqrt(width), 1 / math.sqrt(width))

    def forward(self, query: Tensor, key: Tensor) -> Tensor:
        """Scores of every query (..., T, K) against every key (..., S, K): (..., T, S)."""
        return (torch.tanh(query[..., :, None, :] + key[..., None, :, :]) * self.v).sum(-1)


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    causal: bool = False,
    dropout: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """`softmax(Q K^T / sqrt(K)) V`, with the weights that it came from.

    Args:
        query: (B, T, K) or (B, H, T, K).
        key: (B, S, K) or (B, H, S, K).
        value: (B, S, any width) or (B, H, S, any width).
        mask: bool (B, S) or (B, T, S), True = may be attended to; None: all.
        causal: hides the keys after a query's own position; the last query stands at the last key.
        dropout: probability of dropping a weight; 0 outside training.

    Returns:
        context (B, T, width of the values) and weights (B, T, S), with H after B if the inputs have it. The weights
        are those before dropout: they sum to 1, or are all 0 where a query has no visible key.

    Raises:
        ValueError: the mask is not boolean, or its shape does not fit.

    Source:
        Vaswani et al. 2017, equation 1.
    """
    return attend(DotScore(), query, key, value, mask, causal=causal, dropout=dropout)


def attend(
    score: ScoreFunction,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    *,
    causal: bool,
    window: int | None = None,
    bias: Tensor | None = None,
    dropout: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """The explicit path: score, bias, what is visible (see `visible_keys`), softmax, weighted sum.

    Shapes are those of `scaled_dot_product_attention`, with any number of dimensions before T and S.

    Raises:
        ValueError: the score function returns another shape than (..., T, S), or the mask does not fit.
    """
    scores = score(query, key)
    expected = (*query.shape[:-1], key.shape[-2])
    if scores.shape != expected:
        raise ValueError(
            f"the score function returned the shape {tuple(scores.shape)} for queries {tuple(query.shape)} and keys "
            f"{tuple(key.shape)}: it must return one number for each query and key, {expected}"
        )
    if bias is not None:
        scores = scores + bias  # in the wider of the two dtypes
    visible = visible_keys(mask, query, key.shape[-2], causal=causal, window=window)
    weights = masked_softmax(scores, visible).to(value.dtype)
    return drop(weights, dropout) @ value, weights


class _SingleHeadAttention(nn.Module):
    """What the modules below share."""

    def __init__(self, score: nn.Module, dropout: float) -> None:
        super().__init__()
        require_probability(dropout)
        self.score = score
        self.dropout = dropout

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, *, causal: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Context and weights; shapes and masks as in `scaled_dot_product_attention`."""
        dropout = self.dropout if self.training else 0.0
        return attend(self.score, query, key, value, mask, causal=causal, dropout=dropout)


class DotProductAttention(_SingleHeadAttention):
    """`softmax(Q K^T) V`, or with `scaled=True` `softmax(Q K^T / sqrt(K)) V`; `dropout` drops weights in training."""

    def __init__(self, *, scaled: bool = False, dropout: float = 0.0) -> None:
        super().__init__(DotScore(scaled=scaled), dropout)


class ScaledDotProductAttention(DotProductAttention):
    """`softmax(Q K^T / sqrt(K)) V`; `dropout` drops weights in training."""

    def __init__(self, *, dropout: float = 0.0) -> None:
        super().__init__(scaled=True, dropout=dropout)


class AdditiveAttention(_SingleHeadAttention):
    """`softmax(v^T tanh(W q + U k)) V`; `dropout` drops weights in training.

    The widths of keys and of `W q` and `U k` (`hidden_width`) are those of a query unless they are given.

    Source:
        Bahdanau et al. 2015, appendix A.1.2.
    """

    def __init__(
        self, query_width: int, *, key_width: int | None = None, hidden_width: int | None = None, dropout: float = 0.0
    ) -> None:
        hidden_width = hidden_width or query_width
        super().__init__(AdditiveScore(hidden_width), dropout)
        self.query_proj = nn.Linear(query_width, hidden_width, bias=False)
        self.key_proj = nn.Linear(key_width or query_width, hidden_width, bias=False)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, *, causal: bool = False
    ) -> tuple[Tensor, Tensor]:
        """Context and weights; shapes and masks as in `scaled_dot_product_attention`."""
        return super().forward(self.query_proj(query), self.key_proj(key), value, mask, causal=causal)
