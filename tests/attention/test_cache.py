"""Keys and values that are kept give what keys and values projected again give."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2see.attention import KeyValueCache, MultiHeadAttention
from seq2see.options import Score


@pytest.mark.parametrize("score", Score)
@settings(deadline=None, max_examples=15)
@given(
    st.lists(st.integers(1, 4), min_size=1, max_size=5),
    st.sampled_from([None, 1, 3]),
    st.booleans(),
    st.sampled_from([4, 2, 1]),
)
def test_a_growing_cache_gives_the_whole_sequences_output_however_it_is_cut(
    score, chunks, window, need_weights, num_kv_heads
):
    torch.manual_seed(sum(chunks))
    attention = MultiHeadAttention(8, 4, num_kv_heads=num_kv_heads, score=score, window=window).double()
    x = torch.randn(2, sum(chunks), 8).double()
    expected, _ = attention(x, x, x, causal=True)
    cache = KeyValueCache(growing=True)
    parts = [
        attention(part, part, part, causal=True, cache=cache, need_weights=need_weights)[0]
        for part in x.split(chunks, dim=1)
    ]
    torch.testing.assert_close(torch.cat(parts, dim=1), expected, rtol=1e-6, atol=1e-6)
    assert cache.key.shape == cache.value.shape == (2, num_kv_heads, sum(chunks), 2)


def test_a_complete_cache_makes_the_memory_needless():
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 2).double()
    query, memory, mask = torch.randn(2, 3, 8).double(), torch.randn(2, 5, 8).double(), torch.rand(2, 5) < 0.7
    cache = KeyValueCache(growing=False)
    expected, _ = attention(query, memory, memory, mask, cache=cache)
    assert cache.complete
    other = torch.full_like(memory, float("nan"))
    torch.testing.assert_close(attention(query, other, other, mask, cache=cache)[0], expected)


@pytest.mark.parametrize("rows", [torch.tensor([2, 0, 0]), torch.tensor([True, False, True])])
def test_selecting_rows_follows_the_batch(rows):
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 2).double()
    x = torch.randn(3, 4, 8).double()
    cache = KeyValueCache(growing=True)
    attention(x[:, :3], x[:, :3], x[:, :3], causal=True, cache=cache)
    cache.select(rows)
    last = x[rows, 3:]
    output, _ = attention(last, last, last, causal=True, cache=cache)
    torch.testing.assert_close(output, attention(x[rows], x[rows], x[rows], causal=True)[0][:, 3:])
