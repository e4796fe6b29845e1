"""Multi-head attention: the documents' formula, torch's module, and two paths over the same weights."""

import copy
import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from seq2see.attention import (
    MultiHeadAttention,
    PositionTerms,
    Unpadded,
    mask_from_hidden,
)
from seq2see.options import Score

SEEDS = st.integers(0, 2**31)
LENGTHS = st.integers(1, 7)
HEADS = st.sampled_from([(8, 1), (8, 2), (12, 3), (12, 4)])  # d_model, num_heads
DEVICES = ["cpu", pytest.param("cuda", marks=[pytest.mark.gpu])]


def device_or_skip(name):
    if name == "cuda" and not torch.cuda.is_available():
        pytest.skip("needs a GPU")
    return torch.device(name)


def assert_same(result, expected):
    torch.testing.assert_close(result, expected, rtol=1e-6, atol=1e-6)


def leaf(*shape, device="cpu"):
    return torch.randn(*shape, dtype=torch.float64).to(device).requires_grad_()


def gradients(output, inputs, weight):
    return torch.autograd.grad((output * weight).sum(), inputs)


@pytest.mark.parametrize(("score", "scale"), [(Score.scaled_dot, 1 / math.sqrt(4)), (Score.dot, 1.0)])
def test_it_is_the_documents_formula_head_by_head(score, scale):
    torch.manual_seed(0)
    attention = MultiHeadAttention(12, 3, score=score).double()
    query, memory = leaf(2, 4, 12), leaf(2, 5, 12)
    heads, maps = [], []
    for head in range(3):
        rows = slice(4 * head, 4 * head + 4)
        q, k, v = (
            x @ linear.weight[rows].T + linear.bias[rows]
            for x, linear in ((query, attention.q_proj), (memory, attention.k_proj), (memory, attention.v_proj))
        )
        weights = torch.softmax(q @ k.transpose(1, 2) * scale, dim=-1)
        heads.append(weights @ v)
        maps.append(weights)
    expected = torch.cat(heads, dim=-1) @ attention.out_proj.weight.T + attention.out_proj.bias
    output, weights = attention(query, memory, memory, need_weights=True)
    assert_same(output, expected)
    assert_same(weights, torch.stack(maps, dim=1))
    assert_same(attention(query, memory, memory)[0], expected)


def torch_twin(attention, num_heads):
    """Torch's module with these weights, which it keeps apart where widths differ."""
    widths = [attention.get_submodule(f"{letter}_proj").in_features for letter in "qkv"]
    twin = nn.MultiheadAttention(widths[0], num_heads, kdim=widths[1], vdim=widths[2], batch_first=True)
    state = attention.state_dict()
    weights = {f"{letter}_proj_weight": state[f"{letter}_proj.weight"] for letter in "qkv"}
    if twin.in_proj_weight is not None:
        weights = {"in_proj_weight": torch.cat(list(weights.values()))}
    biases = torch.cat([state[f"{letter}_proj.bias"] for letter in "qkv"])
    out_proj = {name: value for name, value in state.items() if name.startswith("out_proj")}
    twin.to(biases).load_state_dict({**weights, "in_proj_bias": biases, **out_proj})
    return twin


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("need_weights", [False, True])
@settings(deadline=None, max_examples=40)
@given(
    st.integers(1, 3), LENGTHS, LENGTHS, HEADS, st.booleans(), st.none() | st.integers(1, 9),
    st.none() | st.integers(1, 9), SEEDS,
)  # fmt: skip
def test_with_the_same_weights_it_is_torchs_own_module_also_with_keys_and_values_of_other_widths(
    device, need_weights, batch, num_queries, num_keys, sizes, causal, kdim, vdim, seed
):
    device = device_or_skip(device)
    torch.manual_seed(seed)
    num_keys, (d_model, num_heads) = num_queries if causal else num_keys, sizes
    attention = MultiHeadAttention(d_model, num_heads, kdim=kdim, vdim=vdim).double().to(device)
    twin = torch_twin(attention, num_heads)
    shapes = ((num_queries, d_model), (num_keys, kdim or d_model), (num_keys, vdim or d_model))
    inputs = [leaf(batch, *shape, device=device) for shape in shapes]
    hidden = torch.rand(batch, num_keys, device=device) < 0.4
    hidden[:, 0] = False  # torch has no answer for a query without keys
    future = torch.ones(num_queries, num_keys, dtype=torch.bool, device=device).triu(1) if causal else None
    output, weights = attention(*inputs, mask_from_hidden(hidden), causal=causal, need_weights=need_weights)
    expected, expected_weights = twin(*inputs, key_padding_mask=hidden, attn_mask=future, average_attn_weights=False)
    assert_same(output, expected)
    assert weights is None or torch.allclose(weights, expected_weights, atol=1e-6)
    direction = torch.randn_like(output)
    ours = [*inputs, *attention.out_proj.parameters()]
    theirs = [*inputs, *twin.out_proj.parameters()]
    assert_same(gradients(output, ours, direction), gradients(expected, theirs, direction))


