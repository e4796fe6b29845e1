"""The layers and the model of them equal torch's, in both norm orders, with the same weights."""

import pytest
import torch
from tensors import DEVICES, assert_same, require
from torch import nn
from torch.nn import functional as F

from seq2see.options import Activation, ModelOptions, NormOrder, Position
from seq2see.transformer import DecoderLayer, FeedForwardLayer, SinusoidalPositions, Transformer

NORMS = pytest.mark.parametrize("norm", NormOrder)


def torch_twin(ours, norm, activation):
    """Torch's layer with our weights, under its names."""
    is_decoder = isinstance(ours, DecoderLayer)
    twin = (nn.TransformerDecoderLayer if is_decoder else nn.TransformerEncoderLayer)(
        12, 3, 20, dropout=0.0, activation=activation.value, batch_first=True, norm_first=norm is NormOrder.pre
    )
    attentions = {"self_attn": ours.self_attention}
    if is_decoder:
        attentions["multihead_attn"] = ours.cross_attention
    modules = {"linear1": ours.feed_forward.in_proj, "linear2": ours.feed_forward.out_proj}
    modules |= {f"norm{n}": layer.norm for n, layer in enumerate([*attentions.values(), ours.feed_forward], start=1)}
    modules |= {f"{name}.out_proj": layer.attention.out_proj for name, layer in attentions.items()}
    state = {f"{name}.{kind}": value for name, module in modules.items() for kind, value in module.state_dict().items()}
    for name, layer in attentions.items():
        for kind in ("weight", "bias"):
            parts = [layer.attention.get_parameter(f"{letter}_proj.{kind}") for letter in "qkv"]
            state[f"{name}.in_proj_{kind}"] = torch.cat(parts)
    twin.double().to(ours.feed_forward.in_proj.weight.device).load_state_dict(state)
    return twin


@DEVICES
@NORMS
@pytest.mark.parametrize("activation", [Activation.relu, Activation.gelu])
def test_the_model_is_torchs_layers_around_scaled_embeddings_and_sinusoids_forward_and_backward(
    device, norm, activation
):
    torch.manual_seed(0)
    options = ModelOptions(
        d_model=12, num_heads=3, d_ff=20, num_encoder_layers=2, num_decoder_layers=3, norm=norm, activation=activation,
        position=Position.sinusoidal,
    )  # fmt: skip
    model = Transformer(options, 9, 11).double().to(require(device))
    with torch.no_grad():
        for parameter in model.parameters():  # no norm is the identity, no bias zero
            parameter.add_(0.3 * torch.randn_like(parameter))
    src, tgt_in = torch.randint(9, (2, 6), device=device), torch.randint(11, (2, 5), device=device)
    src_mask = torch.tensor([[True] * 6, [True] * 4 + [False] * 2], device=device)
    hidden, future = ~src_mask, torch.ones(5, 5, dtype=torch.bool, device=device).triu(1)

    def embedded(table, ids):
        places = torch.arange(ids.shape[1], device=device)
        return table.weight[ids] * 12**0.5 + SinusoidalPositions(12).embed(places, torch.float64)

    memory, x = embedded(model.source_embedding, src), embedded(model.target_embedding, tgt_in)
    for layer in model.encoder_layers:
        memory = torch_twin(layer, norm, activation)(memory, src_key_padding_mask=hidden)
    memory = model.encoder_norm(memory)
    for layer in model.decoder_layers:
        x = torch_twin(layer, norm, activation)(x, memory, future, memory_key_padding_mask=hidden)
    expected, logits = model.decoder_norm(x) @ model.output_proj.weight.T, model(src, src_mask, tgt_in)
    assert_same(logits, expected)
    tables, direction = [model.source_embedding.weight, model.target_embedding.weight], torch.randn_like(logits)
    assert_same(*(torch.autograd.grad((found * direction).sum(), tables) for found in (logits, expected)))


@NORMS
def test_swiglu_gates_with_a_third_map(norm):
    torch.manual_seed(0)
    options = ModelOptions(d_model=6, num_heads=1, d_ff=10, activation=Activation.swiglu, norm=norm).filled()
    layer = FeedForwardLayer(options).double()
    x = torch.randn(2, 3, 6).double()
    h = layer.norm(x) if norm is NormOrder.pre else x
    gate = h @ layer.gate_proj.weight.T + layer.gate_proj.bias
    gated = gate * torch.sigmoid(gate) * layer.in_proj(h)
    expected = x + F.linear(gated, layer.out_proj.weight, layer.out_proj.bias)
    assert_same(layer(x), expected if norm is NormOrder.pre else layer.norm(expected))
