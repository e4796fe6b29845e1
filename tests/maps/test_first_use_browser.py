"""The page on a small laptop, on a phone, without a mouse, read aloud."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from planted_log import planted_examples, planted_log
from tabs import needs_browser, press, settle, until

from seq2see.maps import Example, page

pytestmark = needs_browser


@pytest.fixture
def show(open_html: Callable) -> Callable:
    def open_page(**how: object):
        tab = open_html(page.render(planted_log(steps=(0, 100, 1200), variants=True)), **how)
        settle(tab)
        return tab

    return open_page


@pytest.mark.parametrize(("width", "height"), [(1366, 650), (1280, 720)])
def test_map_sentence_and_slider_stand_in_the_first_view(show, width: int, height: int):
    tab = show(width=width, height=height)
    for place in ("#cells", "#said", "#step"):
        box = tab.locator(place).bounding_box()
        assert box["y"] + box["height"] <= height, place


def test_on_a_phone_the_sentence_stands_under_its_map_on_the_first_screen_also_of_long_texts(open_html: Callable):
    text = " ".join(["celebrating"] * 10)  # 119 characters
    tokens = (*text.split(), "<eos>")
    long = Example(9, text, text, tokens, tokens, links=tuple((9 - i, i) for i in range(10)))
    for examples in (planted_examples(), [long, *planted_examples()]):
        tab = open_html(page.render(planted_log(steps=(0, 1200), examples=examples)), width=390, height=844)
        settle(tab)
        stage, said, tape = (tab.locator(place).bounding_box() for place in ("#stage", "#said", "#tape"))
        assert 0 <= said["y"] - stage["y"] - stage["height"] < 20 and said["y"] < tape["y"]
        assert said["y"] + said["height"] <= 844 and stage["height"] > 200


def test_a_measure_says_what_it_is_when_its_name_is_chosen(show):
    tab = show()
    name = tab.locator("#head-measures summary:text-is('entropy')")
    said = tab.locator("#head-measures >> text=spread of a row (nats)")
    assert not said.is_visible()
    name.press("Enter")
    assert said.is_visible()
    press(tab, ",")
    assert said.is_visible(), "it stays open"


def test_a_column_of_the_table_says_what_it_is_without_sorting_it(show):
    tab = show(width=1366, height=900)
    said = tab.locator("#ledger >> text=spread of a row (nats)")
    mark = tab.get_by_label("What is entropy?")
    assert not said.is_visible()
    mark.click()
    assert said.is_visible() and "table=" not in tab.url
    press(tab, ",")
    assert said.is_visible(), "it stays open"
    tab.get_by_label("What is entropy?").press("Enter")
    assert not said.is_visible()


def test_where_colours_are_forced_the_arrows_of_lists_can_be_seen(show):
    tab = show(width=1366, height=650)
    tab.emulate_media(forced_colors="active")
    box = tab.locator("#measure").bounding_box()
    end = {"x": box["x"] + box["width"] - 16, "y": box["y"] + 2, "width": 16, "height": box["height"] - 6}
    seen = tab.screenshot(clip=end)
    tab.locator("#measure").evaluate("(list) => { list.style.appearance = 'none'; }")
    assert tab.screenshot(clip=end) != seen


def test_shortcuts_of_a_single_key_can_be_switched_off_for_good(show):
    tab = show()
    tab.uncheck("#shortcuts")
    press(tab, "l")
    assert tab.get_attribute("#drawing [data-value=map]", "aria-pressed") == "true"
    tab.wait_for_timeout(300)  # until the browser has stored it
    tab.reload()
    settle(tab)
    press(tab, "l")
    assert not tab.is_checked("#shortcuts")
    assert tab.get_attribute("#drawing [data-value=map]", "aria-pressed") == "true"


def test_nothing_is_read_aloud_while_it_plays(show):
    tab = show()
    tab.click("#play")
    assert {tab.get_attribute(place, "aria-live") for place in ("#said", "#step-name")} == {"off"}
    until(tab, "document.querySelector('#play').getAttribute('aria-pressed') === 'false'")
    assert tab.get_attribute("#said", "aria-live") == "polite"
