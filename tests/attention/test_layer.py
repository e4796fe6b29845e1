"""The attention layer: the documents' row 8, and its pre-norm form."""

import pytest
import torch
from tensors import assert_same
from torch.nn import functional as F

from seq2see.attention import AttentionLayer
from seq2see.options import NormOrder

NORMS = pytest.mark.parametrize("norm", NormOrder)


@NORMS
@pytest.mark.parametrize("given", [1, 2, 3])
def test_it_is_the_norm_of_the_sum_or_the_sum_with_what_was_normalised_of_one_two_or_three_sequences(norm, given):
    torch.manual_seed(0)
    layer = AttentionLayer(8, 4, kdim=6 if given == 3 else 8, vdim=5 if given == 3 else 8, num_kv_heads=2, norm=norm)
    layer = layer.double()
    for parameter in layer.norm.parameters():
        torch.nn.init.normal_(parameter)
    query, key, value = (torch.randn(2, *shape).double() for shape in ((4, 8), (3, 6), (3, 5)))
    memory = torch.randn(2, 3, 8).double()
    arguments = {1: (query,), 2: (query, memory), 3: (query, key, value)}[given]
    mask = None if given == 1 else torch.tensor([[True, True, False], [True, True, True]])
    x = F.layer_norm(query, (8,), *layer.norm.parameters()) if norm is NormOrder.pre else query
    inside = {1: (x, x, x), 2: (x, memory, memory), 3: (x, key, value)}[given]
    context, weights = layer.attention(*inside, mask, causal=given == 1, need_weights=True)
    expected = query + context
    if norm is NormOrder.post:
        expected = F.layer_norm(expected, (8,), *layer.norm.parameters())
    assert_same(layer(*arguments, mask=mask, causal=given == 1, need_weights=True), (expected, weights))
    output, no_weights = layer(*arguments, mask=mask, causal=given == 1)
    assert_same(output, expected)
    assert no_weights is None


@NORMS
def test_dropout_acts_on_the_attention_and_not_on_the_residual(norm):
    layer = AttentionLayer(8, 2, norm=norm, dropout=0.999)
    x = torch.randn(1, 2, 8)
    torch.manual_seed(2)  # all of the attention dropped
    without = x if norm is NormOrder.pre else layer.norm(x)
    assert_same(layer(x)[0], without)
    assert not torch.allclose(layer.eval()(x)[0], without)
