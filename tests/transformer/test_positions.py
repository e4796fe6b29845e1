"""What each position scheme computes, against its paper's formula."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tensors import assert_same

from seq2see.attention import MultiHeadAttention
from seq2see.options import ModelOptions, Position
from seq2see.transformer import (
    AlibiPositions,
    LearnedPositions,
    RotaryPositions,
    SinusoidalPositions,
    Transformer,
)
from seq2see.transformer.positions import alibi_slopes, draw_positions, make_positions

F64 = torch.float64


def scheme_of(kind):
    return make_positions(kind, ModelOptions(d_model=12, num_heads=3, max_positions=10), causal=False)


def terms_of(scheme, query, key):
    return scheme.terms(query, key, key, F64)


def weights_of(attention, scheme, x, positions):
    return attention(x, x, x, positions=terms_of(scheme, positions, positions), need_weights=True)[1]


def test_sinusoidal_vectors_are_vaswanis_up_to_the_order_of_their_numbers():
    waves = SinusoidalPositions(8).embed(torch.tensor([0, 1, 5, 1000]), F64)
    for row, position in enumerate([0, 1, 5, 1000]):
        for i in range(4):
            angle = position / 10_000 ** (2 * i / 8)
            assert float(waves[row, i]) == pytest.approx(math.sin(angle), abs=1e-9)
            assert float(waves[row, 4 + i]) == pytest.approx(math.cos(angle), abs=1e-9)


def test_learned_vectors_are_rows_of_a_table_scaled_like_the_token_embeddings():
    scheme = LearnedPositions(4, 10)
    assert scheme.max_length == 10
    torch.testing.assert_close(scheme.embed(torch.tensor([9, 0]), F64), scheme.table.weight[[9, 0]] * 2)


def test_rotary_turns_are_products_of_complex_numbers():
    torch.manual_seed(0)
    attention = MultiHeadAttention(12, 2).double()
    x, positions = torch.randn(1, 5, 12).double(), torch.tensor([0, 1, 4, 9, 300])
    weights = weights_of(attention, RotaryPositions(6), x, positions)

    def turned(linear):
        q = linear(x).unflatten(-1, (2, 3, 2))  # (B, T, H, K/2, pair)
        frequencies = 10_000 ** (-torch.arange(0, 6, 2).double() / 6)
        return torch.complex(q[..., 0], q[..., 1]) * torch.exp(1j * positions[:, None, None] * frequencies)

    scores = torch.einsum("bthk,bshk->bhts", turned(attention.q_proj), turned(attention.k_proj).conj()).real
    torch.testing.assert_close(weights, (scores / math.sqrt(6)).softmax(-1), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("kind", [Position.rope, Position.relative, Position.alibi])
@settings(deadline=None, max_examples=20)
@given(st.lists(st.integers(0, 200), min_size=1, max_size=6, unique=True), st.integers(0, 800))
def test_scores_depend_on_the_distance_and_on_the_distance_alone(kind, positions, shift):
    torch.manual_seed(0)
    attention, scheme = MultiHeadAttention(12, 3).double(), scheme_of(kind).double()
    x, positions = torch.randn(2, len(positions), 12).double(), torch.tensor(positions)
    expected = weights_of(attention, scheme, x, positions)
    assert_same(weights_of(attention, scheme, x, positions + shift), expected)
    x = torch.randn(1, 4, 12).double()
    near, far = (weights_of(attention, scheme, x, step * torch.arange(4)) for step in (1, 2))
    assert not torch.allclose(near, far, atol=1e-3)


def t5_bucket(relative_position, *, bidirectional, num_buckets=32, max_distance=128):
    """The published rule of T5, for one number: memory position minus query position."""
    bucket = 0
    if bidirectional:
        num_buckets //= 2
        if relative_position > 0:
            bucket += num_buckets
        distance = abs(relative_position)
    else:
        distance = max(-relative_position, 0)
    max_exact = num_buckets // 2
    if distance < max_exact:
        return bucket + distance
    ratio = torch.log(torch.tensor(distance / max_exact, dtype=torch.float32)) / math.log(max_distance / max_exact)
    return bucket + min(max_exact + int(ratio * (num_buckets - max_exact)), num_buckets - 1)


@pytest.mark.parametrize("causal", [False, True])
def test_relative_buckets_are_those_of_t5(causal):
    options = ModelOptions(d_model=8, num_heads=2, position=Position.relative, cross_position=Position.relative)
    model = Transformer(options, 5, 5)
    offsets = torch.arange(-400, 401)
    expected = [t5_bucket(int(offset), bidirectional=not causal) for offset in offsets]
    for scheme in (model.decoder_positions,) if causal else (model.encoder_positions, model.cross_positions):
        assert scheme.bucket(offsets).tolist() == expected
    assert set(expected) == set(range(32)) - (set() if causal else {16})  # T5 never uses "0 to the right" either
    query, key = torch.tensor([3, 7]), torch.arange(9)
    bias = terms_of(scheme, query, key).bias
    for head, t, s in ((0, 0, 8), (1, 1, 0)):
        bucket = t5_bucket(int(key[s] - query[t]), bidirectional=not causal)
        assert bias[head, t, s] == scheme.table.weight[bucket, head]


def test_alibi_slopes_are_the_published_ones_and_the_bias_falls_alike_on_both_sides():
    slopes = [2.0**-n for n in range(1, 9)] + [2**-0.5, 2**-1.5, 2**-2.5, 2**-3.5]
    assert alibi_slopes(12) == pytest.approx(slopes)
    assert alibi_slopes(1) == [2.0**-8] and alibi_slopes(8) == slopes[:8]
    bias = terms_of(AlibiPositions(12), torch.tensor([2]), torch.arange(5)).bias
    for head, slope in enumerate(slopes):
        torch.testing.assert_close(bias[head, 0], -slope * torch.tensor([2, 1, 0, 1, 2]).double())


@settings(max_examples=100)
@given(st.integers(1, 40), st.integers(0, 200), st.integers(0, 2**31))
def test_drawn_positions_rise_within_their_range_and_follow_the_seed(length, more, seed):
    draws = []
    for _ in range(2):
        torch.manual_seed(seed)
        draws.append(draw_positions(length, length + more, torch.device("cpu")))
    assert torch.equal(*draws)
    assert draws[0].shape == (length,) and draws[0].dtype == torch.int64
    assert (draws[0].diff() > 0).all() and draws[0][0] >= 0 and draws[0][-1] < length + more


def test_drawn_positions_are_dense_at_times_and_sparse_at_others():
    torch.manual_seed(0)
    reach = [int(draw_positions(10, 1000, torch.device("cpu"))[-1]) for _ in range(500)]
    for low, high in ((9, 30), (30, 100), (100, 300), (300, 1000)):  # equal parts of the log scale
        assert 0.15 < sum(low <= last < high for last in reach) / len(reach) < 0.4
