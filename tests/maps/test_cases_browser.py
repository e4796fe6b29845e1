"""The page of outputs in a browser."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from tabs import needs_browser, press, settle
from test_cases import ABOUT, planted_cases

from seq2see.maps.cases import render

pytestmark = needs_browser


@pytest.fixture
def show(open_html: Callable) -> Callable:
    def open_page(*, words: str = "the old dog sleeps", about: dict = ABOUT, **how: object):
        tab = open_html(render(planted_cases(words=words), about=about), **how)
        settle(tab)
        return tab

    return open_page


def test_the_first_case_shows_output_and_reference_with_differing_words_marked(show):
    tab = show()
    assert tab.locator("#texts mark").all_inner_texts() == ["der alte Hund", "the old dog sleeps"]
    assert "not as the reference" in tab.inner_text("#texts")
    assert tab.locator("#tokens-output tbody tr").count() == 4
    assert "other 0.30" in tab.inner_text("#tokens-output") and "rare" not in tab.inner_text("#tokens-output")
    assert tab.input_value("#head") == "0.1"  # the attention that the flags are read from
    assert "does not predict wrong outputs" in tab.inner_text("#worth")
    assert "2 wrong, 1 right" in tab.inner_text("#worth-note")


def test_a_cell_is_chosen_with_arrow_keys_and_read_in_words(show):
    tab = show()
    tab.focus("#map-reference")
    press(tab, "ArrowDown", "ArrowDown", "End")
    assert tab.get_attribute("#said", "aria-live") == "polite"
    said = tab.inner_text("#said").replace("\u2068", "").replace("\u2069", "")
    assert said.startswith("Reference, layer 1, head 2: when predicting \u201cold\u201d (0.60 probable), 0.0")
    assert "goes to \u201c<eos>\u201d" in said
    press(tab, "Home", "ArrowRight", "ArrowRight")
    assert "0.70 of the attention goes to" in tab.inner_text("#said")
    assert tab.locator("#tokens-reference .chosen-row th").inner_text() == "old"
    assert "case=1" in tab.url and "row=2" in tab.url


def test_another_head_and_the_mean_draw_other_maps(show):
    tab = show()
    pictures = []
    for value in ("0.1", "0.0", "0"):
        tab.select_option("#head", value)
        settle(tab)
        pictures.append(tab.evaluate("document.querySelector('#map-output canvas').toDataURL()"))
    assert len(set(pictures)) == 3
    assert "the flags are read from layer 1, head 2" in tab.inner_text("#head-note")


def test_brackets_and_the_table_go_to_other_outputs_and_the_address_brings_them_back(show):
    tab = show()
    press(tab, "]")
    assert "as the reference" in tab.inner_text("#texts") and tab.locator("#texts mark").count() == 0
    assert "the old dog sleeps the reference" in tab.inner_text("#beam tbody tr:first-child")
    tab.locator("#ledger button").nth(2).press("Enter")
    settle(tab)
    assert "nothing" in tab.inner_text("#texts") and "cut at the length limit" in tab.inner_text("#texts")
    again = show(address=tab.url[tab.url.index("#") :])
    assert again.input_value("#case") == "2"
    assert "the \u00b7 old" in again.inner_text("#signs")


def test_what_else_the_beam_held_is_listed_and_without_a_beam_it_is_said_how_to_get_one(show):
    tab = show()
    rows = tab.locator("#beam tbody tr").all_inner_texts()
    assert [row.split("\t") for row in rows] == [
        ["1", "\u22120.35", "\u22120.70", "der alte Hund"],
        ["2", "\u22120.40", "\u22121.50", "the old dog sleeps the reference"],
        ["3", "\u22128.00", "\u22128.00", "nothing cut at the length limit"],
    ]
    assert tab.locator("#beam mark").all_inner_texts() == ["the old dog sleeps"]
    assert "Beam of 3, ranked by log-probability / length, the end counted" in tab.inner_text("#beam-note")
    tab = show(about={**ABOUT, "beam": 1})
    assert tab.evaluate("document.querySelector('#beam').parentElement.hidden")
    assert "evaluate.py with decode.beam_size=4 shows the others of a beam here." in tab.inner_text("#beam-note")


@pytest.mark.parametrize(("scheme", "width"), [("light", 1280), ("dark", 360)])
def test_tokens_of_any_script_are_only_text_and_fit_in_light_and_dark(show, scheme: str, width: int):
    words = "</script><img/src=x/onerror=alert(1)> \u05d7\u05ea\u05d5\u05dc 猫が好き &amp;"
    tab = show(scheme=scheme, words=words, width=width)
    assert words in tab.inner_text("#texts") and tab.locator("img").count() == 0
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    paper = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, paper[4:-1].split(","))) < 200) == (scheme == "dark")
    tab.click("#theme")
    settle(tab)
    assert tab.evaluate("document.documentElement.dataset.theme") == "light"


def test_everything_can_be_reached_with_the_keyboard(show):
    tab = show()
    reached = set()
    for _ in range(40):
        tab.keyboard.press("Tab")
        reached.add(tab.evaluate("document.activeElement.closest('[id]')?.id"))
    assert {"theme", "case", "case-on", "head", "scale", "map-output", "map-reference", "ledger"} <= reached
