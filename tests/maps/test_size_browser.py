"""Many heads and many tokens: small pictures lose no strong cell, captions can be read, all heads stand in one view."""

from __future__ import annotations

from collections.abc import Callable
from itertools import combinations

import numpy as np
import pytest
from planted_log import MODEL, planted_examples, planted_log, planted_maps, softmax
from tabs import go, needs_browser, press, settle

from seq2see.maps import AttentionLog, Example, Maps, page

pytestmark = needs_browser

VIEW = "#kind=cross&pair=1&layer=1&head=1&step=1"


def log_of(size: int, num_layers: int, num_heads: int) -> AttentionLog:
    """Noise of `size` tokens at two steps, but for the first head of the first layer, which looks one token ahead."""
    tokens = (*(f"t{i}" for i in range(size - 1)), "<eos>")
    example = Example(0, " ".join(tokens[:-1]), " ".join(tokens[:-1]), tokens, tokens, links=None)
    model = {"d_model": 64, "num_heads": num_heads, "num_encoder_layers": num_layers, "num_decoder_layers": num_layers}
    shape = (1, num_layers, num_heads, size, size)
    noise = np.random.default_rng(0).normal(size=shape)
    maps = softmax(noise, np.ones(shape, bool))
    maps[0, 0, 0] = np.eye(size, k=1, dtype=np.float32)
    maps[0, 0, 0, -1, -1] = 1
    decoder = softmax(noise, np.broadcast_to(np.tri(size, dtype=bool), shape))
    log = AttentionLog.create(None, examples=[example], model=model)
    for step in (0, 1):
        log.append(step, Maps(maps, decoder, maps), hypotheses=[example.reference or ""])
    return log


@pytest.fixture
def show(open_html: Callable) -> Callable:
    def open_page(log: AttentionLog, address: str = VIEW, **how: object):
        tab = open_html(page.render(log), address=address, **how)
        settle(tab)
        return tab

    return open_page


def boxes(tab, place: str) -> list[dict[str, float]]:
    script = "all => all.map(one => one.getBoundingClientRect().toJSON())"
    return tab.eval_on_selector_all(place, script)


def overlap(one: dict[str, float], other: dict[str, float]) -> bool:
    return all(
        one[start] < other[end] and other[start] < one[end] for start, end in (("left", "right"), ("top", "bottom"))
    )


@pytest.mark.parametrize("place", ["#film button:first-child canvas", "#thumbs .thumb canvas"])
def test_a_head_that_looks_one_token_ahead_is_seen_in_every_small_picture(show, place: str):
    tab = show(log_of(128, 2, 8))
    rows, columns, painted, shown = tab.locator(place).first.evaluate(
        "(canvas) => { const { width, height } = canvas;"
        " const { data } = canvas.getContext('2d').getImageData(0, 0, width, height);"
        " const rows = new Set(); const columns = new Set();"
        " for (let i = 0; i < width * height; i += 1) if (data[4 * i] + data[4 * i + 1] + data[4 * i + 2] < 300)"
        " { rows.add(Math.floor(i / width)); columns.add(i % width); }"
        " return [rows.size, columns.size, width, canvas.clientWidth]; }"
    )
    assert painted <= shown < 128, "no cell is left out between canvas and screen"
    assert min(rows, columns) >= painted - 1


def test_eight_heads_have_pictures_that_can_be_seen_and_captions_that_can_be_read(show):
    tab = show(log_of(9, 2, 8), width=1366, height=650)
    assert min(box["width"] for box in boxes(tab, "#thumbs canvas")) >= 24
    assert len({box["left"] for box in boxes(tab, "#thumbs canvas")}) == 4, "four a line"
    captions = boxes(tab, "#thumbs .thumb-name > *, #thumbs .line-name, #thumbs canvas")
    assert not any(overlap(*pair) for pair in combinations(captions, 2))