def random_positions(num_heads, num_queries, num_keys, width, kind):
    if kind == "turn" and width % 2 == 0:
        query, key = torch.randn(num_queries, width // 2).double(), torch.randn(num_keys, width // 2).double()
        return PositionTerms(*(torch.polar(torch.ones_like(angles), angles) for angles in (query, key)))
    if kind == "bias":
        return PositionTerms(bias=torch.randn(num_heads, num_queries, num_keys).double().requires_grad_())
    return PositionTerms()


@settings(deadline=None, max_examples=60)
@given(
    st.integers(1, 3),
    LENGTHS,
    LENGTHS,
    HEADS,
    st.sampled_from([Score.dot, Score.scaled_dot]),
    st.sampled_from(["none", "padding", "any"]),
    st.booleans(),
    st.sampled_from([None, 0, 1, 3]),
    st.sampled_from(["none", "turn", "bias"]),
    SEEDS,
)
def test_the_fused_path_equals_the_explicit_one_for_any_mask_window_and_positions(
    batch, num_queries, num_keys, sizes, score, masking, causal, window, positions, seed
):
    torch.manual_seed(seed)
    d_model, num_heads = sizes
    attention = MultiHeadAttention(d_model, num_heads, score=score, window=window).double()
    query, memory = leaf(batch, num_queries, d_model), leaf(batch, num_keys, d_model)
    mask = {
        "none": None,
        "padding": torch.rand(batch, num_keys) < 0.6,
        "any": torch.rand(batch, num_queries, num_keys) < 0.6,
    }[masking]
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


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("need_weights", [False, True])
def test_a_query_without_keys_gets_zeros_and_its_neighbours_what_they_always_get(device, dtype, bias, need_weights):
    device = device_or_skip(device)
    torch.manual_seed(0)
    attention = MultiHeadAttention(32, 4).to(device, dtype)
    x = torch.randn(3, 6, 32).to(device, dtype).requires_grad_()
    mask = torch.ones(3, 6, dtype=torch.bool, device=device)
    mask[1] = False
    terms = PositionTerms(bias=torch.randn(4, 6, 6).to(device) if bias else None)
    output, weights = attention(x, x, x, mask, positions=terms, need_weights=need_weights)
    torch.testing.assert_close(output[1], attention.out_proj.bias.expand(6, -1))
    assert weights is None or (weights[1] == 0).all()
    output.float().square().sum().backward()
    assert x.grad.isfinite().all() and (x.grad[1] == 0).all()
    alone = x.detach()[[0, 2]].requires_grad_()
    expected, _ = attention(alone, alone, alone, positions=terms, need_weights=need_weights)
    near = 1e-6 if dtype is torch.float64 else 1e-4 if dtype is torch.float32 else 5e-2
    torch.testing.assert_close(output[[0, 2]], expected, rtol=near, atol=near)
    expected.float().square().sum().backward()
    torch.testing.assert_close(x.grad[[0, 2]], alone.grad, rtol=near, atol=near)


@pytest.mark.parametrize("dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("hidden_by", ["mask", "mask and bias", "causal", "bias"])
@pytest.mark.parametrize("need_weights", [False, True])
def test_a_hidden_key_wins_with_no_score(dtype, hidden_by, need_weights):
    attention = MultiHeadAttention(1, 1, score=Score.dot).to(dtype)
    for name, parameter in attention.named_parameters():
        nn.init.constant_(parameter, float(name.endswith("weight")))
    loud = torch.finfo(dtype).max * 0.6  # as score and as value
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


@pytest.mark.parametrize("need_weights", [False, True])
def test_dropout_acts_in_training_alone_and_never_on_the_weights_that_are_returned(need_weights):
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 2, dropout=0.5).double()
    x = leaf(2, 6, 8)
    (first, weights), (second, _) = (attention(x, x, x, need_weights=need_weights) for _ in range(2))
    assert not torch.allclose(first, second)
    if weights is not None:
        assert_same(weights.sum(-1), torch.ones(2, 2, 6).double())
    attention.eval()
    assert_same(attention(x, x, x)[0], attention(x, x, x, need_weights=True)[0])


def test_additive_scores_have_a_vector_repeat_kv():
    torch.manual_seed(0)
    attention = MultiHeadAttention(12, 3, score=Score.additive).double()
    query, memory = leaf(2, 4, 12), leaf(2, 5, 12)
    _, weights = attention(query, memory, memory, need_weights=True)
    for head in range(3):
        rows = slice(4 * head, 4 * head + 4)
        W, w = attention.q_proj.weight[rows], attention.q_proj.bias[rows]
        U, u = attention.k_proj.weight[rows], attention.k_proj.bias[rows]
        v = attention.score.v[head].flatten()
        for b in range(2):
            for t in range(4):
                scores = torch.stack([v @ torch.tanh(W @ query[b, t] + w + U @ key + u) for key in memory[b]])
                assert_same(weights[b, head, t], scores.softmax(0))


def negative_distance(query, key):
    return -torch.cdist(query, key)


class Bilinear(nn.Module):
    def __init__(self):
        super().__init__()
        self.matrix = nn.Parameter(torch.randn(4, 4))

    def forward(self, query, key):
        return query @ self.matrix @ key.transpose(-2, -1)


@pytest.mark.parametrize("score", [negative_distance, Bilinear()])
def test_a_users_own_score_function_fits_in_the_same_place(score):
    torch.manual_seed(0)
    attention = MultiHeadAttention(12, 3, score=copy.deepcopy(score)).double()
    query, memory, mask = leaf(2, 4, 12), leaf(2, 5, 12), torch.rand(2, 5) < 0.8
    output, weights = attention(query, memory, memory, mask, need_weights=True)
    q, k, v = (
        linear(x).unflatten(-1, (3, 4)).transpose(1, 2)
        for x, linear in ((query, attention.q_proj), (memory, attention.k_proj), (memory, attention.v_proj))
    )
    expected = attention.score(q, k).masked_fill(~mask[:, None, None], float("-inf")).softmax(-1)
    assert_same(weights, expected)
    assert_same(output, attention.out_proj((expected @ v).transpose(1, 2).flatten(2)))
    assert_same(attention(query, memory, memory, mask)[0], output)
    output.sum().backward()
    if isinstance(score, nn.Module):
        assert attention.score.matrix.grad.abs().sum() > 0
        assert "score.matrix" in attention.state_dict()


def test_a_score_that_refines_the_dot_product_is_not_replaced_by_the_fused_kernel():
    from seq2see.attention import DotScore

    class Sharper(DotScore):
        def forward(self, query, key):
            return 3 * super().forward(query, key)

    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 2, score=Sharper())
    x = torch.randn(2, 5, 8)
    torch.testing.assert_close(attention(x, x, x)[0], attention(x, x, x, need_weights=True)[0])


