"""Maps of other models: kinds of different sizes, cross attention alone, and pages without empty parts."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from planted_log import planted_log
from tabs import needs_browser, press, settle

from seq2see.maps import AttentionLog, from_arrays, from_hf, page
from seq2see.maps import open as open_log

SOURCE, TARGET = ["\u2581the", "\u2581dog", "house", "</s>"], ["\u2581das", "\u2581Haus", "</s>"]


def rows(*shape: int, causal: bool = False) -> np.ndarray:
    powers = np.random.default_rng(0).random(shape)
    powers = np.tril(powers) if causal else powers
    return (powers / powers.sum(-1, keepdims=True)).astype(np.float32)


def layers(number: int, *shape: int, causal: bool = False) -> tuple[torch.Tensor, ...]:
    return tuple(torch.tensor(one) for one in rows(number, 1, *shape, causal=causal))


def unequal() -> AttentionLog:
    """Of an encoder with three layers of two heads and a decoder with one layer of five."""
    outputs = SimpleNamespace(
        encoder_attentions=layers(3, 2, 4, 4),
        decoder_attentions=layers(1, 5, 3, 3, causal=True),
        cross_attentions=layers(1, 5, 3, 4),
        encoder_last_hidden_state=torch.zeros(1, 4, 40),
    )
    return from_hf(outputs, (SOURCE, TARGET))


def test_encoder_and_decoder_may_differ_in_heads(tmp_path: Path):
    log = unequal()
    assert log.maps(0).encoder.shape == (1, 3, 2, 4, 4) and log.maps(0).cross.shape == (1, 1, 5, 3, 4)
    assert len(log.measures()) == 3 * 2 + 2 * 5 and log.model["d_model"] == 40
    assert log.examples[0].source == "the doghouse", "as it is read"
    stored = AttentionLog.create(tmp_path, examples=log.examples, model=log.model)
    stored.append(0, log.maps(0))
    assert '"schema": 3' in (tmp_path / "index.json").read_text(), "an older reader says that it is too old"
    np.testing.assert_allclose(open_log(tmp_path).maps(0).encoder, log.maps(0).encoder, atol=1e-3)
    planted_log(tmp_path / "usual", steps=(0,))
    assert '"schema": 2' in (tmp_path / "usual" / "index.json").read_text(), "and reads all others"


def test_cross_attention_alone_is_a_log_that_is_kept_like_any_other(tmp_path: Path):
    log = from_arrays(SOURCE, TARGET, cross=rows(2, 4, 3, 4))
    assert log.maps(0).encoder.shape == (1, 0, 4, 4, 4) and {row.kind for row in log.measures()} == {"cross"}
    stored = AttentionLog.create(tmp_path, examples=log.examples, model=log.model)
    stored.append(0, log.maps(0))
    np.testing.assert_allclose(open_log(tmp_path).maps(0).cross, log.maps(0).cross, atol=1e-3)
    with pytest.raises(ValueError, match=r"the maps do not fit each other: .*'encoder': \(1, 2, 4, 3, 3\)"):
        from_arrays(SOURCE, TARGET, cross=rows(2, 4, 3, 4), encoder=rows(2, 4, 3, 3))


def test_a_log_says_what_is_in_it(tmp_path: Path):
    assert repr(unequal()) == (
        "<AttentionLog in memory: 1 pair (no true links), step 0; layers x heads: encoder 3 x 2, decoder 1 x 5,"
        " cross 1 x 5; show() or save('maps.html') for the page>"
    )
    said = repr(planted_log(tmp_path / "attention", steps=(0, 1200)))
    assert f"{tmp_path}/attention: 4 pairs (with true links), 2 steps, 0 to 1,200; " in said
    assert "no step yet" in repr(planted_log(steps=()))


def test_show_displays_a_page_without_a_warning(capsys: pytest.CaptureFixture[str]):
    pytest.importorskip("IPython")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        unequal().show()
    assert "<AttentionLog in memory" in capsys.readouterr().out, "where there is no notebook, its description"


@needs_browser[0]
@needs_browser[1]
def test_a_page_of_cross_attention_alone_has_no_empty_parts(open_html: Callable):
    tab = open_html(page.render(from_arrays(SOURCE, TARGET, cross=rows(2, 4, 3, 4))))
    settle(tab)
    assert tab.locator("#kinds button").all_inner_texts() == ["Cross\nthe target looks at the source"]
    assert tab.inner_text("#dims") == "2 layers \u00b7 4 heads"
    hidden = (
        "#tape",
        ".picker",
        ".spark",
        "#cells-field",
        "#fed-field",
        "#worth",
        "[data-needs=links]",
        "[data-needs=free]",
    )
    assert not any(tab.is_visible(part) for part in hidden)
    assert "step" not in tab.inner_text("#main").replace("a step back, a step on", "")
    for part in tab.query_selector_all("section, fieldset, dl, p, label, legend, .segments, .legend"):
        assert not part.is_visible() or part.inner_text().strip() or part.query_selector("canvas"), part.inner_html()
    assert tab.inner_text("#texts").split() == ["source", "the", "doghouse", "</s>", "reference", "das", "Haus"]
    tab.select_option("#other-step", "0")
    settle(tab)
    assert tab.inner_text("#plate-title") == "Cross-attention, layer 2, head 1, minus this head"
    tab.select_option("#other-head", "0.3")
    settle(tab)
    assert tab.inner_text("#plate-title").endswith("minus layer 1, head 4")


@needs_browser[0]
@needs_browser[1]
def test_each_kind_has_its_own_heads(open_html: Callable):
    log = unequal()
    tab = open_html(page.render(log), address="#kind=cross&pair=1&layer=1&head=5&step=0&row=2&column=3")
    settle(tab)
    assert tab.inner_text("#dims") == "width 40 \u00b7 3 + 1 layers \u00b7 2 + 5 heads"
    assert float(tab.inner_text(".readout")) == pytest.approx(log.maps(0).cross[0, 0, 4, 1, 2], abs=0.01)
    tab.click("#tab-encoder")
    settle(tab)
    assert tab.locator("#thumbs .thumb").count() == 6 and "head=2" in tab.url
    tab.focus("#plate")
    press(tab, "Home")
    assert "Layer 1, head 2" in tab.inner_text("#said")
    row = int(tab.url.split("row=")[1].split("&")[0]) - 1
    assert float(tab.inner_text(".readout")) == pytest.approx(log.maps(0).encoder[0, 0, 1, row, 0], abs=0.01)
    tab.click("#tab-decoder")
    settle(tab)
    assert tab.locator("#ledger tbody tr").count() == 5


def test_a_bart_whose_encoder_has_fewer_heads_is_a_log_in_one_line():
    transformers = pytest.importorskip("transformers")
    torch.manual_seed(0)
    sizes = {"encoder_layers": 3, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 4}
    config = transformers.BartConfig(vocab_size=20, d_model=16, encoder_ffn_dim=16, decoder_ffn_dim=16, **sizes)
    model = transformers.BartForConditionalGeneration._from_config(config, attn_implementation="eager").eval()
    ids, labels = torch.tensor([[5, 6, 7, 2]]), torch.tensor([[8, 9, 2]])
    with torch.no_grad():
        outputs = model(input_ids=ids, labels=labels, output_attentions=True)
    log = from_hf(outputs, (SOURCE, TARGET))
    assert log.maps(0).encoder.shape == (1, 3, 2, 4, 4) and log.maps(0).cross.shape == (1, 1, 4, 3, 4)
    assert log.model["d_model"] == 16
