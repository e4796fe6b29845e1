"""Multi-head attention: the documents' formula, torch's module, two paths over the same weights, and a cache."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tensors import assert_same
from torch import nn

from seq2see.attention import DotScore, MultiHeadAttention, PositionTerms
from seq2see.options import Score

SEEDS = st.integers(0, 2**31)
LENGTHS = st.integers(1, 7)
HEADS = st.sampled_from([(8, 1), (8, 2), (12, 3), (12, 4)])  # d_model, num_heads
BOTH_PATHS = pytest.mark.parametrize("need_weights", [False, True])
DTYPES = [torch.float64, torch.float32, torch.bfloat16, torch.float16]


def leaf(*shape, device="cpu"):
    return torch.randn(*shape, dtype=torch.float64).to(device).requires_grad_()


def gradients(output, inputs, weight):
    return torch.autograd.grad((output * weight).sum(), inputs)


class Bilinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.matrix = nn.Parameter(torch.randn(4, 4))

    def forward(self, query, key):
        return query @ self.matrix @ key.transpose(-2, -1)


class Sharper(DotScore):
    def forward(self, query, key):
        return 3 * super().forward(query, key)


def negative_distance(query, key):
    return -torch.cdist(query, key)


@pytest.mark.parametrize(
    ("score", "formula"),
    [
        (Score.scaled_dot, lambda score, q, k: q @ k / math.sqrt(4)),
        (Score.dot, lambda score, q, k: q @ k),
        (Score.additive, lambda score, q, k: score.v.flatten(1) @ torch.tanh(q + k)),  # of each head; see below
        (negative_distance, lambda score, q, k: -(q - k).square().sum().sqrt()),
        (Bilinear(), lambda score, q, k: q @ score.matrix @ k),
        (Sharper(), lambda score, q, k: 3 * q @ k / math.sqrt(4)),  # refines the dot product: no fused kernel
    ],
    ids=["scaled_dot", "dot", "additive", "a function", "a module", "a subclass"],
)
def test_it_is_the_documents_formula_head_by_head_with_any_score(score, formula):
    torch.manual_seed(0)
    attention = MultiHeadAttention(12, 3, kdim=7, vdim=5, score=score).double()
    query, key, value, mask = leaf(2, 4, 12), leaf(2, 5, 7), leaf(2, 5, 5), torch.rand(2, 5) < 0.8
    expected = torch.zeros(2, 4, 12, dtype=torch.float64)
    maps = torch.full((2, 3, 4, 5), float("-inf"), dtype=torch.float64)
    for head in range(3):
        rows = slice(4 * head, 4 * head + 4)
        q, k, v = (
            x @ linear.weight[rows].T + linear.bias[rows]
            for x, linear in ((query, attention.q_proj), (key, attention.k_proj), (value, attention.v_proj))
        )
        for b, t, s in mask[:, None].expand(2, 4, 5).nonzero().tolist():
            number = formula(attention.score, q[b, t], k[b, s])
            maps[b, head, t, s] = number[head] if score is Score.additive else number
        maps[:, head] = maps[:, head].softmax(-1)
        expected[..., rows] = maps[:, head] @ v
    expected = expected @ attention.out_proj.weight.T + attention.out_proj.bias
    output, weights = attention(query, key, value, mask, need_weights=True)
    assert_same((output, weights), (expected, maps))
    assert_same(attention(query, key, value, mask)[0], expected)
    output.sum().backward()
    assert all(parameter.grad.abs().sum() > 0 for parameter in getattr(attention.score, "parameters", list)())


def random_positions(num_heads, num_queries, num_keys, width, kind):
    if kind == "rotation" and width % 2 == 0:
        query, key = torch.randn(num_queries, width // 2).double(), torch.randn(num_keys, width // 2).double()
        return PositionTerms(*(torch.polar(torch.ones_like(angles), angles) for angles in (query, key)))
    if kind == "bias":
        return PositionTerms(bias=torch.randn(num_heads, num_queries, num_keys).double().requires_grad_())
    return PositionTerms()


@settings(max_examples=60)
@given(
    st.integers(1, 3), LENGTHS, LENGTHS, HEADS, st.sampled_from([Score.dot, Score.scaled_dot]),
    st.sampled_from(["none", "padding", "any"]), st.booleans(), st.sampled_from([None, 0, 1, 3]),
    st.sampled_from(["none", "rotation", "bias"]), SEEDS,
)  # fmt: skip
def test_the_fused_path_equals_the_explicit_one_for_any_mask_window_and_positions(
    batch, num_queries, num_keys, sizes, score, masking, causal, window, positions, seed
):
    torch.manual_seed(seed)
    d_model, num_heads = sizes
    attention = MultiHeadAttention(d_model, num_heads, score=score, window=window).double()
    query, memory = leaf(batch, num_queries, d_model), leaf(batch, num_keys, d_model)
    shape = {"none": None, "padding": (batch, num_keys), "any": (batch, num_queries, num_keys)}[masking]
    mask = None if shape is None else torch.rand(shape) < 0.6
    terms = random_positions(num_heads, num_queries, num_keys, d_model // num_heads, positions)
    inputs = [query, memory, *attention.parameters(), *([terms.bias] if terms.bias is not None else [])]
    direction = torch.randn(batch, num_queries, d_model).double()
    results = []
    for need_weights in (False, True):
        output, weights = attention(
            query, memory, memory, mask, causal=causal, positions=terms, need_weights=need_weights
        )
        results.append((output, gradients(output, inputs, direction)))
    assert_same(*results)
    assert weights.shape == (batch, num_heads, num_queries, num_keys)
    sums = weights.sum(-1)
    assert ((sums - 1).abs().minimum(sums.abs()) < 1e-12).all()
    without_keys = sums[:, 0] == 0  # the same queries in every head
    assert_same(results[0][0][without_keys], attention.out_proj.bias.expand(int(without_keys.sum()), -1))
    assert_same(results[0][1][0][without_keys], torch.zeros(int(without_keys.sum()), d_model).double())


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("hidden_by", ["mask", "mask and bias", "causal", "bias"])
@BOTH_PATHS
def test_a_hidden_key_wins_with_no_score(dtype, hidden_by, need_weights):
    attention = MultiHeadAttention(1, 1, score=Score.dot).to(dtype)
    for name, parameter in attention.named_parameters():
        nn.init.constant_(parameter, float(name.endswith("weight")))
    loud = torch.finfo(dtype).max * 0.6  # as score
    query, keys = torch.ones(1, 2, 1, dtype=dtype), torch.tensor([[[1.0], [loud]]], dtype=dtype)
    bias = torch.zeros(1, 2, 2).masked_fill(torch.tensor([[False, True]]), float("-inf"))
    bias = {"bias": bias, "mask and bias": torch.zeros(1, 2, 2)}.get(hidden_by)
    output, _ = attention(
        query,
        keys,
        torch.ones_like(keys) * torch.tensor([[[3.0], [5.0]]], dtype=dtype),
        torch.tensor([[True, False]]) if "mask" in hidden_by else None,
        causal=hidden_by == "causal",
        positions=PositionTerms(bias=bias),
        need_weights=need_weights,
    )
    seen = output[0, :1] if hidden_by == "causal" else output[0]
    torch.testing.assert_close(seen, torch.full_like(seen, 3))


@BOTH_PATHS
def test_dropout_acts_in_training_alone_and_never_on_the_weights_that_are_returned(need_weights):
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 2, dropout=0.5).double()
    x = leaf(2, 6, 8)
    (first, weights), (second, _) = (attention(x, x, x, need_weights=need_weights) for _ in range(2))
    assert not torch.allclose(first, second)
    assert weights is None or torch.allclose(weights.sum(-1), torch.ones(2, 2, 6).double())
    attention.eval()
    assert_same(attention(x, x, x)[0], attention(x, x, x, need_weights=True)[0])


@BOTH_PATHS
@pytest.mark.parametrize("score", [*Score, negative_distance])
@pytest.mark.parametrize("num_kv_heads", [2, 1])
def test_shared_key_and_value_heads_are_a_whole_module_with_each_of_them_repeated(num_kv_heads, score, need_weights):
    torch.manual_seed(0)
    attention = MultiHeadAttention(16, 4, num_kv_heads=num_kv_heads, score=score).double()
    whole = MultiHeadAttention(16, 4, score=score).double()
    state = dict(attention.state_dict())
    for name in [name for name in state if name[:6] in ("k_proj", "v_proj")]:
        heads = state[name].unflatten(0, (num_kv_heads, 4))
        state[name] = heads.repeat_interleave(4 // num_kv_heads, dim=0).flatten(0, 1)
    whole.load_state_dict(state)
    query, memory, mask = leaf(2, 3, 16), leaf(2, 5, 16), torch.rand(2, 5) < 0.7
    terms = random_positions(4, 3, 5, 4, "rotation")
    results = [
        module(query, memory, memory, mask, causal=True, positions=terms, need_weights=need_weights)
        for module in (attention, whole)
    ]
    assert_same(*results)
    direction = torch.randn(2, 3, 16).double()
    assert_same(*(gradients(output, [query, memory], direction) for output, _ in results))


def test_the_parameters_have_the_names_that_design_promises_and_shared_heads_have_fewer():
    assert {name.split(".")[0] for name in MultiHeadAttention(8, 2).state_dict()} == {
        "q_proj", "k_proj", "v_proj", "out_proj",
    }  # fmt: skip
    modules = [MultiHeadAttention(64, 8, num_kv_heads=heads) for heads in (None, 8, 2, 1)]
    assert [sum(p.numel() for p in module.parameters()) for module in modules] == [16_640, 16_640, 10_400, 9_360]


@pytest.mark.parametrize(
    ("sizes", "more", "message"),
    [
        ((8, 4), dict(num_kv_heads=3), r"num_heads \(4\) must be divisible by num_kv_heads \(3\)"),
        ((8, 4), dict(num_kv_heads=0), r"num_heads \(4\) must be divisible by num_kv_heads \(0\)"),
        ((30, 4), {}, r"d_model \(30\) must be divisible by num_heads \(4\)"),
        ((4, 0), {}, r"d_model \(4\) must be divisible by num_heads \(0\)"),
        ((4, 2), dict(dropout=1.5), r"dropout \(1.5\) must be at least 0"),
        ((4, 2), dict(window=-1), r"window \(-1\) must not be negative"),
    ],
)
def test_sizes_without_a_meaning_are_refused_with_both_sides_named(sizes, more, message):
    with pytest.raises(ValueError, match=message):
        MultiHeadAttention(*sizes, **more)


@BOTH_PATHS
def test_inputs_and_scores_that_do_not_fit_are_refused(need_weights):
    attention, memory = MultiHeadAttention(4, 2), torch.randn(3, 5, 4)
    with pytest.raises(ValueError, match="5 keys need as many values, not 6"):
        attention(memory, memory, torch.randn(3, 6, 4), need_weights=need_weights)
    with pytest.raises(ValueError, match="1 sequences of queries need as many of keys, not 3"):
        attention(memory[:1], memory, memory, need_weights=need_weights)
    cut = MultiHeadAttention(4, 2, score=lambda query, key: (query @ key.transpose(-2, -1))[..., :3])
    with pytest.raises(ValueError, match=r"returned the shape \(3, 2, 5, 3\).*\(3, 2, 5, 5\)"):
        cut(memory, memory, memory, need_weights=need_weights)