def test_a_score_function_of_another_shape_is_refused_with_the_expected_one_named():
    x = torch.randn(2, 5, 8)
    attention = MultiHeadAttention(
        8, 2, score=lambda query, key: query @ key.transpose(-2, -1).mean(1, keepdim=True)[:, :, :, :3]
    )
    with pytest.raises(ValueError, match=r"returned the shape \(2, 2, 5, 3\).*\(2, 2, 5, 5\)"):
        attention(x, x, x)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("need_weights", [False, True])
def test_a_window_hides_what_is_further_away(causal, need_weights):
    torch.manual_seed(0)
    attention, whole = MultiHeadAttention(8, 2, window=2).double(), MultiHeadAttention(8, 2).double()
    whole.load_state_dict(attention.state_dict())
    x = leaf(1, 9, 8)
    distance = torch.arange(9)[:, None] - torch.arange(9)
    near = (distance <= 2) & (distance >= (0 if causal else -2))
    output, _ = attention(x, x, x, causal=causal, need_weights=need_weights)
    assert_same(output, whole(x, x, x, near[None])[0])


def test_the_sequence_of_vectors_may_be_empty_of_keys_or_of_queries():
    attention = MultiHeadAttention(8, 2)
    x, nothing = torch.randn(2, 5, 8), torch.zeros(2, 0, 8)
    for need_weights in (False, True):
        output, _ = attention(x, nothing, nothing, need_weights=need_weights)
        torch.testing.assert_close(output, attention.out_proj.bias.expand(2, 5, -1))
        assert attention(nothing, x, x, need_weights=need_weights)[0].shape == (2, 0, 8)


