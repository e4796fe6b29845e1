"""How the model knows where a token stands: one class a scheme.

A scheme may add to the embeddings (`embed`), or give terms to the attention (`terms`): turns of queries and keys, or a
bias of the scores. Positions come as a vector of integers, so that a part of a sequence, or positions drawn at random,
need no code of their own.
"""

import math

import torch
from torch import Tensor, nn

from seq2see.attention import PositionTerms
from seq2see.options import Position


class PositionScheme(nn.Module):
    """No positions: the base of the schemes, and `none` itself.

    With `none` a decoder still has the order from causality; an encoder sees its tokens as a set.
    """

    max_length: int | None = None  # tokens that it has positions for; None: any number

    def embed(self, positions: Tensor, dtype: torch.dtype) -> Tensor | None:
        """What is added to the embeddings at these positions, int64 (T,): (T, D), or None for nothing.

        Args:
            positions: int64 (T,).
            dtype: what is computed from the positions is computed in this, float32 or wider: in half precision
                positions above a few hundred are no longer told apart.
        """
        return None

    def terms(self, query: Tensor, key: Tensor, new_key: Tensor, dtype: torch.dtype) -> PositionTerms:
        """What the attention gets.

        Args:
            query: positions of the queries, int64 (T,).
            key: positions of all keys, int64 (S,).
            new_key: positions of the keys that are not cached yet, int64.
            dtype: as in `embed`.
        """
        return PositionTerms()


class SinusoidalPositions(PositionScheme):
    """Sines and cosines of falling frequency, added to the embeddings; D must be even.

    Source:
        Vaswani et al. 2017, section 3.5; sines first, then cosines, instead of in turn: a fixed permutation.
    """

    def __init__(self, d_model: int) -> None:
        super().__init__()
        _require_pairs(d_model)
        self.d_model = d_model

    def embed(self, positions: Tensor, dtype: torch.dtype) -> Tensor:
        """Waves at these positions (T,): (T, D), between -1 and 1."""
        angles = _angles(positions, self.d_model, dtype)
        return torch.cat((angles.sin(), angles.cos()), dim=-1)


class LearnedPositions(PositionScheme):
    """A learned vector for each position, added to the embeddings, and scaled like them.

    `Transformer` refuses a sequence of more tokens than there are vectors.

    Source:
        Gehring et al. 2017, section 3.1.
    """

    def __init__(self, d_model: int, max_positions: int) -> None:
        super().__init__()
        self.max_length = max_positions
        self.table = nn.Embedding(max_positions, d_model)

    def embed(self, positions: Tensor, dtype: torch.dtype) -> Tensor:
        """Learned vectors at these positions (T,), each less than `max_length`: (T, D)."""
        return self.table(positions) * math.sqrt(self.table.embedding_dim)


