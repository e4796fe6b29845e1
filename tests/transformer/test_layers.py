"""Encoder and decoder layers equal torch's, in both norm orders, with the same weights."""

from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tensors import DEVICES, assert_same, require
from torch import nn
from torch.nn import functional as F

from seq2see.attention import PositionTerms
from seq2see.options import Activation, ModelOptions, NormOrder, Position
from seq2see.transformer import DecoderLayer, EncoderLayer, FeedForwardLayer, SinusoidalPositions, Transformer

LENGTHS = st.integers(1, 6)
SEEDS = st.integers(0, 2**31)
NORMS = pytest.mark.parametrize("norm", NormOrder)
ACTIVATIONS = pytest.mark.parametrize("activation", [Activation.relu, Activation.gelu])


def options_of(norm, activation=Activation.relu):
    return ModelOptions(
        d_model=12, num_heads=3, d_ff=20, norm=norm, activation=activation, position=Position.none
    ).filled()


def torch_layer(kind, norm, activation):
    return kind(
        12, 3, 20, dropout=0.0, activation=activation.value, batch_first=True, norm_first=norm is NormOrder.pre
    ).double()


def disturb(module):
    """Moves every parameter from its start, so that no norm is the identity and no bias zero."""
    with torch.no_grad():
        for parameter in module.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    return module


def copy_into(theirs, ours):
    """Our weights under torch's names."""
    layers = {"self_attn": ours.self_attention}
    if isinstance(ours, DecoderLayer):
        layers["multihead_attn"] = ours.cross_attention
    state = {}
    modules = {"linear1": ours.feed_forward.in_proj, "linear2": ours.feed_forward.out_proj}
    for number, (name, layer) in enumerate([*layers.items(), ("", ours.feed_forward)], start=1):
        modules[f"norm{number}"] = layer.norm
        if name:
            inner = layer.attention.state_dict()
            modules[f"{name}.out_proj"] = layer.attention.out_proj
            for kind in ("weight", "bias"):
                state[f"{name}.in_proj_{kind}"] = torch.cat([inner[f"{letter}_proj.{kind}"] for letter in "qkv"])
    for name, module in modules.items():
        state |= {f"{name}.{kind}": value for kind, value in module.state_dict().items()}
    theirs.load_state_dict(state)


def assert_same_with_gradients(output, expected, inputs):
    direction = torch.randn_like(output)
    assert_same(output, expected)
    assert_same(*(torch.autograd.grad((result * direction).sum(), inputs) for result in (output, expected)))


def vectors(batch, length, device):
    return torch.randn(batch, length, 12, dtype=torch.float64).to(device).requires_grad_()


@DEVICES
@NORMS
@ACTIVATIONS
@settings(deadline=None, max_examples=10)
@given(st.integers(1, 3), LENGTHS, LENGTHS, SEEDS)
def test_the_layers_are_torchs_with_any_padding_of_the_source_and_a_causal_mask(
    device, norm, activation, batch, num_targets, num_sources, seed
):
    device, options = require(device), options_of(norm, activation)
    torch.manual_seed(seed)
    encoder, decoder = (disturb(kind(options).double()).to(device) for kind in (EncoderLayer, DecoderLayer))
    twins = [
        torch_layer(kind, norm, activation).to(device)
        for kind in (nn.TransformerEncoderLayer, nn.TransformerDecoderLayer)
    ]
    copy_into(twins[0], encoder)
    copy_into(twins[1], decoder)
    source, target = vectors(batch, num_sources, device), vectors(batch, num_targets, device)
    mask = torch.rand(batch, num_sources, device=device) < 0.6
    mask[:, 0] = True  # torch has no answer for a query without keys
    future = torch.ones(num_targets, num_targets, dtype=torch.bool, device=device).triu(1)
    memory, expected_memory = encoder(source, mask, PositionTerms()), twins[0](source, src_key_padding_mask=~mask)
    assert_same_with_gradients(memory, expected_memory, [source])
    output = decoder(target, source, mask, PositionTerms(), PositionTerms())
    expected = twins[1](target, source, tgt_mask=future, memory_key_padding_mask=~mask)
    assert_same_with_gradients(output, expected, [target, source])


@NORMS
def test_the_whole_model_is_torchs_stacks_around_scaled_embeddings_and_sinusoids(norm):
    torch.manual_seed(0)
    options = replace(options_of(norm), num_encoder_layers=2, num_decoder_layers=3, position=Position.sinusoidal)
    model = disturb(Transformer(options, 9, 11).double())
    encoder_layers, decoder_layers = (
        nn.ModuleList(torch_layer(kind, norm, Activation.relu) for _ in range(depth))
        for kind, depth in ((nn.TransformerEncoderLayer, 2), (nn.TransformerDecoderLayer, 3))
    )
    for theirs, ours in zip(
        [*encoder_layers, *decoder_layers], [*model.encoder_layers, *model.decoder_layers], strict=True
    ):
        copy_into(theirs, ours)
    src, tgt_in = torch.randint(9, (2, 6)), torch.randint(11, (2, 5))
    src_mask = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])

    def embedded(table, ids):
        return table.weight[ids] * 12**0.5 + SinusoidalPositions(12).embed(torch.arange(ids.shape[1]), torch.float64)

    memory = embedded(model.source_embedding, src)
    for layer in encoder_layers:
        memory = layer(memory, src_key_padding_mask=~src_mask)
    memory = model.encoder_norm(memory)
    x = embedded(model.target_embedding, tgt_in)
    for layer in decoder_layers:
        x = layer(x, memory, torch.ones(5, 5, dtype=torch.bool).triu(1), memory_key_padding_mask=~src_mask)
    assert_same(model.encode(src, src_mask), memory)
    assert_same(model(src, src_mask, tgt_in), model.decoder_norm(x) @ model.output_proj.weight.T)


@NORMS
def test_swiglu_gates_with_a_third_map(norm):
    torch.manual_seed(0)
    layer = FeedForwardLayer(6, 10, dropout=0.0, activation=Activation.swiglu, norm=norm).double()
    x = torch.randn(2, 3, 6).double()
    h = layer.norm(x) if norm is NormOrder.pre else x
    gate = h @ layer.gate_proj.weight.T + layer.gate_proj.bias
    gated = gate * torch.sigmoid(gate) * layer.in_proj(h)
    expected = x + F.linear(gated, layer.out_proj.weight, layer.out_proj.bias)
    assert_same(layer(x), expected if norm is NormOrder.pre else layer.norm(expected))
