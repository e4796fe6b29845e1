"""Before the first step the model knows nothing: its loss is about that of a guess among all symbols."""

import math

import pytest
import torch
from torch.nn import functional as F

from seq2see.options import Activation, ModelOptions, NormOrder
from seq2see.transformer import Transformer


@pytest.mark.parametrize("tie_embeddings", [False, True])
@pytest.mark.parametrize("norm", NormOrder)
@pytest.mark.parametrize("depth", [1, 2, 12])
@pytest.mark.parametrize("activation", [Activation.relu, Activation.swiglu])
def test_the_loss_at_birth_is_about_log_v_at_any_depth(tie_embeddings, norm, depth, activation):
    torch.manual_seed(0)
    vocabulary = 500
    options = ModelOptions(
        d_model=64,
        num_heads=4,
        d_ff=64,
        num_encoder_layers=depth,
        num_decoder_layers=depth,
        norm=norm,
        activation=activation,
        tie_embeddings=tie_embeddings,
    )
    model = Transformer(options, vocabulary, vocabulary)
    src, tgt = torch.randint(4, vocabulary, (8, 8)), torch.randint(4, vocabulary, (8, 9))
    logits = model(src, torch.ones_like(src, dtype=torch.bool), tgt[:, :-1])
    loss = F.cross_entropy(logits.flatten(0, 1), tgt[:, 1:].flatten())
    assert abs(float(loss.detach()) - math.log(vocabulary)) < 0.4
    loss.backward()
    sizes = [
        float(layer.feed_forward.in_proj.weight.grad.norm()) for layer in (*model.encoder_layers, *model.decoder_layers)
    ]
    assert min(sizes) > 0 and max(sizes) / min(sizes) < 100  # no layer's gradient vanishes or explodes
