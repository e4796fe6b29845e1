"""The attention layer: the documents' row 8, and its pre-norm form."""

import pytest
import torch
from tensors import assert_same
from torch.nn import functional as F

from seq2see.attention import AttentionLayer
from seq2see.options import NormOrder


@pytest.mark.parametrize("norm", NormOrder)
def test_it_is_the_norm_of_the_sum_or_the_sum_with_what_was_normalised_of_three_sequences(norm):
    torch.manual_seed(0)
    layer = AttentionLayer(8, 4, kdim=6, vdim=5, num_kv_heads=2, norm=norm).double()
    for parameter in layer.norm.parameters():
        torch.nn.init.normal_(parameter)
    query, key, value = (torch.randn(2, *shape).double() for shape in ((4, 8), (3, 6), (3, 5)))
    mask = torch.tensor([[True, True, False], [True, True, True]])
    x = layer.norm(query) if norm is NormOrder.pre else query
    context, weights = layer.attention(x, key, value, mask, need_weights=True)
    expected = query + context
    if norm is NormOrder.post:
        expected = F.layer_norm(expected, (8,), *layer.norm.parameters())
    assert_same(layer(query, key, value, mask, need_weights=True), (expected, weights))
    output, no_weights = layer(query, key, value, mask)
    assert_same(output, expected)
    assert no_weights is None


@pytest.mark.parametrize("norm", NormOrder)
def test_dropout_acts_on_the_attention_and_not_on_the_residual(norm):
    layer = AttentionLayer(8, 2, norm=norm, dropout=0.999)
    x = torch.randn(1, 2, 8)
    torch.manual_seed(2)  # all of the attention dropped
    without = x if norm is NormOrder.pre else layer.norm(x)
    assert_same(layer(x)[0], without)
    assert not torch.allclose(layer.eval()(x)[0], without)
