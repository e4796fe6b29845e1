"""Which heads carry a changed word: against models in which it is known."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from planted_log import small_model

from seq2see.decoding import TranslationModel, load
from seq2see.maps.arrays import KINDS
from seq2see.maps.patching import recovered, twins_of
from seq2see.text import EOS
from seq2see.transformer import Transformer

SOURCE, TWIN, PREFIX = [5, 6, 7, 8], [5, 9, 7, 8], [6, 5]


def lively(model: Transformer) -> Transformer:
    """Outputs that lean on the source."""
    torch.manual_seed(1)
    torch.nn.init.normal_(model.output_proj.weight, std=0.5)
    for layer in model.decoder_layers:
        layer.cross_attention.attention.out_proj.weight.data *= 4
    return model.eval()


@pytest.fixture
def trained(small_run: Path) -> TranslationModel:
    """A model of letters that writes, whatever that may be."""
    model = load(str(small_run))
    lively(model.model).output_proj.weight.data[EOS] *= 0.1
    return model


@pytest.mark.parametrize("options", [{}, {"share_layers": True}, {"num_kv_heads": 1}], ids=str)
def test_all_that_a_decoder_knows_of_a_source_comes_by_cross_attention(options: dict) -> None:
    model = lively(small_model(**{"num_decoder_layers": 2, **options})).train()
    found = recovered(model, SOURCE, TWIN, PREFIX, (7, 8))
    assert found.kinds["cross"] == pytest.approx(1, abs=1e-4) and model.training
    assert abs(found.kinds["encoder"] - 1) > 1e-3  # the changed word itself stays changed
    assert {kind: own.shape for kind, own in found.heads.items()} == {
        "encoder": (3, 2),
        "decoder": (2, 2),
        "cross": (2, 2),
    }
    assert found.heads["decoder"][0] == pytest.approx(0, abs=1e-4)  # the first layer reads the same target in both
    assert all(not module._forward_pre_hooks for module in model.modules())
    back = recovered(model, TWIN, SOURCE, PREFIX, (7, 8))
    assert (back.of_source, back.of_twin) == pytest.approx((found.of_twin, found.of_source), abs=1e-4)


def test_the_only_head_that_reads_the_source_brings_all_of_it_back() -> None:
    model = lively(small_model(num_decoder_layers=2))
    with torch.no_grad():
        model.decoder_layers[0].cross_attention.attention.out_proj.weight.zero_()
        model.decoder_layers[1].cross_attention.attention.out_proj.weight[:, 8:] = 0
    found = recovered(model, SOURCE, TWIN, PREFIX, (7, 8))
    np.testing.assert_allclose(found.heads["cross"], [[0, 0], [1, 0]], atol=1e-4)
    np.testing.assert_allclose(found.layers["cross"], [0, 1], atol=1e-4)


def test_a_layer_of_one_head_recovers_what_its_head_does_and_shares_are_of_the_difference() -> None:
    model = lively(small_model(num_heads=1))
    found = recovered(model, SOURCE, TWIN, PREFIX, (7, 8))
    for kind in KINDS:
        np.testing.assert_allclose(found.heads[kind][:, 0], found.layers[kind], atol=1e-5)
    src = torch.tensor([[*SOURCE, EOS], [*TWIN, EOS]])
    with torch.no_grad():
        logits = model(src, src > 0, torch.tensor([[1, *PREFIX]] * 2))[:, -1]
    assert (found.of_source, found.of_twin) == pytest.approx((logits[:, 7] - logits[:, 8]).tolist(), abs=1e-5)


def test_a_twin_is_looked_for_that_has_another_output(trained: TranslationModel) -> None:
    found = twins_of(trained, "a b c d")
    assert found.twin == twins_of(trained, "a b c d").twin  # the draw is fixed
    one, other = (trained.source_tokenizer.encode(text) for text in (found.source, found.twin))
    assert sum(a != b for a, b in zip(one, other, strict=True)) == 1
    assert (
        found.outputs == tuple(trained.translate([found.source, found.twin])) and found.outputs[0] != found.outputs[1]
    )
    labels = [[*trained.target_tokenizer.encode(text), EOS] for text in found.outputs]
    assert labels[0][: found.place] == labels[1][: found.place] and labels[0][found.place] != labels[1][found.place]
    assert found.recovered.of_source > 0 > found.recovered.of_twin
    again = twins_of(trained, found.source, found.twin)
    np.testing.assert_allclose(again.recovered.heads["cross"], found.recovered.heads["cross"], atol=1e-5)


def test_twins_have_as_many_tokens_and_different_outputs(trained: TranslationModel) -> None:
    with pytest.raises(ValueError, match="the source has 3 tokens and its twin 2: .* as many tokens"):
        twins_of(trained, "a b c", "a b")
    with pytest.raises(ValueError, match="the same output: change a word that matters"):
        twins_of(trained, "a b c", "a b c")
    trained.model.output_proj.weight.data.zero_()
    with pytest.raises(ValueError, match="no other output for 64 changes of a word: give a twin that has one"):
        twins_of(trained, "a b c")