def test_the_parameters_have_the_names_that_design_promises():
    names = {name.split(".")[0] for name in MultiHeadAttention(8, 2).state_dict()}
    assert names == {"q_proj", "k_proj", "v_proj", "out_proj"}


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
@pytest.mark.parametrize("score", Score)
@pytest.mark.parametrize("need_weights", [False, True])
def test_narrow_precisions_are_finite_and_near_float64(dtype, score, need_weights):
    torch.manual_seed(0)
    attention = MultiHeadAttention(32, 4, score=score).to(dtype)
    x, mask = torch.randn(2, 9, 32).to(dtype), torch.rand(2, 9) < 0.6
    terms = PositionTerms(bias=torch.randn(4, 9, 9))  # float32, as position schemes make it
    output, _ = attention(x, x, x, mask, positions=terms, need_weights=need_weights)
    assert output.dtype == dtype
    expected, _ = attention.double()(x.double(), x.double(), x.double(), mask, positions=terms, need_weights=True)
    tolerance = {torch.float32: 1e-5, torch.float16: 1e-2, torch.bfloat16: 5e-2}[dtype]
    torch.testing.assert_close(output.double(), expected, rtol=tolerance, atol=tolerance)


def with_a_head_for_each(attention, **options):
    """A module without shared heads that has each shared head's weights as often as it is shared."""
    times = attention.num_heads // attention.num_kv_heads
    whole = MultiHeadAttention(attention.q_proj.in_features, attention.num_heads, **options).double()
    state = dict(attention.state_dict())
    for name in [name for name in state if name[:6] in ("k_proj", "v_proj")]:
        state[name] = (
            state[name].unflatten(0, (attention.num_kv_heads, -1)).repeat_interleave(times, dim=0).flatten(0, 1)
        )
    whole.load_state_dict(state)
    return whole


