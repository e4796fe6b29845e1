"""One mask convention, and the adapters from the others."""

import math
import re

import pytest
import torch

from seq2see.attention import (
    MultiHeadAttention,
    mask_from_additive,
    mask_from_hidden,
    mask_from_ones,
    scaled_dot_product_attention,
)

VISIBLE = torch.tensor([[True, True, False], [True, False, False]])


@pytest.mark.parametrize("dtype", [torch.int64, torch.uint8, torch.bool, torch.float32])
def test_ones_are_visible_as_in_hugging_face_and_true_is_hidden_as_in_torch(dtype):
    assert torch.equal(mask_from_ones(VISIBLE.to(dtype)), VISIBLE)
    assert torch.equal(mask_from_hidden((~VISIBLE).to(dtype)), VISIBLE)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float16])
@pytest.mark.parametrize("lowest", ["inf", "finfo", "-1e4"])
def test_additive_masks_hide_what_they_push_down(dtype, lowest):
    number = {"inf": float("-inf"), "finfo": torch.finfo(dtype).min, "-1e4": -1e4}[lowest]
    additive = torch.zeros(2, 3, dtype=dtype).masked_fill(~VISIBLE, number)
    assert torch.equal(mask_from_additive(additive), VISIBLE)


@pytest.mark.parametrize(
    ("adapter", "numbers", "message"),
    [
        *(
            (mask_from_additive, [0.0, x], "0 .visible. and -inf or at most -1e4")
            for x in (-1.0, 1.0, math.inf, math.nan)
        ),
        (mask_from_additive, [0, 1], "int64: use mask_from_ones or mask_from_hidden"),
        *((mask_from_ones, [1.0, x], "only 0 and 1") for x in (-1e9, 2.0, math.nan)),
        *((mask_from_hidden, [1.0, x], "only 0 and 1") for x in (-1e9, 2.0, math.nan)),
    ],
)
def test_numbers_that_an_adapter_does_not_know_are_refused(adapter, numbers, message):
    with pytest.raises(ValueError, match=message):
        adapter(torch.tensor(numbers))


@pytest.mark.parametrize("attend", [scaled_dot_product_attention, MultiHeadAttention(4, 2)])
def test_a_mask_that_is_not_boolean_is_refused_and_the_adapters_are_named(attend):
    x = torch.randn(2, 3, 4)
    with pytest.raises(ValueError, match="not torch.int64: convert with mask_from_ones, mask_from_hidden or"):
        attend(x, x, x, VISIBLE.long())


@pytest.mark.parametrize("shape", [(2, 1), (2, 4), (4, 5), (2, 3, 5), (5,), (), (2, 4, 1), (3, 4, 5), (2, 3, 4, 5)])
def test_a_mask_of_another_shape_is_refused_with_both_shapes_named(shape):
    query, memory = torch.randn(2, 4, 4), torch.randn(2, 5, 4)
    message = re.escape(str(shape)) + r".*\(B, S\) = \(2, 5\) or \(B, T, S\) = \(2, 4, 5\)"
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(4, 2)(query, memory, memory, torch.ones(shape, dtype=torch.bool))


@pytest.mark.parametrize("shape", [(2, 5), (1, 5), (2, 4, 5), (1, 4, 5), (2, 1, 5), (2, 3, 4, 5), (1, 1, 4, 5)])
def test_a_mask_may_be_given_once_for_all_pairs_heads_or_queries(shape):
    torch.manual_seed(0)
    attention = MultiHeadAttention(6, 3).double()
    query, memory = torch.randn(2, 4, 6).double(), torch.randn(2, 5, 6).double()
    mask = torch.rand(shape) < 0.6
    whole = (mask[:, None, None] if len(shape) == 2 else mask[:, None] if len(shape) == 3 else mask).expand(2, 3, 4, 5)
    for need_weights in (False, True):
        output, _ = attention(query, memory, memory, mask, need_weights=need_weights)
        expected, _ = attention(query, memory, memory, whole, need_weights=need_weights)
        torch.testing.assert_close(output, expected)
