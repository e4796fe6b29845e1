"""The page of outputs in a browser: opened from disk, network blocked, every error a failure."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from test_cases import ABOUT, planted_cases

from seq2see.maps.cases import render

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--no-first-run"]

pytestmark = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None and not os.environ.get("CI"), reason="needs Chromium"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield running
        running.close()


@pytest.fixture
def show(browser, tmp_path: Path) -> Iterator[Callable]:
    """Opens the page; at the end no error may have been logged and no request made."""
    contexts, complaints = [], []

    def open_page(
        *,
        address: str = "",
        width: int = 1280,
        scheme: str = "light",
        words: str = "the old dog sleeps",
        about: dict = ABOUT,
    ):
        file = tmp_path / "test.html"
        file.write_text(render(planted_cases(words=words), about=about), encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme, offline=True)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda note: complaints.append(note.text) if note.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        tab.on("request", lambda asked: None if asked.url.startswith("file:") else complaints.append(asked.url))
        tab.goto(file.as_uri() + address)
        settle(tab)
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == []


def settle(tab) -> None:
    """Wait until the last change has been drawn."""
    deadline = time.monotonic() + 20
    while not tab.evaluate("(({ turn, settled }) => turn && turn === settled)(document.documentElement.dataset)"):
        assert time.monotonic() < deadline, "the page has not finished drawing"
        tab.wait_for_timeout(20)


def test_the_first_case_shows_output_and_reference_with_differing_words_marked(show):
    tab = show()
    assert tab.locator("#texts mark").all_inner_texts() == ["der alte Hund", "the old dog sleeps"]
    assert "not as the reference" in tab.inner_text("#texts")
    assert tab.locator("#tokens-output tbody tr").count() == 4
    assert "other 0.30" in tab.inner_text("#tokens-output") and "rare" not in tab.inner_text("#tokens-output")
    assert tab.input_value("#head") == "0.1"  # the attention that the flags are read from


def test_a_cell_is_chosen_with_arrow_keys_and_read_in_words(show):
    tab = show()
    tab.focus("#map-reference")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("ArrowDown")
    tab.keyboard.press("End")
    settle(tab)
    assert tab.get_attribute("#said", "aria-live") == "polite"
    said = tab.inner_text("#said").replace("\u2068", "").replace("\u2069", "")
    assert said.startswith("Reference, layer 1, head 2: when predicting \u201cold\u201d (0.60 probable), 0.0")
    assert "goes to \u201c<eos>\u201d" in said
    tab.keyboard.press("Home")
    for _ in range(2):
        tab.keyboard.press("ArrowRight")
    settle(tab)
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
    tab.keyboard.press("]")
    settle(tab)
    assert "as the reference" in tab.inner_text("#texts") and tab.locator("#texts mark").count() == 0
    tab.locator("#ledger button").nth(2).press("Enter")
    settle(tab)
    assert "nothing" in tab.inner_text("#texts") and "cut at the length limit" in tab.inner_text("#texts")
    again = show(address=tab.url[tab.url.index("#") :])
    assert again.input_value("#case") == "2"
    assert "the \u00b7 old" in again.inner_text("#signs")


def test_what_else_the_beam_held_is_listed_and_what_differs_is_marked(show):
    tab = show()
    rows = tab.locator("#beam tbody tr").all_inner_texts()
    assert [row.split("\t") for row in rows] == [
        ["1", "\u22120.35", "\u22120.70", "der alte Hund"],
        ["2", "\u22120.40", "\u22121.50", "the old dog sleeps the reference"],
        ["3", "\u22128.00", "\u22128.00", "nothing cut at the length limit"],
    ]
    assert tab.locator("#beam mark").all_inner_texts() == ["the old dog sleeps"]
    assert "Beam of 3, ranked by log-probability / length, the end counted" in tab.inner_text("#beam-note")
    tab.keyboard.press("]")
    settle(tab)
    assert "the old dog sleeps the reference" in tab.inner_text("#beam tbody tr:first-child")


def test_without_a_beam_one_line_says_how_to_get_one(show):
    tab = show(about={**ABOUT, "beam": 1})
    assert tab.evaluate("document.querySelector('#beam').parentElement.hidden")
    assert "evaluate.py with decode.beam_size=4 shows the others of a beam here." in tab.inner_text("#beam-note")


def test_what_each_flag_is_worth_is_said_in_words(show):
    text = show().inner_text("#worth")
    assert "does not predict wrong outputs" in text
    assert "2 wrong, 1 right" in show().inner_text("#worth-note")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_tokens_of_any_script_are_only_text_in_light_and_dark(show, scheme: str):
    words = "</script><img/src=x/onerror=alert(1)> \u05d7\u05ea\u05d5\u05dc 猫が好き &amp;"
    tab = show(scheme=scheme, words=words)
    assert words in tab.inner_text("#texts")
    assert tab.locator("img").count() == 0
    paper = tab.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, paper[4:-1].split(","))) < 200) == (scheme == "dark")
    tab.click("#theme")
    settle(tab)
    assert tab.evaluate("document.documentElement.dataset.theme") == "light"


def test_it_fits_360_pixels(show):
    tab = show(width=360)
    assert tab.evaluate("document.documentElement.scrollWidth") <= 360
    assert tab.evaluate("document.querySelector('#tokens-output').scrollWidth") <= 340


def test_everything_can_be_reached_with_the_keyboard(show):
    tab = show()
    reached = set()
    for _ in range(40):
        tab.keyboard.press("Tab")
        reached.add(tab.evaluate("document.activeElement.closest('[id]')?.id"))
    assert {"theme", "case", "case-on", "head", "scale", "map-output", "map-reference", "ledger"} <= reached
