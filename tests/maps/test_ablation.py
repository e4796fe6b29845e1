"""What a head is worth: checked against models in which it is known, and against plain recomputation."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from planted_log import small_model
from torch.nn import functional as F

from seq2see.data import Batch
from seq2see.decoding import greedy
from seq2see.maps.ablation import head_effects
from seq2see.maps.capture import fed_back
from seq2see.options import NormOrder, Position
from seq2see.text import PAD


def spread_out(model) -> None:
    """Weights of a size at which outputs differ from pair to pair."""
    torch.manual_seed(1)
    torch.nn.init.normal_(model.output_proj.weight, std=0.5)


def silenced(model, kind: str, layer: int, head: int):
    """A copy without this head, by zeros in its output projection."""
    other = copy.deepcopy(model)
    layers = other.encoder_layers if kind == "encoder" else other.decoder_layers
    attention = getattr(layers[layer], "cross_attention" if kind == "cross" else "self_attention").attention
    with torch.no_grad():
        attention.out_proj.weight[:, head * 8 : (head + 1) * 8] = 0
    return other


def mean_loss(model, batch: Batch) -> float:
    with torch.no_grad():
        logits = model.eval()(batch.src, batch.src_mask, batch.tgt_in)
        each = F.cross_entropy(logits.transpose(1, 2), batch.tgt_out, ignore_index=PAD, reduction="none")
    return float((each.sum(1) / (batch.tgt_out != PAD).sum(1)).mean())


@pytest.mark.parametrize(
    "options", [{}, {"norm": NormOrder.pre, "position": Position.relative}, {"num_kv_heads": 1}], ids=str
)
def test_ablation_is_the_model_without_the_head(batch: Batch, options: dict) -> None:
    model = small_model(**options)
    spread_out(model)
    effects = head_effects(model, batch)
    whole = mean_loss(model, batch)
    for kind, layer, head in (("encoder", 0, 1), ("encoder", 2, 0), ("decoder", 0, 0), ("cross", 0, 1)):
        expected = mean_loss(silenced(model, kind, layer, head), batch) - whole
        assert effects.ablation_loss[kind][layer, head] == pytest.approx(expected, abs=1e-6)
        assert abs(expected) > 1e-4, "the test sees something"


def test_exact_match_is_what_greedy_decoding_would_give(batch: Batch) -> None:
    model = small_model()
    spread_out(model)
    said = greedy(model, batch.src, batch.src_mask, max_lengths=[12] * 3)
    effects = head_effects(model, fed_back(batch, said))  # with all heads every output is right
    for kind, layer, head in (("encoder", 1, 0), ("decoder", 0, 1), ("cross", 0, 0)):
        without = greedy(silenced(model, kind, layer, head), batch.src, batch.src_mask, max_lengths=[12] * 3)
        same = [one.ids == other.ids for one, other in zip(said, without, strict=True)]
        assert effects.ablation_exact_match[kind][layer, head] == pytest.approx(np.mean(same) - 1)


def test_importance_is_the_slope_of_each_pairs_loss_as_the_head_fades(batch: Batch) -> None:
    model = small_model()
    spread_out(model)
    effects = head_effects(model, batch)
    attention = model.decoder_layers[0].cross_attention.attention
    slopes, step = [], 1e-2
    for pair in range(3):
        alone = Batch(*(part[pair : pair + 1] for part in batch))
        losses = []
        for factor in (1 - step, 1 + step):
            other = copy.deepcopy(model)
            with torch.no_grad():
                other.decoder_layers[0].cross_attention.attention.out_proj.weight[:, :8] = (
                    attention.out_proj.weight[:, :8] * factor
                )
            losses.append(mean_loss(other, alone))
        slopes.append(abs(losses[1] - losses[0]) / (2 * step))
    assert effects.importance["cross"][0, 0] == pytest.approx(np.mean(slopes), rel=0.02, abs=1e-5)


def test_shared_layers_are_switched_off_at_one_depth_alone(batch: Batch) -> None:
    model = small_model(share_layers=True)
    spread_out(model)
    effects = head_effects(model, batch)
    whole, cut = mean_loss(model, batch), silenced(model, "encoder", 0, 0)
    assert effects.ablation_loss["encoder"].shape == (3, 2)
    model.encoder_layers[1] = cut.encoder_layers[0]  # the second of three depths
    assert effects.ablation_loss["encoder"][1, 0] == pytest.approx(mean_loss(model, batch) - whole, abs=1e-6)


def test_nothing_is_left_behind_and_a_head_that_adds_nothing_is_worth_nothing(batch: Batch) -> None:
    model = silenced(small_model(position=Position.rope).train(), "decoder", 0, 1)
    spread_out(model)
    state = torch.get_rng_state()
    with torch.inference_mode():  # as at the end of a validation
        effects = head_effects(model, batch)
    assert model.training and torch.equal(torch.get_rng_state(), state)
    assert all(parameter.grad is None for parameter in model.parameters())
    assert all(not module._forward_pre_hooks for module in model.modules())
    worth = [own["decoder"][0, 1] for own in effects]
    assert worth == pytest.approx([0, 0, 0], abs=1e-6)