class RotaryPositions(PositionScheme):
    """Queries and keys are turned by angles that grow with the position, so that scores depend on the distance.

    A pair of numbers is turned as one complex number: one product, where cosines and sines took seven passes. The width
    of a head must be even.

    Source:
        Su et al. 2021, section 3.2.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        _require_pairs(width)
        self.width = width

    def terms(self, query: Tensor, key: Tensor, new_key: Tensor, dtype: torch.dtype) -> PositionTerms:
        """Turns of the queries and of the new keys."""
        query_turn = self.turns(query, dtype)
        return PositionTerms(query_turn, query_turn if new_key is query else self.turns(new_key, dtype))

    def turns(self, positions: Tensor, dtype: torch.dtype) -> Tensor:
        """Complex numbers of length 1 that turn by the angles at these positions (T,): (T, K/2)."""
        angles = _angles(positions, self.width, dtype)
        return torch.polar(torch.ones_like(angles), angles)


class RelativePositions(PositionScheme):
    """A learned number for each head and bucket of distances, added to the scores.

    Near distances have a bucket each; far ones share buckets that widen logarithmically, and from `max_distance` tokens
    on the last one. With `causal` all buckets are for the past.

    Source:
        Raffel et al. 2020 (T5), section 2.1; one table a stack, shared by its layers.
    """

    def __init__(self, num_heads: int, *, causal: bool, num_buckets: int = 32, max_distance: int = 128) -> None:
        super().__init__()
        num_exact = num_buckets // (2 if causal else 4)
        if num_exact < 1 or max_distance <= num_exact:
            raise ValueError(
                f"num_buckets ({num_buckets}) must be at least {2 if causal else 4}, and max_distance ({max_distance}) "
                f"more than the {num_exact} distances that have a bucket each"
            )
        self.causal = causal
        self.num_buckets = num_buckets
        self.max_distance = max_distance
        self.table = nn.Embedding(num_buckets, num_heads)

    def terms(self, query: Tensor, key: Tensor, new_key: Tensor, dtype: torch.dtype) -> PositionTerms:
        """Biases of the scores (H, T, S)."""
        buckets = self.bucket(key[None, :] - query[:, None])  # (T, S)
        return PositionTerms(bias=self.table(buckets).permute(2, 0, 1))

    def bucket(self, offset: Tensor) -> Tensor:
        """The bucket of each offset key - query, int64, same shape."""
        num_buckets = self.num_buckets
        first = torch.zeros_like(offset)
        if self.causal:
            distance = (-offset).clamp(min=0)
        else:
            num_buckets //= 2
            first = (offset > 0) * num_buckets
            distance = offset.abs()
        num_exact = num_buckets // 2
        ratio = distance.clamp(min=1).float() / num_exact
        wide = num_exact + (ratio.log() / math.log(self.max_distance / num_exact) * (num_buckets - num_exact)).long()
        return first + torch.where(distance < num_exact, distance, wide.clamp(max=num_buckets - 1))


class AlibiPositions(PositionScheme):
    """Scores fall linearly with the distance, at another slope in each head; nothing is learned.

    In its two-sided form: past and future at the same distance lose the same.

    Source:
        Press et al. 2022, section 3; the slopes for any number of heads from its published code; two-sided: the
        symmetric variant of its authors' notes on encoders.
    """

    def __init__(self, num_heads: int) -> None:
        super().__init__()
        self.slopes = alibi_slopes(num_heads)

    def terms(self, query: Tensor, key: Tensor, new_key: Tensor, dtype: torch.dtype) -> PositionTerms:
        """Biases of the scores (H, T, S), 0 or below."""
        distance = (query[:, None] - key[None, :]).abs()  # (T, S)
        slopes = torch.tensor(self.slopes, dtype=dtype, device=query.device)[:, None, None]
        return PositionTerms(bias=-slopes * distance)


def alibi_slopes(num_heads: int) -> list[float]:
    """One slope a head: a geometric series from 2^(-8/H); for other than powers of two every second of the next.

    Raises:
        ValueError: no head.
    """
    if num_heads < 1:
        raise ValueError(f"num_heads ({num_heads}) must be at least 1")
    power = 2 ** math.floor(math.log2(num_heads))
    slopes = [2 ** (-8 * (head + 1) / power) for head in range(power)]
    if power < num_heads:
        slopes += alibi_slopes(2 * power)[::2][: num_heads - power]
    return slopes


def make_positions(kind: Position, *, d_model: int, num_heads: int, max_positions: int, causal: bool) -> PositionScheme:
    """The scheme of this kind, with parameters of its own."""
    match kind:
        case Position.sinusoidal:
            return SinusoidalPositions(d_model)
        case Position.learned:
            return LearnedPositions(d_model, max_positions)
        case Position.rope:
            return RotaryPositions(d_model // num_heads)
        case Position.relative:
            return RelativePositions(num_heads, causal=causal)
        case Position.alibi:
            return AlibiPositions(num_heads)
        case Position.none:
            return PositionScheme()


def draw_positions(length: int, reach: int, device: torch.device) -> Tensor:
    """Different positions below `reach` in rising order, drawn at random, int64 (length,).

    Source:
        Ruoss et al. 2023, section 3, which always draws from all of 0 to `reach`, at evaluation too. Here the upper end
        is drawn first, log-uniformly between `length` and `reach`: so training sees dense sequences as well as sparse
        ones, and evaluation can count 0, 1, 2, ..., as decoding with a cache and a repeatable evaluation need.
    """
    candidates = torch.arange(reach, device=device)
    end = length * (reach / length) ** torch.rand((), device=device)
    order = torch.rand(reach, device=device).masked_fill(candidates >= end, 2.0)
    return order.topk(length, largest=False).indices.sort().values


def _require_pairs(width: int) -> None:
    if width < 2 or width % 2 != 0:
        raise ValueError(f"a width of {width} cannot be split into pairs of a sine and a cosine: it must be even")


def _angles(positions: Tensor, width: int, dtype: torch.dtype) -> Tensor:
    """Position times frequency (T, width/2); frequencies fall from 1 to 1/10,000."""
    exponents = torch.arange(0, width, 2, device=positions.device, dtype=dtype) / width
    return positions[:, None] * 10_000.0**-exponents
