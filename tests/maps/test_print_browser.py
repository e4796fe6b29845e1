"""What the page looks like on paper."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from planted_log import planted_log
from tabs import needs_browser, settle, until
from test_large_map_browser import reversed_log
from test_size_browser import log_of

from seq2see.maps import AttentionLog, page

pytestmark = needs_browser

PAPER = 718  # CSS pixels of A4 within margins of 1 cm


@pytest.fixture
def print_out(open_html: Callable) -> Callable:
    """Opens a page and leaves it as it is while it is printed."""

    def open_page(log: AttentionLog, address: str):
        tab = open_html(page.render(log), address=address, width=1366, height=650)
        settle(tab)
        tab.set_viewport_size({"width": PAPER, "height": 1047})
        settle(tab)
        tab.emulate_media(media="print")
        tab.evaluate("dispatchEvent(new Event('beforeprint'))")
        settle(tab)
        return tab

    return open_page


def test_a_map_that_was_zoomed_and_scrolled_is_printed_whole_and_comes_back_after_it(print_out, open_html: Callable):
    tab = print_out(reversed_log(100), "#kind=cross&pair=1&layer=1&head=1&step=0&row=90&column=9&zoom=4")
    for place in ("#cells", "#plate [data-row]", "#plate [data-column]", "#thumbs .thumb"):
        for own in tab.locator(place).all()[:: 1 if place == "#cells" else 20]:
            box = own.bounding_box()
            assert box["x"] >= 0 and box["x"] + box["width"] <= PAPER
    cells, corner = tab.locator("#cells").bounding_box(), tab.locator("#plate [data-row='0']").bounding_box()
    assert cells["width"] > 400 and abs(corner["y"] - cells["y"]) < 12, "labels stand at their rows"
    assert tab.locator("#stage").evaluate("(stage) => getComputedStyle(stage).overflow") == "visible"
    tab.emulate_media(media="screen")
    tab.evaluate("dispatchEvent(new Event('afterprint'))")
    settle(tab)
    assert tab.locator("#cells").bounding_box()["width"] > 2 * cells["width"]
    until(tab, "location.hash.includes('zoom=4')")


@pytest.mark.parametrize("drawing", ["map", "heads"])
def test_all_heads_and_steps_are_printed_and_the_map_comes_first(print_out, drawing: str):
    tab = print_out(log_of(9, 12, 16), f"#kind=cross&pair=1&layer=1&head=1&step=1&drawing={drawing}")
    heads = tab.locator("#thumbs").bounding_box()
    last = tab.locator("#thumbs .thumb").last.bounding_box()
    assert last["x"] + last["width"] <= PAPER and last["y"] + last["height"] <= heads["y"] + heads["height"] + 4
    assert tab.locator("#plate-title").bounding_box()["y"] < heads["y"]
    assert drawing == "heads" or tab.locator("#cells").bounding_box()["y"] < heads["y"]
    steps = print_out(planted_log(), "#kind=cross&pair=1&layer=1&head=1&step=1200")
    frame = steps.locator("#film button").last.bounding_box()
    assert frame["x"] + frame["width"] <= PAPER


def test_a_zoomed_map_takes_no_more_pages_than_another(open_html: Callable):
    def pages(address: str) -> int:
        tab = open_html(page.render(planted_log(steps=(0, 100, 1200))), address=address, width=1366, height=650)
        settle(tab)
        return len(re.findall(rb"/Type\s*/Page\b", tab.pdf(format="A4")))

    address = "#kind=cross&pair=1&layer=2&head=3&step=1200"
    assert pages(f"{address}&zoom=2") == pages(address) <= 3
