"""The page in a browser."""

from __future__ import annotations

import csv
import io
import re
import sys
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from html import escape
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from planted_log import planted_log, planted_maps
from tabs import go, needs_browser, press, settle, tabs_of, until

from seq2see.maps import AttentionLog, Example, Maps, page

pytestmark = needs_browser


@pytest.fixture(scope="module")
def log() -> AttentionLog:
    """Of three steps, with norms, own outputs and what heads are worth."""
    return planted_log(steps=(0, 100, 1200), variants=True)


@pytest.fixture(scope="module")
def shared(browser, log: AttentionLog, tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    with tabs_of(browser, tmp_path_factory.mktemp("page")) as open_page:
        yield open_page(page.render(log))


@pytest.fixture
def view(shared) -> Callable:
    """The page of `log`, gone to an address."""

    def at(address: str):
        go(shared, address)
        return shared

    return at


@pytest.fixture
def show(open_html: Callable) -> Callable:
    """Opens a page of its own."""

    def open_page(log: AttentionLog, *, html: str | None = None, **how: object):
        tab = open_html(page.render(log) if html is None else html, **how)
        settle(tab)
        return tab

    return open_page


def cells_of(tab, place: str = "#cells") -> str:
    """The pixels of the large map, or of another canvas, to compare."""
    return tab.evaluate(f"document.querySelector('{place}').toDataURL()")


def labels(tab, axis: str) -> list[str]:
    """What the rows or the columns of the large map are named."""
    return tab.evaluate(f"Array.from(document.querySelectorAll('#plate [data-{axis}]'), (label) => label.textContent)")


def readout(tab) -> float:
    return float(tab.inner_text(".readout"))


def test_the_first_view_is_the_best_aligned_head_read_in_words_with_the_slider_in_sight(show, log):
    tab = show(log, width=1366, height=768)
    assert tab.inner_text("#plate-title").startswith("Cross-attention, layer ")
    assert "when predicting \u201csieht\u201d" in tab.inner_text("#said")
    assert "goes to \u201csees\u201d. This is the true link." in tab.inner_text("#said")
    assert tab.get_attribute("#said", "aria-live") == "polite"
    assert "8 hit" in tab.inner_text("#marks") and "0 missed" in tab.inner_text("#marks")
    box = tab.locator("#step").bounding_box()
    assert box["y"] + box["height"] <= 768


def test_play_walks_through_training_and_the_slider_moves_map_scores_and_hypothesis(show, log):
    tab = show(log)
    tab.evaluate(
        "(() => { const name = document.querySelector('#step-name'); window.seen = [];"
        " new MutationObserver(() => window.seen.push(name.textContent)).observe(name, { childList: true });"
        " const play = document.querySelector('#play'); window.pressed = [];"
        " new MutationObserver(() => window.pressed.push(play.getAttribute('aria-pressed')))"
        ".observe(play, { attributeFilter: ['aria-pressed'] }); })()"
    )
    tab.click("#play")
    until(tab, "window.pressed.includes('true') && window.pressed.at(-1) === 'false'")
    settle(tab)
    seen = [name.split(",")[0] for name in tab.evaluate("window.seen")]
    assert list(dict.fromkeys(seen)) == ["step 0", "step 100", "step 1\u202f200"]
    assert tab.input_value("#step") == "2"
    before, texts = cells_of(tab), tab.inner_text("#texts")
    tab.focus("#step")
    press(tab, "Home")
    assert cells_of(tab) != before and tab.inner_text("#texts") != texts
    assert tab.inner_text("#step-name").startswith("step 0")
    assert tab.get_attribute("#step", "aria-valuetext").startswith("step 0") and "step=0" in tab.url


def test_arrow_keys_move_the_cell_and_the_sentence_follows(view, log):
    tab = view("#kind=cross&pair=1&layer=2&head=3&step=1200&row=1&column=1")
    assert readout(tab) == pytest.approx(log.maps(1200).cross[0, 1, 2, 0, 0], abs=0.01)
    tab.focus("#plate")
    press(tab, "ArrowDown", "End")
    said = tab.inner_text("#said")
    assert "when predicting \u201csieht\u201d" in said and "\u201c<eos>\u201d" in said
    press(tab, "Home", "Shift+ArrowRight", "Shift+ArrowRight")
    expected = log.maps(1200).cross[0, 1, 2, 1, :3].sum()
    assert f"{expected:.2f} of the attention goes to \u201ctoday the small\u201d" in tab.inner_text("#said")
    assert "row=2&column=1-3" in tab.url


def test_everything_can_be_reached_with_the_keyboard(view):
    tab = view("#kind=cross&step=1200")
    reached = set()
    for _ in range(120):
        tab.keyboard.press("Tab")
        reached |= set(
            tab.evaluate("[document.activeElement.id, document.activeElement.parentElement?.closest('[id]')?.id]")
        )
    wanted = {
        "cells-choice", "fed", "example", "example-on", "tab-cross",
        "measure", "sorted", "thumbs", "scale", "rows", "other-step", "drawing",
        "plate", "truth", "play", "step", "ledger", "theme", "save-svg", "save-png", "save-csv", "copy-link",
    }  # fmt: skip
    assert wanted <= reached


def test_tabs_and_heads_follow_the_arrow_keys_and_rows_can_be_named_for_what_they_read(view):
    tab = view("#kind=cross&pair=1&layer=2&head=4&step=1200&row=1&column=1")
    assert labels(tab, "row")[0] == "heute" and "0 hit" in tab.inner_text("#marks")
    tab.click("#rows [data-value=reads]")
    settle(tab)
    assert labels(tab, "row")[0] == "<bos>" and "8 hit" in tab.inner_text("#marks")
    tab.focus("#tab-cross")
    press(tab, "ArrowLeft")
    assert tab.get_attribute("#tab-decoder", "aria-selected") == "true"
    assert tab.evaluate("document.activeElement.id") == "tab-decoder"
    assert tab.locator("path.hidden-cells").count() == 1, "cells that come later are hatched"
    tab.focus("#thumbs [aria-pressed=true]")
    press(tab, "ArrowLeft")
    assert tab.evaluate("document.activeElement.getAttribute('aria-label')").startswith("Layer ")
    assert tab.evaluate("document.activeElement.getAttribute('aria-pressed')") == "true"


def test_two_steps_compare_as_a_signed_map(view, log):
    tab = view("#kind=cross&pair=1&layer=2&head=3&step=1200&row=2&column=5")
    tab.select_option("#other-step", "0")
    settle(tab)
    change = log.maps(1200).cross[0, 1, 2, 1, 4] - log.maps(0).cross[0, 1, 2, 1, 4]
    assert readout(tab) == pytest.approx(change, abs=0.015)
    assert "more of the attention goes to \u201csees\u201d than in this head at step 0" in tab.inner_text("#said")
    assert "with=0.2.3" in tab.url


def test_the_table_sorts_by_any_measure(show, log):
    tab = show(log)
    tab.click("#ledger th button:has-text('entropy')")
    settle(tab)
    values = [float(text) for text in tab.locator("#ledger tbody td:nth-child(7) span").all_inner_texts()]
    assert values == sorted(values, reverse=True)
    tab.check("#sorted")
    settle(tab)
    figures = [float(text) for text in tab.locator("#thumbs b").all_inner_texts()]
    assert figures == sorted(figures)


def test_the_address_brings_back_the_view_and_what_it_leaves_out_is_as_usual(view):
    address = "#kind=encoder&pair=2&layer=1&head=2&step=100&row=3&column=4&scale=sqrt&drawing=lines"
    tab = view(address)
    assert tab.url.endswith(address)
    assert tab.inner_text("#plate-title") == "Encoder self-attention, layer 1, head 2"
    assert tab.locator("path.chosen-join").count() == 1
    go(tab, "#kind=cross&pair=1&layer=2&head=3&step=1200&cells=norms&scale=sqrt&with=0.1.1")
    assert "norms" in tab.inner_text("#plate-title") and "minus" in tab.inner_text("#plate-title")
    go(tab, "#kind=cross&pair=1&layer=2&head=3&step=100")
    assert tab.inner_text("#plate-title") == "Cross-attention, layer 2, head 3"
    assert "scale" not in tab.url and "with" not in tab.url


def test_a_page_made_with_a_view_opens_with_it_until_the_address_has_another(show, log):
    html = page.render(log, view={"kind": "decoder", "layer": 1, "head": 4, "step": 100, "cells": "norms"})
    for address, title, step in (
        ("", "Decoder self-attention, layer 1, head 4, norms", "step 100"),
        ("#kind=cross&layer=2&head=3&step=0", "Cross-attention, layer 2, head 3", "step 0"),
    ):
        tab = show(log, html=html, address=address)
        assert tab.inner_text("#plate-title") == title
        assert tab.inner_text("#step-name").startswith(step)


def test_svg_and_csv_hold_the_view(view, log, tmp_path: Path):
    tab = view("#kind=cross&pair=1&layer=2&head=3&step=1200&row=2&column=5")
    with tab.expect_download() as waiting:
        tab.click("#save-svg")
    waiting.value.save_as(tmp_path / "view.svg")
    drawing = ElementTree.parse(tmp_path / "view.svg").getroot()
    names = [node.text for node in drawing.iter("{http://www.w3.org/2000/svg}text")]
    assert {"sieht", "sees", "Cross-attention, layer 2, head 3"} <= set(names)
    assert len(list(drawing.iter("{http://www.w3.org/2000/svg}rect"))) >= 81
    with tab.expect_download() as waiting:
        tab.click("#save-csv")
    waiting.value.save_as(tmp_path / "view.csv")
    rows = list(csv.reader(io.StringIO((tmp_path / "view.csv").read_text(encoding="utf-8"))))
    weights = np.array([[float(cell) for cell in row[2:]] for row in rows[1:]])
    np.testing.assert_allclose(weights, log.maps(1200).cross[0, 1, 2, :9, :9], atol=0.01)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_colours_follow_the_system_and_the_button(show, log, scheme: str):
    tab = show(log, scheme=scheme)
    brightness = "(() => getComputedStyle(document.body).backgroundColor.match(/\\d+/g).map(Number)[0])()"
    assert (tab.evaluate(brightness) < 60) == (scheme == "dark")
    before = cells_of(tab)
    while tab.inner_text("#theme") != ("Light" if scheme == "dark" else "Dark"):
        tab.click("#theme")
    settle(tab)
    assert (tab.evaluate(brightness) < 60) == (scheme == "light")
    assert cells_of(tab) != before


def test_it_is_usable_at_360_pixels(show, log):
    tab = show(log, width=360, height=740)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    box = tab.locator("#cells").bounding_box()
    assert box["x"] >= 0 and box["x"] + box["width"] <= 360 and box["width"] > 150
    tab.mouse.click(box["x"] + 5, box["y"] + 5)
    settle(tab)
    assert "row=1&column=1" in tab.url


def test_hostile_long_right_to_left_and_wide_tokens_are_only_text(show):
    words = (
        "</script><script>alert(1)</script>",
        "<img src=x onerror=alert(2)>",
        "מרחבא",
        "注意力机制",
        "x" * 200,
        "{{data}}",
    )
    text = " ".join(words)
    examples = [
        Example(0, text, text, (*words, "<eos>"), (*words, "<eos>"), links=tuple((i, i) for i in range(6))),
        Example(1, "a", "", ("a", "<eos>"), ("<eos>",)),
    ]
    log = planted_log(None, steps=(0, 10), examples=examples, variants=True)
    tab = show(log, address="#kind=cross&pair=1&layer=1&head=1&step=10&row=1&column=2")
    assert tab.locator("img").count() == 0
    assert words[0] in tab.inner_text("#texts") and words[1] in tab.inner_text("#said")
    for drawing, pair, fed in (("map", 1, "reference"), ("lines", 1, "output"), ("map", 2, "output"), ("lines", 2, "")):
        go(tab, f"#kind=decoder&pair={pair}&drawing={drawing}&fed={fed}&cells=norms")
        assert tab.evaluate("document.documentElement.scrollWidth") <= 1280
        assert tab.locator("img").count() == 0


def test_a_map_of_512_by_512_draws(show):
    size = 512
    tokens = (*(f"t{i}" for i in range(size - 1)), "<eos>")
    text = " ".join(tokens[:-1])
    model = {"d_model": 8, "num_heads": 1, "num_encoder_layers": 1, "num_decoder_layers": 1}
    straight = np.eye(size, dtype=np.float32)[None, None, None]
    log = AttentionLog.of_maps(
        Maps(straight, straight, straight), examples=[Example(0, text, text, tokens, tokens)], model=model
    )
    tab = show(log)
    side = tab.evaluate("document.querySelector('#cells').width")
    assert side >= size
    first, middle, corner = tab.evaluate(
        "(() => { const canvas = document.querySelector('#cells'), s = canvas.width;"
        " const pixels = canvas.getContext('2d').getImageData(0, 0, s, s).data;"
        " const at = (x, y) => Array.from(pixels.slice(4 * (y * s + x), 4 * (y * s + x) + 3)).join();"
        " return [at(1, 1), at(s / 2 + 1, s / 2 + 1), at(s - 2, 2)]; })()"
    )
    assert first == middle != corner
    assert "1.00 of the attention" in tab.inner_text("#said")
    tab.focus("#plate")
    press(tab, "End")
    assert "\u201c<eos>\u201d" in tab.inner_text("#said")
    assert tab.evaluate("document.querySelector('#stage').scrollLeft") > 0, "the chosen cell is brought into sight"


def test_a_log_of_one_step_without_truth_norms_or_outputs_offers_none_of_them(show):
    examples = [Example(0, "a b", None, ("a", "b", "<eos>"), ("x", "<eos>"))]
    model = {"d_model": 8, "num_heads": 2, "num_encoder_layers": 1, "num_decoder_layers": 2}
    empty = AttentionLog.create(None, examples=examples, model=model)
    log = AttentionLog.of_maps(planted_maps(empty, 5), examples=examples, model=model, step=5)
    tab = show(log, address="#kind=cross&pair=1&layer=1&head=1&step=5&cells=norms&fed=output")
    assert not any(tab.is_visible(part) for part in ("#tape", "#cells-field", "#fed-field"))
    assert "" == tab.inner_text("#marks") == tab.inner_text("#worth") == tab.inner_text("#variant-note")
    assert tab.inner_text("#plate-title") == "Cross-attention, layer 1, head 1"
    assert "reference" not in tab.inner_text("#texts")


def test_norms_take_the_place_of_weights_on_the_page_in_the_address_and_in_words(view, log):
    tab = view("#kind=cross&pair=1&layer=2&head=3&step=1200&row=9&column=9")
    canvases = ("#cells", "#thumbs canvas", "#film canvas")
    before, weight = [cells_of(tab, canvas) for canvas in canvases], readout(tab)
    tab.focus("#plate")
    press(tab, "n")
    assert all(cells_of(tab, canvas) != old for canvas, old in zip(canvases, before, strict=True))
    assert "cells=norms" in tab.url and tab.inner_text("#plate-title").endswith(", norms")
    assert readout(tab) == pytest.approx(log.maps(1200).cross_norm[0, 1, 2, 8, 8], abs=0.01) != weight
    assert f"{tab.inner_text('.readout')} of what the head adds comes from \u201c<eos>\u201d" in tab.inner_text("#said")
    tab.click("#cells-choice >> text=weights")
    settle(tab)
    assert "cells" not in tab.url and readout(tab) == weight


def test_own_outputs_have_their_own_words_rows_and_marks_at_each_step(view, log):
    tab = view("#kind=cross&pair=3&layer=1&head=1&step=100")
    tab.click("#fed >> text=own output")
    settle(tab)
    tokens = log.at(100).hypothesis_tokens[2]
    assert tokens != log.examples[2].target_tokens
    assert "fed=output" in tab.url and tab.inner_text("#plate-title").endswith(", own output")
    assert labels(tab, "row") == list(tokens)
    assert tab.inner_text("#marks") == "", "the true links are those of another text"
    tab.focus("#plate")
    press(tab, "Home")
    said = tab.inner_text("#said")
    assert "Layer 1, head 1, fed its own output: when predicting" in said
    row = int(re.search(r"row=(\d+)", tab.url).group(1)) - 1
    expected = log.maps(100).cross_free[2, 0, 0, row, 0]
    assert readout(tab) == pytest.approx(expected, abs=0.01)
    press(tab, ".")
    assert labels(tab, "row") == list(log.at(1200).hypothesis_tokens[2]) == list(log.examples[2].target_tokens)
    assert "hit" in tab.inner_text("#marks"), "the output is the reference, so its links are known"
    press(tab, "n")
    assert tab.inner_text("#plate-title").endswith(", norms, own output")
    tab.click("#tab-encoder")
    settle(tab)
    assert not tab.is_visible("#fed-field") and "own output" not in tab.inner_text("#plate-title")
    tab.click("#tab-decoder")
    settle(tab)
    assert labels(tab, "column") == ["<bos>", *log.at(1200).hypothesis_tokens[2][:-1]]
    press(tab, "o")
    assert "fed" not in tab.url


def test_maps_of_two_different_texts_are_not_subtracted(view, log):
    tab = view("#kind=cross&pair=3&layer=1&head=1&step=100&fed=output&with=1200.1.1")
    assert "different texts" in tab.inner_text("#compare-note")
    assert "minus" not in tab.inner_text("#plate-title")
    tab.click("#shows >> text=other")
    settle(tab)
    assert labels(tab, "row") == list(log.at(1200).hypothesis_tokens[2])
    tab.click("#fed >> text=reference")
    tab.click("#shows >> text=difference")
    settle(tab)
    assert tab.inner_text("#compare-note") == "" and "minus" in tab.inner_text("#plate-title")


def test_what_a_head_is_worth_stands_beside_its_map_and_in_the_table(view):
    tab = view("#kind=decoder&pair=1&layer=1&head=1&step=1200")
    assert tab.inner_text("#worth") == "head off: loss \u00b10.000, exact match \u22120.08"
    go(tab, "#kind=decoder&pair=1&layer=2&head=4&step=1200")
    assert tab.inner_text("#worth") == "head off: loss +0.130, exact match \u22120.08"
    tab.click("#ledger >> text=off: loss")
    settle(tab)
    assert tab.inner_text("#ledger tbody tr:first-child th") == "L2 H4"
    tab.select_option("#measure", "importance")
    tab.check("#sorted")
    settle(tab)
    assert tab.inner_text("#thumbs .thumb:first-child .thumb-name").split() == ["2.4", "0.065"]
    tab.focus("#plate")
    press(tab, ",")
    assert tab.inner_text("#worth").endswith("exact match \u22120.08 at step 1\u202f200")
    assert "were measured at step 1\u202f200" in tab.inner_text("#ledger-note")


def test_steps_that_went_without_norms_say_so(show):
    log = planted_log(variants=True)
    html = page.render(log, max_megabytes=len(page.render(log)) * 0.95 / 1e6)
    tab = show(log, html=html, address="#kind=cross&pair=1&layer=1&head=1&step=1200&cells=norms&fed=output")
    assert tab.inner_text("#plate-title").endswith(", norms, own output") and tab.inner_text("#variant-note") == ""
    tab.focus("#plate")
    press(tab, ",")
    assert "norms" not in tab.inner_text("#plate-title") and "Left out at this step" in tab.inner_text("#variant-note")
    assert re.search(r"norms and own outputs at \d+ of \d+ steps", tab.inner_text("#left-out"))


def test_it_waits_in_a_frame_that_has_no_width_yet(open_html):
    inner = escape(page.render(planted_log(steps=(0, 100))))
    tab = open_html(f'<!DOCTYPE html><title>notebook</title><iframe width="0" srcdoc="{inner}"></iframe>')
    inside = next(each for each in tab.frames if each is not tab.main_frame)
    inside.wait_for_selector("html[data-settled]", state="attached")
    tab.evaluate("document.querySelector('iframe').width = 900")
    until(inside, "document.querySelector('#plate canvas').getBoundingClientRect().width > 100")


def test_it_works_inside_a_notebooks_frame_and_says_what_to_do_where_there_is_none(
    open_html, monkeypatch: pytest.MonkeyPatch
):
    log, shown, display = planted_log(steps=(0, 100), variants=True), [], ModuleType("IPython.display")
    display.display = lambda bundle, raw: shown.append(bundle)  # pyright: ignore
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setitem(sys.modules, "IPython.display", display)
    log.show(height=700)
    frame, text = shown[0]["text/html"], shown[0]["text/plain"]
    assert frame.startswith('<iframe srcdoc="&lt;!DOCTYPE html&gt;') and "height: 700px" in frame
    assert frame.count('"') == 8 and frame.count("<") == 2, "nothing inside ends the attribute"
    assert "4 pairs (with true links), 2 steps, 0 to 100" in text and "cross 2 x 4" in text
    tab = open_html(f"<!DOCTYPE html><title>notebook</title>{frame}")
    inside = next(each for each in tab.frames if each is not tab.main_frame)
    inside.wait_for_selector("html[data-settled]")
    inside.press("#step", "Home")
    until(inside, "document.querySelector('#step-name').textContent.startsWith('step 0')")
    settle(inside)
    assert "Cross-attention" in inside.inner_text("#plate-title")
    monkeypatch.setitem(sys.modules, "IPython.display", None)
    with pytest.raises(ImportError, match=r"needs IPython.* save\('maps\.html'\)"):
        log.show()
