"""What source words cause, under the maps of both pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from planted_log import planted_log
from tabs import go, needs_browser, press, settle
from test_cases import ABOUT, planted_cases

from seq2see.maps import page
from seq2see.maps.cases import render
from seq2see.maps.causes import WordEffects, for_page

pytestmark = needs_browser


def planted(num_rows: int, num_words: int, *, layers: int = 2, heads: int = 2, single: bool = True) -> WordEffects:
    """Row t leans on word t + 1; in layer l, head h as much as -(10 l + h + 1) / 4; everything else changes nothing."""
    change = np.zeros((layers, heads, num_rows, num_words), np.float32)
    for row in range(min(num_rows, num_words - 1)):
        change[:, :, row, row + 1] = -(10 * np.arange(layers)[:, None] + np.arange(heads) + 1) / 4
    return WordEffects(4 * change[0, 0] - 2, change.sum((0, 1)), change.sum(1), change if single else None)


def agreement() -> dict[str, Any]:
    def score(tau: float) -> dict[str, float]:
        return {"tau": tau, "deviation": 0.2, "same_first": tau / 2}

    heads = [[score(0.1), score(0.4)], [score(0.2), score(-0.3)]]
    best = {"layer": 1, "head": 2, **score(0.4)}
    counts = {"pairs": 3, "of": 40, "rows": 21, "chance": 0.125, "verdict": "attention ranks the words in part"}
    return {**counts, "left_out": heads, "blocked": heads, "between": score(0.5), "best": best}


@pytest.fixture
def show(open_html: Callable) -> Callable:
    def open_page(
        *, single: bool = True, causes: dict | None = None, words: tuple[int, ...] = (0, 1, 2, 2), **how: object
    ):
        effects = for_page(planted(4, 3, single=single), words)
        cases = [replace(case, causes=effects if not number else None) for number, case in enumerate(planted_cases())]
        tab = open_html(render(cases, about={**ABOUT, "causes": causes}), **how)
        settle(tab)
        return tab

    return open_page


def said_of(tab) -> str:
    return tab.inner_text("#causes-said").replace("\u2068", "").replace("\u2069", "")


def test_a_chosen_row_of_the_output_shows_what_each_word_causes_and_another_head_its_own(show) -> None:
    tab = show(address="#case=1&side=reference&row=1&column=1")
    assert said_of(tab).startswith("Choose a row") and tab.locator("#causes-output svg").count() == 0
    tab.focus("#map-output")
    press(tab, "ArrowDown", "ArrowDown", "ArrowRight", "ArrowRight")  # the second row, "alte", and the token "dog"
    names = tab.locator("#causes-output .cause-name").all_text_contents()
    assert names == ["left out", "blocked: all", "layer 1", "head 2"]
    # in layer 1, head 2: 2 / 4; in the layer 3 / 4; everywhere (1 + 2 + 11 + 12) / 4
    assert said_of(tab) == (
        "Leaving out \u201cdogsleeps\u201d changes the log-probability of \u201calte\u201d most: by \u22123.00 nats. "
        "Without \u201cdogsleeps\u201d: \u22123.00 left out, \u22126.50 blocked in all cross attention, "
        "\u22120.75 in layer 1, \u22120.50 in layer 1, head 2 alone."
    )
    widths = tab.eval_on_selector_all(
        "#causes-output rect[fill^=rgb]", "all => all.map((one) => one.getAttribute('width'))"
    )
    assert float(widths[2]) > 1.8 * float(widths[0])  # a word of two tokens stands under both
    left = tab.evaluate("document.querySelector('#causes-output rect').getBoundingClientRect().left")
    assert left == pytest.approx(
        tab.evaluate("document.querySelector('#map-output canvas').getBoundingClientRect().left")
    )
    tab.select_option("#head", "1")  # the mean of the second layer
    settle(tab)
    assert tab.locator("#causes-output .cause-name").count() == 3 and "\u22125.75 in layer 2." in said_of(tab)
    press(tab, "Home")
    assert "Without \u201cthe\u201d: \u22122.00 left out, 0 blocked in all" in said_of(tab)
    tab.focus("#map-reference")
    press(tab, "ArrowDown")
    assert tab.locator("#causes-output svg").count() == 0  # what was measured is of the output


def test_without_single_heads_or_causes_there_are_fewer_rows_or_none(show) -> None:
    tab = show(single=False, address="#case=1&layer=1&head=2&side=output&row=1&column=5")
    assert tab.locator("#causes-output .cause-name").count() == 3
    assert said_of(tab).endswith("nats.")  # the end of the source is no word
    tab = show(causes=agreement(), address="#case=2&layer=1&side=output&row=1&column=1")
    assert "was not measured for this output" in said_of(tab)
    tab = show(address="#case=2&layer=1&side=output&row=1&column=1")
    assert said_of(tab) == "" and tab.locator("#agreement-section").is_hidden()


def test_how_well_attention_agrees_stands_in_a_table_with_its_sources(show) -> None:
    tab = show(causes=agreement())
    assert tab.inner_text("#agreement-verdict") == (
        "Here attention ranks the words in part: in the best head, layer 1, head 2, tau is 0.40."
    )
    rows = [row.split("\t") for row in tab.locator("#agreement tbody tr").all_inner_texts()]
    assert rows[1] == ["layer 1, head 2", "0.40 \u00b1 0.20", "20 %", "0.40 \u00b1 0.20", "20 %"]
    assert rows[4][:3] == ["left out and blocked everywhere, between them", "0.50 \u00b1 0.20", "25 %"]
    assert tab.locator("#agreement .chosen-row").inner_text().startswith("layer 1, head 2")
    section = tab.inner_text("#agreement-section")
    assert "21 rows of 3 of 40 outputs" in section and "in 13 % of the rows" in section
    assert "Jain and Wallace (2019)" in section and "Wiegreffe and Pinter (2019)" in section


@pytest.mark.parametrize(("width", "height", "scheme"), [(1366, 650, "light"), (390, 844, "dark")])
def test_the_viewer_shows_them_under_the_cross_map_of_the_last_step(
    open_html, width: int, height: int, scheme: str
) -> None:
    log = planted_log(steps=(0, 100))
    effects = [
        for_page(
            planted(len(own.target_tokens), len(own.source_tokens) - 1, heads=4), range(len(own.source_tokens) - 1)
        )
        for own in log.examples
    ]
    html = page.render(log, causes=effects, view={"kind": "cross", "layer": 2, "head": 3, "step": 100})
    tab = open_html(html, width=width, height=height, scheme=scheme)
    settle(tab)
    tab.focus("#plate")
    press(tab, "Home")
    assert tab.locator("#causes .cause-name").all_text_contents() == ["left out", "blocked: all", "layer 2", "head 3"]
    place = tab.locator("#causes .chosen").bounding_box()
    cell = tab.locator("#plate .chosen").bounding_box()
    assert (
        place
        and cell
        and place["x"] == pytest.approx(cell["x"], abs=1)
        and place["width"] == pytest.approx(cell["width"], abs=1)
    )
    assert said_of(tab).startswith("Leaving out \u201c")
    assert tab.locator("#causes-key").is_visible()
    for elsewhere in ("#step-back", "[role=tab]:first-child", "#drawing [data-value=lines]"):
        tab.locator(elsewhere).click()
        settle(tab)
        assert tab.locator("#causes").is_hidden() and tab.locator("#causes-said").is_hidden()
        go(tab, "#kind=cross&layer=2&head=3&step=100&drawing=map&row=1&column=1")
        assert tab.locator("#causes").is_visible()
