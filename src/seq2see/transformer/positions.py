"""How the model knows where a token stands: one class a scheme.

A scheme may add to the embeddings (`embed`), or give terms to the attention (`terms`): rotations of queries and keys,
or a bias of the scores. Positions come as a vector of integers, so that a part of a sequence, or positions drawn at
random, need no code of their own. A new scheme is a class here with its line in `make_positions`, and its name in
`options.Position`.
"""

import math

import torch
from torch import Tensor, nn

from seq2see.attention import PositionTerms
from seq2see.options import ModelOptions, Position


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
    """Queries and keys are rotated by angles that grow with the position, so that scores depend on the distance.

    A pair of numbers is rotated as one complex number: one product, where cosines and sines took seven passes. The
    width of a head must be even.

    Source:
        Su et al. 2021, section 3.2.
    """

    def __init__(self, width: int) -> None:
        super().__init__()
        self.width = width

    def terms(self, query: Tensor, key: Tensor, new_key: Tensor, dtype: torch.dtype) -> PositionTerms:
        """Rotations of the queries and of the new keys."""
        rotation = self.rotation(query, dtype)
        return PositionTerms(rotation, rotation if new_key is query else self.rotation(new_key, dtype))

    def rotation(self, positions: Tensor, dtype: torch.dtype) -> Tensor:
        """Complex numbers of length 1 with the angles at these positions (T,): (T, K/2)."""
        angles = _angles(positions, self.width, dtype)
        return torch.polar(torch.ones_like(angles), angles)


class RelativePositions(PositionScheme):
    """A learned number for each head and bucket of distances, added to the scores.

    Near distances have a bucket each; far ones share buckets that widen logarithmically, and from `MAX_DISTANCE` tokens
    on the last one. With `causal` all buckets are for the past.

    Source:
        Raffel et al. 2020 (T5), section 2.1; one table a stack, shared by its layers.
    """

    NUM_BUCKETS, MAX_DISTANCE = 32, 128

    def __init__(self, num_heads: int, *, causal: bool) -> None:
        super().__init__()
        self.causal = causal
        self.table = nn.Embedding(self.NUM_BUCKETS, num_heads)

    def terms(self, query: Tensor, key: Tensor, new_key: Tensor, dtype: torch.dtype) -> PositionTerms:
        """Biases of the scores (H, T, S)."""
        buckets = self.bucket(key[None, :] - query[:, None])  # (T, S)
        return PositionTerms(bias=self.table(buckets).permute(2, 0, 1))

    def bucket(self, offset: Tensor) -> Tensor:
        """The bucket of each offset key - query, int64, same shape."""
        if self.causal:
            num_buckets, first, distance = self.NUM_BUCKETS, 0, (-offset).clamp(min=0)
        else:  # half of them for each side
            num_buckets = self.NUM_BUCKETS // 2
            first, distance = (offset > 0) * num_buckets, offset.abs()
        num_exact = num_buckets // 2
        ratio = distance.clamp(min=1).float() / num_exact
        wide = num_exact + (ratio.log() / math.log(self.MAX_DISTANCE / num_exact) * (num_buckets - num_exact)).long()
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
    """One slope a head: a geometric series from 2^(-8/H); for other than powers of two every second of the next."""
    power = 2 ** math.floor(math.log2(num_heads))
    slopes = [2 ** (-8 * (head + 1) / power) for head in range(power)]
    if power < num_heads:
        slopes += alibi_slopes(2 * power)[::2][: num_heads - power]
    return slopes


def make_positions(kind: Position, options: ModelOptions, *, causal: bool) -> PositionScheme:
    """The scheme of this kind, with parameters of its own; `options` are filled ones."""
    assert options.d_model and options.num_heads
    match kind:
        case Position.sinusoidal:
            return SinusoidalPositions(options.d_model)
        case Position.learned:
            return LearnedPositions(options.d_model, options.max_positions)
        case Position.rope:
            return RotaryPositions(options.d_model // options.num_heads)
        case Position.relative:
            return RelativePositions(options.num_heads, causal=causal)
        case Position.alibi:
            return AlibiPositions(options.num_heads)
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


def _angles(positions: Tensor, width: int, dtype: torch.dtype) -> Tensor:
    """Position times frequency (T, width/2)."""
    return positions[:, None] * frequencies(width, dtype, positions.device)


def frequencies(width: int, dtype: torch.dtype, device: torch.device | None = None) -> Tensor:
    """How far each pair of numbers turns from one position to the next (width/2,), radians, from 1 to 1/10,000."""
    return 10_000.0 ** -(torch.arange(0, width, 2, device=device, dtype=dtype) / width)