def test_of_many_heads_the_chosen_one_is_in_sight_beside_the_map(show):
    tab = show(log_of(9, 12, 16), VIEW.replace("layer=1&head=1", "layer=12&head=16"), width=1366, height=650)
    box, chosen = boxes(tab, "#thumbs, #thumbs [aria-pressed=true]")
    assert box["top"] <= chosen["top"] and chosen["bottom"] <= box["bottom"] < 650
    assert tab.evaluate("window.scrollY") == 0


def test_all_heads_open_with_a_button_and_a_key_and_one_is_enlarged_with_the_mouse_or_enter(show):
    log = planted_log(steps=(0, 100, 1200), variants=True)
    tab = show(log, "#kind=cross&pair=1&layer=2&head=3&step=1200")
    tab.click("#drawing >> text=All heads")
    settle(tab)
    assert "drawing=heads" in tab.url and tab.inner_text("#plate-title") == "Cross-attention, all 8 heads"
    assert tab.locator("#thumbs .thumb").count() == 8 and not tab.is_visible("#stage")
    assert tab.locator("#thumbs .line-name").all_inner_texts() == ["L1", "L2"]
    assert tab.locator("#thumbs .thumb-name span").all_inner_texts() == ["H1", "H2", "H3", "H4"] * 2
    assert len({box["top"] for box in boxes(tab, "#thumbs canvas")}) == 2, "a line a layer"
    tab.click("#thumbs .thumb-line:nth-child(1) .thumb:nth-of-type(2)")
    settle(tab)
    assert tab.inner_text("#plate-title") == "Cross-attention, layer 1, head 2"
    assert tab.locator("#cells").bounding_box()["width"] > 200 and "drawing" not in tab.url
    press(tab, "a")
    tab.focus("#thumbs [aria-pressed=true]")
    press(tab, "ArrowDown", "ArrowRight")
    assert "layer=2&head=3" in tab.url and "drawing=heads" in tab.url
    press(tab, "Enter")
    assert tab.inner_text("#plate-title") == "Cross-attention, layer 2, head 3"
    assert float(tab.inner_text(".readout")) > 0


def test_the_address_brings_all_heads_back_at_their_step_and_pair(show):
    log = planted_log(steps=(0, 100, 1200), variants=True)
    tab = show(log, "#kind=encoder&pair=2&layer=1&head=2&step=100&drawing=heads")
    assert tab.inner_text("#plate-title") == "Encoder self-attention, all 8 heads"
    picture = "document.querySelectorAll('#thumbs canvas')[5].toDataURL()"
    before = tab.evaluate(picture)
    tab.click("#step-on")
    settle(tab)
    assert "step=1200&" in tab.url and "drawing=heads" in tab.url and tab.evaluate(picture) != before
    go(tab, "#kind=encoder&pair=2&layer=1&head=2&step=100&drawing=heads")
    assert tab.evaluate(picture) == before
    assert tab.is_disabled("#save-csv")
    press(tab, "m")
    assert tab.locator("#cells").bounding_box()["width"] > 200 and not tab.is_disabled("#save-csv")
    go(tab, "#kind=decoder&pair=2&layer=1&head=2&step=100&drawing=heads")
    assert tab.locator("#thumbs canvas").first.evaluate(
        "(canvas) => [...canvas.getContext('2d').getImageData(canvas.width - 1, 0, 1, 1).data]"
    ) == [0, 0, 0, 0], "what comes later is clear, over the hatching"


