"""How similar a query and a key are. Any function of (query, key) fits in the same place."""

import math
from collections.abc import Callable

import torch
from torch import Tensor, nn

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
