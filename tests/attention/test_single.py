"""Attention with one head equals the documents' formulas, written out here by hand."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tensors import assert_same

from seq2see.attention import (
    AdditiveAttention,
    DotProductAttention,
    ScaledDotProductAttention,
    scaled_dot_product_attention,
)

SIZES = st.integers(1, 6)
SEEDS = st.integers(0, 2**31)


def normal(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def by_hand(score, query, key, value, visible):
    """Context and weights, number by number; `visible(b, t, s)` says who sees whom."""
    context = torch.zeros(*query.shape[:2], value.shape[-1], dtype=torch.float64)
    weights = torch.zeros(*query.shape[:2], key.shape[1], dtype=torch.float64)
    for b in range(query.shape[0]):
        for t in range(query.shape[1]):
            keys = [s for s in range(key.shape[1]) if visible(b, t, s)]
            exponentials = [math.exp(score(query[b, t].tolist(), key[b, s].tolist())) for s in keys]
            for s, exponential in zip(keys, exponentials, strict=True):
                weights[b, t, s] = exponential / sum(exponentials)
                context[b, t] += weights[b, t, s] * value[b, s]  # C = sum of alpha_i V_i
    return context, weights


def dot(query, key):
    return sum(q * k for q, k in zip(query, key, strict=True))


def scaled_dot(query, key):
    return dot(query, key) / math.sqrt(len(query))


@settings(max_examples=30)
@given(SIZES, SIZES, SIZES, SIZES, SIZES, SEEDS)
def test_dot_product_attention_is_the_formula_for_any_shapes_and_mask(
    batch, num_queries, num_keys, width, value_width, seed
):
    query, key = normal(batch, num_queries, width, seed=seed), normal(batch, num_keys, width, seed=seed + 1)
    value = normal(batch, num_keys, value_width, seed=seed + 2)
    mask = torch.rand(batch, num_queries, num_keys, generator=torch.Generator().manual_seed(seed)) < 0.7
    expected = by_hand(scaled_dot, query, key, value, lambda b, t, s: bool(mask[b, t, s]))
    for attend in (scaled_dot_product_attention, ScaledDotProductAttention(), DotProductAttention(scaled=True)):
        assert_same(attend(query, key, value, mask), expected)
    with_heads = [x[:, None].expand(-1, 2, -1, -1) for x in (query, key, value)]
    for found, one in zip(scaled_dot_product_attention(*with_heads, mask), expected, strict=True):
        assert_same(found, one[:, None].expand_as(found))
    expected = by_hand(dot, query, key, value, lambda b, t, s: True)
    assert_same(DotProductAttention()(query, key, value), expected)


@settings(max_examples=10)
@given(SIZES, SIZES, SIZES, SIZES, SIZES, SIZES, SEEDS)
def test_additive_attention_is_the_formula_of_bahdanau(
    batch, num_queries, num_keys, query_width, key_width, hidden_width, seed
):
    query, key = normal(batch, num_queries, query_width, seed=seed), normal(batch, num_keys, key_width, seed=seed + 1)
    value = normal(batch, num_keys, 2, seed=seed + 2)
    torch.manual_seed(seed)
    attention = AdditiveAttention(query_width, key_width=key_width, hidden_width=hidden_width).double()
    W, U, v = attention.query_proj.weight, attention.key_proj.weight, attention.score.v

    def score(q, k):  # v^T tanh(W q + U k)
        return float(v @ torch.tanh(W @ torch.tensor(q).double() + U @ torch.tensor(k).double()))

    with torch.no_grad():
        assert_same(attention(query, key, value), by_hand(score, query, key, value, lambda b, t, s: True))


@pytest.mark.parametrize(("num_queries", "num_keys"), [(4, 4), (1, 4), (2, 5), (5, 2)])
def test_causality_aligns_the_last_query_with_the_last_key(num_queries, num_keys):
    query, key = normal(2, num_queries, 3), normal(2, num_keys, 3, seed=1)
    expected = by_hand(scaled_dot, query, key, key, lambda b, t, s: s <= t + num_keys - num_queries)
    assert_same(scaled_dot_product_attention(query, key, key, causal=True), expected)


def test_weights_are_those_before_dropout_and_dropout_acts_in_training_alone():
    torch.manual_seed(0)
    attention = ScaledDotProductAttention(dropout=0.5)
    query, key = torch.randn(2, 3, 4), torch.randn(2, 5, 4)
    value = torch.eye(5).expand(2, 5, 5)  # the context is the weights as they were used
    context, weights = attention(query, key, value)
    assert_same(weights.sum(-1), torch.ones(2, 3))
    kept = context != 0
    assert 0 < kept.sum() < kept.numel()
    assert_same(context[kept], 2 * weights[kept])
    assert_same(attention.eval()(query, key, value), (weights, weights))


def test_large_dot_products_do_not_overflow_float16_when_they_are_scaled():
    query = torch.full((1, 2, 256), 20.0, dtype=torch.float16)  # 20 * 20 * 256 > 65,504
    context, weights = scaled_dot_product_attention(query, query, query)
    torch.testing.assert_close(weights, torch.full((1, 2, 2), 0.5, dtype=torch.float16))
    torch.testing.assert_close(context, query)
