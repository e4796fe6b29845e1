"""Two runs on one page: the maps of the second are there to compare with."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from planted_log import PAIRS, planted_examples, planted_log, planted_maps
from tabs import go, needs_browser, settle

from seq2see.commands.shell import run as run_command
from seq2see.maps import AttentionLog, page

SMALLER = {"d_model": 64, "num_heads": 2, "num_encoder_layers": 1, "num_decoder_layers": 1}
ADDRESS = "#kind=cross&pair=2&layer=2&head=3&step=100&row=2&column=1"


def smaller_log(folder: Path | None = None) -> AttentionLog:
    """Another model's run, which logged the third, the second and a pair of its own."""
    examples = [planted_examples()[2], planted_examples()[1], replace(planted_examples()[0], source="another")]
    log = AttentionLog.create(folder, examples=examples, model=SMALLER)
    for step in (0, 50):
        log.append(step, planted_maps(log, step), hypotheses=["eins", "zwei", "drei"])
    return log


@needs_browser[0]
@needs_browser[1]
def test_any_head_of_the_other_run_is_compared_with_on_the_pairs_of_both(open_html: Callable):
    log, other = planted_log(steps=(0, 100)), smaller_log()
    tab = open_html(page.render(log, other=("small", other)), address=f"{ADDRESS}&with=other.50.1.2")
    settle(tab)
    difference = log.maps(100).cross[1, 1, 2, 1, 0] - other.maps(50).cross[1, 0, 1, 1, 0]
    assert float(tab.inner_text(".readout").replace("\u2212", "-")) == pytest.approx(difference, abs=0.015)
    assert tab.inner_text("#plate-title").endswith("minus layer 1, head 2 of small at step 50")
    assert "other run" in tab.inner_text("#texts") and "zwei" in tab.inner_text("#texts")
    assert tab.locator("#other-head option").all_inner_texts() == ["layer 1, head 1", "layer 1, head 2"]
    tab.click("#shows >> text=other")
    tab.select_option("#other-step", "0 other")
    settle(tab)
    assert "with=other.0.1.2&shows=other" in tab.url, "the head that is chosen, or the last that it has"
    weight = other.maps(0).cross[1, 0, 1, 1, 0]
    assert float(tab.inner_text(".readout")) == pytest.approx(weight, abs=0.01)
    assert tab.inner_text("#said").startswith("Layer 1, head 2 of small at step 0: when predicting \u201calte\u201d")
    tab.click("#example-back")
    settle(tab)
    assert tab.inner_text("#compare-note") == "small has no maps of this pair." and not tab.is_visible("#shows")
    assert tab.inner_text("#plate-title") == "Cross-attention, layer 2, head 3"
    tab.select_option("#other-step", "0")
    settle(tab)
    assert "with=0.2.3" in tab.url and tab.inner_text("#compare-note") == "", "this run's steps are there as ever"
    assert "other run" not in tab.inner_text("#texts")


@needs_browser[0]
@needs_browser[1]
def test_a_page_of_two_runs_opens_with_the_difference_and_texts_cut_otherwise_have_none(open_html: Callable):
    examples = planted_examples()
    letters = (*PAIRS[0][0][:4], "<eos>")
    examples[0] = replace(examples[0], source_tokens=letters, links=None)
    log, other = planted_log(steps=(0, 100)), planted_log(steps=(0, 20), examples=examples)
    tab = open_html(page.render(log, other=("letters", other), view={"kind": "cross", "layer": 1, "head": 2}))
    settle(tab)
    assert "with=other.20.1.2" in tab.url and "cut the texts into different tokens" in tab.inner_text("#compare-note")
    assert "minus" not in tab.inner_text("#plate-title")
    tab.click("#shows >> text=other")
    settle(tab)
    columns = tab.eval_on_selector_all("#plate [data-column]", "all => all.map(one => one.textContent)")
    assert columns == list(letters)
    go(tab, "#kind=decoder&pair=1&layer=1&head=2&step=100&with=other.20.1.2")
    assert "minus" in tab.inner_text("#plate-title"), "its target is the same"
    go(tab, "#kind=cross&pair=2&layer=1&head=2&step=100&with=other.20.1.2")
    assert "minus" in tab.inner_text("#plate-title") and tab.inner_text("#compare-note") == ""


def test_the_command_says_what_two_runs_have_in_common(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def command(*arguments: str) -> int:
        return run_command("attention", [*arguments, f"output={tmp_path / 'maps.html'}"])

    planted_log(tmp_path / "one" / "attention", steps=(0, 100))
    smaller_log(tmp_path / "two" / "attention")
    alien = [replace(example, source=f"{example.source} !") for example in planted_examples()]
    planted_log(tmp_path / "three" / "attention", steps=(0,), examples=alien)
    one, two, three = (tmp_path / name for name in ("one", "two", "three"))
    assert command(f"run=[{one},{two}]") == 0
    said = capsys.readouterr().out
    assert "2 of 4 pairs are in both runs; their models differ in size, so choose the head to compare with" in said
    html = (tmp_path / "maps.html").read_text(encoding="utf-8")
    assert '"name":"two","pairs":[null,1,0,null]' in html
    assert len(html) < 2 * len(page.render(AttentionLog.open(one))), "the other run's tables are not in it"
    for wrong, message in (
        (f"run=[{one},{three}]", "none of the 4 logged pairs is one of the 4 of three: only runs that log the same"),
        (f"run=[{one},{two},{three}]", "must be a run folder, or two: run=[A,B]"),
        (f"run=[{one},{tmp_path}]", "no attention log here"),
    ):
        assert command(wrong) == 2
        assert message in capsys.readouterr().err
    assert command(f"run=[{one},{two}]", "format=csv") == 2
    assert "run=[A,B] is a page, and format=csv is set" in capsys.readouterr().err


def test_both_runs_keep_to_the_limit_together():
    log = planted_log()
    alone, both = (len(page.render(log, max_megabytes=0.1, other=other)) for other in (None, ("again", log)))
    assert both < alone + 30_000
    np.testing.assert_array_equal(page.pairs_in_common(log, log), range(4))