@settings(deadline=None, max_examples=80)
@given(
    st.sampled_from([(8, 2, 1), (12, 3, 1), (16, 4, 2), (16, 4, 1)]),
    LENGTHS,
    LENGTHS,
    st.sampled_from([*Score, negative_distance]),
    st.sampled_from(["none", "turn", "bias"]),
    st.booleans(),
    st.sampled_from([None, 2]),
    st.booleans(),
    SEEDS,
)
def test_shared_key_and_value_heads_are_a_whole_module_with_each_of_them_repeated(
    sizes, num_queries, num_keys, score, positions, causal, window, need_weights, seed
):
    torch.manual_seed(seed)
    d_model, num_heads, num_kv_heads = sizes
    options = dict(score=score, window=window)
    attention = MultiHeadAttention(d_model, num_heads, num_kv_heads=num_kv_heads, **options).double()
    whole = with_a_head_for_each(attention, **options)
    query, memory, mask = leaf(2, num_queries, d_model), leaf(2, num_keys, d_model), torch.rand(2, num_keys) < 0.7
    terms = random_positions(num_heads, num_queries, num_keys, d_model // num_heads, positions)
    results = [
        module(query, memory, memory, mask, causal=causal, positions=terms, need_weights=need_weights)
        for module in (attention, whole)
    ]
    assert_same(*(output for output, _ in results))
    if need_weights:
        assert_same(*(weights for _, weights in results))
        assert results[0][1].shape == (2, num_heads, num_queries, num_keys)
    direction = torch.randn(2, num_queries, d_model).double()
    names = ["q_proj.weight", "k_proj.weight", "v_proj.weight", "v_proj.bias", "out_proj.weight"]
    grads = [
        gradients(output, [query, memory, *(module.get_parameter(name) for name in names)], direction)
        for (output, _), module in zip(results, (attention, whole), strict=True)
    ]
    for name, shared, repeated in zip(["query", "memory", *names], *grads, strict=True):
        if name[:2] in ("k_", "v_"):  # what is shared gets the sum
            times = num_heads // num_kv_heads
            repeated = repeated.unflatten(0, (num_kv_heads, times, -1)).sum(1).flatten(0, 1)
        assert_same(shared, repeated)


def test_fewer_key_and_value_heads_have_fewer_parameters():
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


@pytest.mark.parametrize("need_weights", [False, True])
def test_inputs_that_do_not_fit_each_other_are_refused(need_weights):
    attention, memory = MultiHeadAttention(4, 2), torch.randn(3, 5, 4)
    with pytest.raises(ValueError, match="5 keys need as many values, not 6"):
        attention(memory, memory, torch.randn(3, 6, 4), need_weights=need_weights)
    with pytest.raises(ValueError, match="1 sequences of queries need as many of keys, not 3"):
        attention(memory[:1], memory, memory, need_weights=need_weights)


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("masked", [False, True])
def test_a_bias_of_minus_infinity_hides_a_key_on_both_paths(need_weights, masked):
    torch.manual_seed(0)
    attention = MultiHeadAttention(4, 2).double()
    query, memory = torch.randn(2, 3, 4).double(), torch.randn(2, 5, 4).double()
    visible = torch.rand(3, 5) < 0.5
    visible[1] = False  # a row without keys
    bias = torch.zeros(1, 3, 5).double().masked_fill(~visible, float("-inf"))
    mask = torch.ones(2, 5, dtype=torch.bool) if masked else None
    output, weights = attention(
        query, memory, memory, mask, positions=PositionTerms(bias=bias), need_weights=need_weights
    )
    expected, expected_weights = attention(query, memory, memory, visible.expand(2, 3, 5), need_weights=need_weights)
    assert_same(output, expected)
    if need_weights:
        assert_same(weights, expected_weights)
    output.sum().backward()
    assert all(parameter.grad.isfinite().all() for parameter in attention.parameters())


def test_threads_do_not_choose_kernels_for_each_other() -> None:
    from concurrent.futures import ThreadPoolExecutor

    attention = MultiHeadAttention(8, 2).eval()
    x = torch.randn(2, 5, 8)

    def attend(_: int) -> torch.Tensor:
        with torch.inference_mode():
            return attention(x, x, x)[0]

    with ThreadPoolExecutor(8) as threads:
        outputs = list(threads.map(attend, range(2_000)))
    assert all(torch.equal(output, outputs[0]) for output in outputs)
    assert torch.backends.cuda.flash_sdp_enabled() and torch.backends.cuda.mem_efficient_sdp_enabled()


@pytest.mark.parametrize("num_kv_heads", [4, 2])
@pytest.mark.parametrize("need_weights", [False, True])
def test_rows_without_padding_attend_as_they_do_in_a_padded_batch(need_weights, num_kv_heads):
    torch.manual_seed(0)
    attention = MultiHeadAttention(8, 4, num_kv_heads=num_kv_heads).double()
    query, memory = torch.randn(3, 4, 8).double(), torch.randn(3, 5, 8).double()
    real, visible = torch.rand(3, 4) < 0.6, torch.rand(3, 5) < 0.6
    queries, keys = Unpadded(real), Unpadded(visible)
    terms, packed = PositionTerms(query_tokens=queries, key_tokens=keys), keys.pack(memory)
    expected, weights = attention(query, memory, memory, visible, need_weights=need_weights)
    output, seen = attention(queries.pack(query), packed, packed, visible, need_weights=need_weights, positions=terms)
    assert_same(output, expected[real])
    if weights is not None:
        assert_same(seen.transpose(1, 2)[real], weights.transpose(1, 2)[real])
    assert_same(queries.pad(output)[~real], torch.zeros_like(expected[~real]))
