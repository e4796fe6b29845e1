"""The attention layer: the documents' row 8, and its pre-norm form."""

import pytest
import torch
from torch.nn import functional as F

from seq2see.attention import AttentionLayer
from seq2see.options import NormOrder


def layer_and_inputs(norm):
    torch.manual_seed(0)
    layer = AttentionLayer(8, 2, norm=norm).double()
    torch.nn.init.normal_(layer.norm.weight)
    torch.nn.init.normal_(layer.norm.bias)
    return layer, torch.randn(2, 4, 8).double(), torch.randn(2, 5, 8).double(), torch.rand(2, 5) < 0.8


def test_post_norm_is_the_norm_of_the_sum_of_query_and_attention():
    layer, query, memory, mask = layer_and_inputs(NormOrder.post)
    output, weights = layer(query, memory, mask=mask, need_weights=True)
    context, expected = layer.attention(query, memory, memory, mask, need_weights=True)
    torch.testing.assert_close(output, F.layer_norm(query + context, (8,), layer.norm.weight, layer.norm.bias))
    torch.testing.assert_close(weights, expected)
    assert layer(query, memory, mask=mask)[1] is None


def test_pre_norm_normalises_the_query_and_leaves_the_memory():
    layer, query, memory, mask = layer_and_inputs(NormOrder.pre)
    output, _ = layer(query, memory, mask=mask)
    context, _ = layer.attention(layer.norm(query), memory, memory, mask)
    torch.testing.assert_close(output, query + context)


@pytest.mark.parametrize("norm", NormOrder)
def test_query_key_and_value_may_be_three_sequences_of_three_widths(norm):
    torch.manual_seed(0)
    layer = AttentionLayer(8, 4, kdim=6, vdim=5, num_kv_heads=2, norm=norm).double()
    query, key, value = (torch.randn(2, length, width).double() for length, width in ((4, 8), (3, 6), (3, 5)))
    mask = torch.tensor([[True, True, False], [True, True, True]])
    output, weights = layer(query, key, value, mask, need_weights=True)
    context, expected = layer.attention(
        layer.norm(query) if layer.pre_norm else query, key, value, mask, need_weights=True
    )
    torch.testing.assert_close(output, query + context if layer.pre_norm else layer.norm(query + context))
    torch.testing.assert_close(weights, expected)
    other = torch.randn_like(value)
    assert not torch.allclose(layer(query, key, other, mask)[0], output)
    torch.testing.assert_close(layer(query, key, other, mask, need_weights=True)[1], weights)  # values choose nothing


@pytest.mark.parametrize("norm", NormOrder)
def test_without_memory_a_sequence_attends_to_itself(norm):
    layer, query, _, _ = layer_and_inputs(norm)
    output, _ = layer(query, causal=True)
    x = layer.norm(query) if norm is NormOrder.pre else query
    x = query + layer.attention(x, x, x, causal=True)[0]
    torch.testing.assert_close(output, x if norm is NormOrder.pre else layer.norm(x))


@pytest.mark.parametrize("norm", NormOrder)
def test_dropout_acts_on_the_attention_and_not_on_the_residual(norm):
    layer = AttentionLayer(8, 2, norm=norm, dropout=0.999)
    x = torch.randn(1, 2, 8)
    torch.manual_seed(2)  # all of the attention dropped
    torch.testing.assert_close(layer(x)[0], x if norm is NormOrder.pre else layer.norm(x))
    layer.eval()
    assert not torch.allclose(layer(x)[0], x if norm is NormOrder.pre else layer.norm(x))