def test_twelve_layers_of_sixteen_heads_can_be_read_on_a_laptop_and_on_a_phone(show):
    log = log_of(9, 12, 16)
    tab = show(log, f"{VIEW}&drawing=heads", width=1366, height=650)
    pictures = boxes(tab, "#thumbs canvas")
    assert len(pictures) == 192 and min(box["width"] for box in pictures) >= 64
    assert max(box["right"] for box in pictures) <= 1366
    captions = boxes(tab, "#thumbs .thumb-name > *, #thumbs .line-name, #thumbs canvas")
    assert not any(overlap(*pair) for pair in combinations(captions, 2))
    slider = tab.locator("#step").bounding_box()
    assert slider["y"] + slider["height"] <= 650, "the slider stays in sight"
    tab.focus("#thumbs [aria-pressed=true]")
    press(tab, *["ArrowDown"] * 7)
    chosen, tape = (tab.locator(place).bounding_box() for place in ("#thumbs [aria-pressed=true]", "#tape"))
    assert 0 <= chosen["y"] and chosen["y"] + chosen["height"] <= tape["y"], (
        "and covers no head that the keyboard is at"
    )
    tab.click("#thumbs .thumb-line:nth-child(12) .thumb >> nth=15")
    settle(tab)
    assert tab.inner_text("#plate-title") == "Cross-attention, layer 12, head 16"
    assert 0 <= tab.locator("#plate-title").bounding_box()["y"] < 300, "its map comes into sight"
    phone = show(log, f"{VIEW}&drawing=heads", width=390, height=844)
    assert min(box["width"] for box in boxes(phone, "#thumbs canvas")) >= 40
    assert phone.evaluate("document.documentElement.scrollWidth") <= 390


def figures_of(tab) -> list[float]:
    texts = tab.locator("#thumbs b").all_inner_texts()
    return [float(text.replace("\u2212", "-").replace("\u00b1", "")) for text in texts]


def test_all_heads_are_compared_each_with_itself_at_another_step_or_in_another_run(open_html: Callable):
    log, other = planted_log(steps=(0, 100)), planted_log(steps=(0, 50))
    html = page.render(log, other=("again", other))
    tab = open_html(html, address="#kind=cross&pair=1&layer=2&head=3&step=100&drawing=heads&with=other.50.1.2")
    settle(tab)
    assert tab.inner_text("#plate-title") == "Cross-attention, all 8 heads, minus those of again at step 50"
    rates = figures_of(tab)
    ours, theirs = (
        {
            (row.layer, row.head): row.alignment_error_rate
            for row in own.measures()
            if (row.kind, row.step) == ("cross", step)
        }
        for own, step in ((log, 100), (other, 50))
    )
    np.testing.assert_allclose(rates, [ours[place] - theirs[place] for place in sorted(ours)], atol=0.006)
    tab.check("#sorted")
    settle(tab)
    assert figures_of(tab) == sorted(rates), "the order is that of what is shown"
    tab.uncheck("#sorted")
    settle(tab)
    picture = "document.querySelectorAll('#thumbs canvas')[1].toDataURL()"
    seen = {tab.evaluate(picture)}
    for shows in ("this", "other"):
        tab.click(f"#shows >> text={shows}")
        settle(tab)
        seen.add(tab.evaluate(picture))
    assert len(seen) == 3
    assert tab.inner_text("#plate-title") == "Cross-attention, all 8 heads of again at step 50"
    tab.click("#thumbs .thumb >> nth=1")
    settle(tab)
    assert tab.inner_text("#plate-title") == "Cross-attention, layer 1, head 2 of again at step 50"
    go(tab, "#kind=cross&pair=1&layer=2&head=3&step=100&drawing=heads&with=0.1.1")
    assert tab.inner_text("#plate-title") == "Cross-attention, all 8 heads, minus those at step 0"


def test_all_heads_of_two_models_of_different_sizes_are_those_of_the_first(open_html: Callable):
    other = AttentionLog.create(None, examples=planted_examples(), model={**MODEL, "num_heads": 2})
    other.append(0, planted_maps(other, 0), hypotheses=[""] * 4)
    html = page.render(planted_log(steps=(0, 100)), other=("small", other))
    tab = open_html(html, address="#kind=cross&pair=1&layer=2&head=3&step=100&drawing=heads&with=other")
    settle(tab)
    assert tab.inner_text("#plate-title") == "Cross-attention, all 8 heads" and not tab.is_visible("#shows")
    assert tab.inner_text("#compare-note") == "small has other layers and heads."
    press(tab, "m")
    assert "minus" in tab.inner_text("#plate-title")
