"""Maps of many tokens on the page: never empty, zoomed, moved."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from tabs import go, needs_browser, press, settle, until

from seq2see.maps import AttentionLog, Example, Maps, page

pytestmark = needs_browser


def reversed_log(size: int) -> AttentionLog:
    """One pair of `size` tokens whose only head follows the true links, which cross each other."""
    words = [f"w{i}" for i in range(size - 1)]
    links = tuple((size - 2 - i, i) for i in range(size - 1))
    example = Example(
        0, " ".join(words), " ".join(words[::-1]), (*words, "<eos>"), (*words[::-1], "<eos>"), links=links
    )
    cross = np.eye(size, dtype=np.float32)
    cross[:-1] = cross[-2::-1]
    maps = Maps(*(array[None, None, None] for array in (np.eye(size, dtype=np.float32),) * 2 + (cross,)))
    model = {"d_model": 8, "num_heads": 1, "num_encoder_layers": 1, "num_decoder_layers": 1}
    return AttentionLog.of_maps(maps, examples=[example], model=model)


@pytest.fixture
def show(open_html: Callable) -> Callable:
    def open_page(size: int, **how: object):
        tab = open_html(page.render(reversed_log(size)), **how)
        settle(tab)
        return tab

    return open_page


def cell_size(tab, size: int) -> float:
    return tab.locator("#cells").bounding_box()["width"] / size


def in_stage(tab, place: str) -> bool:
    """Whether something lies within the part of the map that is in sight."""
    outer, inner = tab.locator("#stage").bounding_box(), tab.locator(place).bounding_box()
    return outer["x"] - 1 <= inner["x"] <= outer["x"] + outer["width"] and outer["y"] - 1 <= inner["y"]


def test_true_links_are_drawn_at_every_size_and_cells_shrink_without_a_jump(show):
    sizes = []
    for size in (70, 74, 128):
        tab = show(size, width=1366, height=768)
        assert f"{size - 1} hit" in tab.inner_text("#marks")
        assert tab.locator("#plate .truth .hit").count() == size - 1
        mark = tab.locator("#plate .truth .hit").first.bounding_box()
        assert mark["width"] >= 3, "a mark can be seen"
        sizes.append(cell_size(tab, size))
    assert 0 <= sizes[0] - sizes[1] < 0.5 and sizes[2] > 3


def test_the_map_zooms_with_buttons_keys_and_wheel_and_keeps_its_labels_in_sight(show):
    tab = show(100, width=1366, height=768)
    fitted = cell_size(tab, 100)
    tab.click("#zoom [aria-label=Larger]")
    assert cell_size(tab, 100) == pytest.approx(1.25 * fitted, rel=0.05)
    tab.focus("#plate")
    press(tab, *"++++++")
    assert cell_size(tab, 100) > 3 * fitted
    press(tab, "End", "ArrowDown")
    assert tab.locator("#stage").evaluate("(stage) => stage.scrollLeft") > 0
    press(tab, *["ArrowDown"] * 30)
    assert tab.locator("#stage").evaluate("(stage) => stage.scrollTop") > 0
    for axis in ("row", "column"):
        until(tab, f"document.querySelectorAll('[data-{axis}].lit').length > 0")
        assert in_stage(tab, f"#plate [data-{axis}].lit"), "the label of the chosen cell"
    press(tab, "0")
    assert cell_size(tab, 100) == fitted
    box = tab.locator("#stage").bounding_box()
    tab.mouse.move(box["x"] + 300, box["y"] + 150)
    tab.keyboard.down("Control")
    tab.mouse.wheel(0, -300)
    tab.keyboard.up("Control")
    until(tab, f"document.querySelector('#cells').getBoundingClientRect().width > {150 * fitted}")
    press(tab, "-")
    assert cell_size(tab, 100) < 2.5 * fitted


def test_dragging_moves_a_large_map_and_chooses_nothing(show):
    tab = show(100, width=1366, height=768, address="#kind=cross&row=1&column=1")
    tab.focus("#plate")
    press(tab, *"++++++++")
    until(tab, "location.hash.includes('zoom=5.96')")
    address, box = tab.url, tab.locator("#stage").bounding_box()
    tab.mouse.move(box["x"] + 500, box["y"] + 200)
    tab.mouse.down()
    tab.mouse.move(box["x"] + 300, box["y"] + 120, steps=4)
    tab.mouse.up()
    settle(tab)
    assert tab.locator("#stage").evaluate("(stage) => [stage.scrollLeft, stage.scrollTop]") == [200, 80]
    assert tab.url == address
    tab.mouse.click(box["x"] + 300, box["y"] + 150)
    settle(tab)
    assert tab.url != address


def test_axes_say_what_they_are(show):
    tab = show(5)
    for kind, rows, titles in (
        ("cross", "predicts", "source \u2192 \u2190 predicts"),
        ("cross", "reads", "source \u2192 \u2190 reads"),
        ("decoder", "reads", "read so far \u2192 \u2190 reads"),
        ("encoder", "reads", "source \u2192 \u2190 source"),
    ):
        tab.click(f"#tab-{kind}")
        if kind != "encoder":
            tab.click(f"#rows [data-value={rows}]")
        settle(tab)
        assert " ".join(tab.locator("#plate .axis-title").all_text_contents()) == titles


def test_the_address_brings_back_the_size_of_the_map_with_the_chosen_cell_in_sight(show):
    address = "#kind=cross&pair=1&layer=1&head=1&step=0&row=80&column=20"
    tab = show(100, width=1366, height=768, address=address)
    fitted = cell_size(tab, 100)
    tab.focus("#plate")
    press(tab, *"++++")
    until(tab, "location.hash.includes('&zoom=2.44')")
    zoomed = cell_size(tab, 100)
    again = show(100, width=1366, height=768, address=tab.evaluate("location.hash"))
    assert cell_size(again, 100) == pytest.approx(zoomed, rel=0.05) and zoomed > 2 * fitted
    assert in_stage(again, ".cursor .chosen") and again.locator("#stage").evaluate("(stage) => stage.scrollTop") > 0
    press(tab, "0")
    until(tab, "!location.hash.includes('zoom')")
    go(tab, f"{address}&zoom=3")
    assert cell_size(tab, 100) == pytest.approx(3 * fitted, rel=0.1)
    tab.click("#tab-encoder")
    settle(tab)
    assert "zoom" not in tab.url, "another map fits its place again"
    assert cell_size(show(5, address=f"{address}&zoom=999"), 5) <= 60, "no larger than a thumb"
