"""What the page says at first sight: the pair and the cell it begins with, names, sentences."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from planted_log import planted_examples, planted_log
from tabs import go, needs_browser, settle

from seq2see.maps import AttentionLog, Example, Maps, page

pytestmark = needs_browser


@pytest.fixture
def show(open_html: Callable) -> Callable:
    def open_page(log: AttentionLog, *, title: str = "Attention maps", **how: object):
        tab = open_html(page.render(log, title=title), **how)
        settle(tab)
        return tab

    return open_page


def test_it_begins_with_a_pair_whose_links_cross_and_on_the_crossing_and_names_task_and_run(show):
    straight = Example(9, "a b", "x y", ("a", "b", "<eos>"), ("x", "y", "<eos>"), links=((0, 0), (1, 1)))
    log = planted_log(steps=(0, 1200), examples=[straight, *planted_examples()])
    tab = show(log, title="translation (2026-11-29)")
    assert tab.input_value("#example") == "1", "the first pair has no crossing"
    assert "when predicting \u201csieht\u201d" in tab.inner_text("#said")
    assert tab.inner_text("#dims").startswith("translation (2026-11-29)")
    go(tab, "#kind=cross&pair=1&row=1&column=2")
    assert tab.input_value("#example") == "0" and "row=1&column=2" in tab.url


def test_the_measure_that_was_chosen_comes_back_with_the_kind_that_has_it(show):
    tab = show(planted_log(steps=(0, 1200)))
    tab.select_option("#measure", "alignment_mass")
    for kind, measure in (("encoder", "confidence"), ("decoder", "confidence"), ("cross", "alignment_mass")):
        tab.click(f"#tab-{kind}")
        settle(tab)
        assert tab.input_value("#measure") == measure
    tab.select_option("#measure", "entropy")
    tab.click("#tab-encoder")
    settle(tab)
    assert tab.input_value("#measure") == "entropy"


def test_a_missed_true_link_is_said_to_be_missed(show):
    tab = show(planted_log(steps=(0, 1200)), address="#kind=cross&pair=1&layer=2&head=4&step=1200&row=2&column=5")
    assert ". The true link is missed: more, 0.9" in tab.inner_text("#said")
    assert "goes to \u201ctoday\u201d." in tab.inner_text("#said") and "This is" not in tab.inner_text("#said")
    go(tab, "#kind=cross&pair=1&layer=2&head=3&step=1200&row=2&column=5")
    assert tab.inner_text("#said").endswith("This is the true link.")
    go(tab, "#kind=cross&pair=1&layer=2&head=4&step=1200&row=2&column=1")
    assert "The true link is \u201csees\u201d, with 0.0" in tab.inner_text("#said")


def test_words_from_right_to_left_are_isolated_in_sentences_and_on_axes(show):
    word = "\u05d7\u05ea\u05d5\u05dc"
    example = Example(0, word, "cat", (word, "<eos>"), ("cat", "<eos>"), links=((0, 0),))
    square = np.eye(2, dtype=np.float32)[None, None, None]
    model = {"d_model": 8, "num_heads": 1, "num_encoder_layers": 1, "num_decoder_layers": 1}
    tab = show(AttentionLog.of_maps(Maps(square, square, square), examples=[example], model=model))
    assert f"\u201c\u2068{word}\u2069\u201d. This is the true link." in tab.inner_text("#said")
    assert tab.text_content("#plate [data-column='0']") == f"\u2068{word}\u2069"
    assert tab.text_content("#plate [data-row='0']") == "cat"
