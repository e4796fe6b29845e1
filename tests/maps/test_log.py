"""Maps of other models: arrays, and what Hugging Face models return."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from seq2see.maps import from_arrays, from_hf

SOURCE, TARGET = ["the", "dog", "</s>"], ["der", "Hund", "da", "</s>"]


def rows(*shape: int, seed: int = 0, causal: bool = False) -> np.ndarray:
    """Weights whose rows sum to 1."""
    powers = np.random.default_rng(seed).random(shape)
    powers = np.tril(powers) if causal else powers
    return powers / powers.sum(-1, keepdims=True)


def one_pair() -> dict[str, np.ndarray]:
    return {"encoder": rows(2, 4, 3, 3), "decoder": rows(1, 4, 4, 4, causal=True), "cross": rows(1, 4, 4, 3)}


def hf_outputs(pairs: int = 2) -> SimpleNamespace:
    """What a model of three encoder and two decoder layers would return, as tensors."""
    return SimpleNamespace(
        encoder_attentions=tuple(torch.tensor(rows(pairs, 4, 5, 5, seed=layer)) for layer in range(3)),
        decoder_attentions=tuple(torch.tensor(rows(pairs, 4, 4, 4, seed=layer, causal=True)) for layer in range(2)),
        cross_attentions=tuple(torch.tensor(rows(pairs, 4, 4, 5, seed=layer)).bfloat16() for layer in range(2)),
    )


def test_one_pair_of_arrays_is_a_log_with_measures_and_a_page(tmp_path: Path) -> None:
    given = one_pair()
    log = from_arrays(SOURCE, TARGET, **given, links=[[(0, 0), (1, 1)]])
    np.testing.assert_allclose(log.maps(0).cross[0], given["cross"], atol=1e-6)
    assert log.model["num_encoder_layers"] == 2 and log.model["num_decoder_layers"] == 1
    assert log.examples[0].source == "the dog" and log.examples[0].reference == "der Hund da"
    assert 0 <= log.measures()[-1].alignment_error_rate <= 1
    assert "Hund" in log.save(tmp_path / "maps.html").read_text(encoding="utf-8")


def test_padding_goes_by_the_mask_on_either_side() -> None:
    source = np.array([[1, 1, 1, 0, 0], [0, 0, 1, 1, 1]])
    given = {"encoder": rows(2, 3, 4, 5, 5), "decoder": rows(2, 2, 4, 4, 4, causal=True), "cross": rows(2, 2, 4, 4, 5)}
    for name in ("encoder", "cross"):
        given[name] *= source[:, None, None, None]
        given[name] /= given[name].sum(-1, keepdims=True)
    sources = [["a", "b", "</s>", "<pad>", "<pad>"], ["c", "d", "</s>"]]
    log = from_arrays(sources, [TARGET, TARGET], **given, source_mask=source)
    assert [example.source_tokens for example in log.examples] == [("a", "b", "</s>"), ("c", "d", "</s>")]
    np.testing.assert_allclose(log.maps(0).cross[0], given["cross"][0, ..., :3], atol=1e-6)
    np.testing.assert_allclose(log.maps(0).cross[1], given["cross"][1, ..., 2:], atol=1e-6)
    np.testing.assert_allclose(log.maps(0).encoder[1], given["encoder"][1][..., 2:, 2:], atol=1e-6)


def test_hugging_face_outputs_become_all_three_kinds() -> None:
    outputs = hf_outputs()
    log = from_hf(outputs, ([["a", "b", "c", "d", "</s>"]] * 2, [TARGET] * 2))
    maps = log.maps(0)
    assert [own.shape for own in maps[:3]] == [(2, 3, 4, 5, 5), (2, 2, 4, 4, 4), (2, 2, 4, 4, 5)]
    np.testing.assert_allclose(maps.cross[1, 1], outputs.cross_attentions[1][1].float().numpy(), atol=1e-6)


def test_small_random_models_of_hugging_face_are_shown_whatever_their_depths_and_padding() -> None:
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    t5 = transformers.T5ForConditionalGeneration._from_config(
        transformers.T5Config(
            vocab_size=20,
            d_model=16,
            d_kv=4,
            d_ff=16,
            num_layers=2,
            num_decoder_layers=1,
            num_heads=4,
            decoder_start_token_id=0,
        ),
        attn_implementation="eager",
    )
    marian = transformers.MarianMTModel._from_config(
        transformers.MarianConfig(
            vocab_size=20,
            d_model=16,
            encoder_layers=3,
            decoder_layers=2,
            encoder_attention_heads=4,
            decoder_attention_heads=4,
            encoder_ffn_dim=16,
            decoder_ffn_dim=16,
            max_position_embeddings=32,
            pad_token_id=19,
            eos_token_id=1,
            decoder_start_token_id=19,
            forced_eos_token_id=None,
        ),
        attn_implementation="eager",
    )
    ids, labels = torch.tensor([[5, 6, 1, 0], [7, 8, 9, 1]]), torch.tensor([[4, 1, -100], [5, 6, 1]])
    tokens = ([["a", "b", "</s>"], ["c", "d", "e", "</s>"]], [["x", "</s>"], ["y", "z", "</s>"]])
    for model, encoder_layers, decoder_layers in ((t5, 2, 1), (marian, 3, 2)):
        with torch.no_grad():
            outputs = model.eval()(
                input_ids=ids, attention_mask=(ids != 0).int(), labels=labels, output_attentions=True
            )
        log = from_hf(outputs, tokens, source_mask=ids != 0, target_mask=labels != -100)
        assert log.maps(0).encoder.shape == (2, encoder_layers, 4, 4, 4)
        assert log.maps(0).decoder.shape == (2, decoder_layers, 4, 3, 3)
        np.testing.assert_allclose(log.maps(0).cross[1, -1], outputs.cross_attentions[-1][1].numpy(), atol=1e-6)
        assert (log.maps(0).cross[0, ..., 3:] == 0).all()
        assert len(log.measures()) == 4 * (encoder_layers + 2 * decoder_layers)


@pytest.mark.parametrize(
    ("kind", "layers"),
    [("cross", None), ("encoder", ()), ("encoder", (None, None)), ("decoder", ((torch.ones(1),),))],
)
def test_outputs_without_maps_say_how_to_get_them(kind: str, layers: tuple | None) -> None:
    outputs = SimpleNamespace(**{**vars(hf_outputs()), f"{kind}_attentions": layers})
    with pytest.raises(
        ValueError, match=rf"outputs\.{kind}_attentions is no tensor a layer; .*eager.*not generate\(\)"
    ):
        from_hf(outputs, (["a"] * 5, TARGET))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"cross": rows(1, 2, 4, 3)}, r"the maps do not fit each other: .*'cross': \(1, 1, 2, 4, 3\)"),
        ({"cross": rows(4, 3)}, r"the maps do not fit each other"),
        ({"encoder": rows(3)}, r"the maps do not fit each other"),
        ({"cross": 2 * rows(1, 4, 4, 3)}, "cross, pair 0: a row's weights miss 1 by 1; give weights after the softmax"),
        ({"target_tokens": ["a"] * 6}, "pair 0: 6 target tokens for 4 of 4 places"),
        ({"source_mask": [1, 1, 0, 0]}, r"source_mask has shape \(1, 4\), the maps need \(1, 3\)"),
        ({"links": []}, "0 links for maps of 1 pairs"),
        ({"source_tokens": [SOURCE] * 2}, "2 source_tokens, .* for maps of 1 pairs"),
    ],
)
def test_arrays_that_do_not_fit_are_named(change: dict, message: str) -> None:
    given = {"source_tokens": SOURCE, "target_tokens": TARGET, **one_pair(), **change}
    with pytest.raises(ValueError, match=message):
        from_arrays(**given)
