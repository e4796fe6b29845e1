"""The page of outputs in a browser."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from tabs import go, needs_browser, press, settle
from test_cases import ABOUT, planted_cases

from seq2see.maps.cases import Case, render

pytestmark = needs_browser


@pytest.fixture
def show(open_html: Callable) -> Callable:
    def open_page(*, words: str = "the old dog sleeps", cases: list[Case] | None = None, **how: object):
        of_page = {name: how.pop(name) for name in ("about", "max_megabytes") if name in how}
        tab = open_html(render(cases or planted_cases(words=words), **{"about": ABOUT, **of_page}), **how)
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
    assert said(tab).startswith("Reference, layer 1, head 2: when predicting \u201cold\u201d (0.60 probable), 0.0")
    assert "goes to \u201c<eos>\u201d" in said(tab)
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
    assert "nothing" in tab.inner_text("#texts") and "cut at the length limit" in tab.inner_text("#texts")
    again = show(address=tab.url[tab.url.index("#") :])
    assert again.input_value("#case") == "1"
    assert "the \u00b7 old" in again.inner_text("#signs")
    tab.locator("#ledger button").nth(2).press("Enter")
    settle(tab)
    assert "as the reference" in tab.inner_text("#texts") and tab.locator("#texts mark").count() == 0
    assert "the old dog sleeps the reference" in tab.inner_text("#beam tbody tr:first-child")


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
    tab = show(about={**ABOUT, "beam": 1}, cases=[replace(case, hypotheses=()) for case in planted_cases()])
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


def test_the_page_opens_where_the_output_leaves_the_reference(show):
    case = planted_cases()[0]
    words = ("the", "old", "Hund", "sleeps", "<eos>")
    output = replace(case.reference, text="the old Hund sleeps", tokens=words)
    tab = show(cases=[replace(case, output=output)])
    assert said(tab).startswith("Output, layer 1, head 2: when predicting \u201cHund\u201d (0.60 probable), 0.70 of")


def test_outputs_are_filtered_by_the_kind_of_their_error_and_the_list_is_saved(show, tmp_path: Path):
    tab = show()
    assert tab.locator("#show option").all_inner_texts() == [
        *("all outputs (3)", "wrong ones (2)", "right ones (1)", "substitution (1)", "stopped early (1)"),
    ]
    tab.select_option("#show", "stopped early")
    settle(tab)
    assert tab.locator("#case option").count() == 1 and "nothing" in tab.inner_text("#texts")
    assert tab.locator("#ledger tbody tr:visible").count() == 1 and "show=stopped" in tab.url
    with tab.expect_download() as download:
        tab.click("#save-list")
    download.value.save_as(tmp_path / "list.tsv")
    heading, row = (tmp_path / "list.tsv").read_text(encoding="utf-8").splitlines()
    assert heading.split("\t")[:2] == ["line", "output"] and row.split("\t")[:2] == ["4", "stopped early"]
    assert download.value.suggested_filename == "outputs-test.tsv"


def test_true_links_are_marked_on_the_reference_and_on_an_output_as_far_as_it_is_the_reference(show):
    wrong, right = planted_cases()[:2]
    links = ((0, 0), (1, 1), (3, 2))
    half = replace(wrong.reference, tokens=("the", "old", "cat", "<eos>"), cross=wrong.reference.cross[:, :, :4])
    tab = show(cases=[replace(wrong, output=half, links=links), replace(right, links=None)])
    assert tab.inner_text("#marks-reference").split() == "true links: 1 hit 2 missed 2 elsewhere".split()
    assert tab.locator("#map-reference .truth .missed").count() == 2
    assert tab.inner_text("#marks-output").split() == "true links: 0 hit 2 missed 2 elsewhere".split()
    press(tab, "]")
    assert tab.inner_text("#marks-output") == tab.inner_text("#marks-reference") == ""


def test_another_address_in_the_same_tab_is_the_view_of_a_new_one(show):
    tab = show(address="#case=1&layer=2&head=1&show=wrong&scale=row&side=reference&row=2&column=3")
    go(tab, "#case=3&layer=1&head=2")
    assert tab.input_value("#case") == "2" and tab.input_value("#show") == "all"
    assert tab.locator("#scale [aria-pressed=true]").inner_text() == "0 to 1"
    assert said(tab).startswith("Output, layer 1, head 2")


def test_an_output_of_blanks_is_seen(show):
    case = planted_cases()[2]
    tab = show(cases=[replace(case, output=replace(case.output, text="  "))])
    assert tab.locator("#texts mark").first.inner_text() == "\u2423\u2423"
    assert "\u2423\u2423" in tab.inner_text("#ledger tbody")


def test_a_cell_below_the_pointer_is_read_and_the_scale_has_figures(show):
    tab = show()
    box = tab.locator("#map-reference canvas").bounding_box()
    tab.mouse.move(box["x"] + 1.5 * box["width"] / 5, box["y"] + 0.5 * box["height"] / 5)
    assert tab.inner_text("#map-reference .readout") == "0.70"
    assert tab.inner_text("#legend").split() == ["0", "0.25", "0.5", "0.75", "1"]


@pytest.mark.parametrize("kind", ["svg", "csv", "png"])
def test_a_map_is_saved_with_what_it_shows(show, kind: str, tmp_path: Path):
    tab = show()
    with tab.expect_download() as download:
        tab.click(f"#save-reference [value={kind}]")
    assert download.value.suggested_filename == f"attention-test-line2-reference-layer1-head2.{kind}"
    download.value.save_as(tmp_path / "file")
    content = (tmp_path / "file").read_bytes()
    if kind == "svg":
        assert "Cross-attention of the reference, layer 1, head 2" in content.decode()
        assert "line 2 of test.tsv at step 1200: the old dog sleeps" in content.decode()
    elif kind == "csv":
        assert content.decode().splitlines()[1].startswith("1,the,0.07")
    else:
        assert content.startswith(b"\x89PNG")


def test_without_room_there_is_one_head_or_the_texts_alone_and_the_page_says_so(show):
    many = [replace(case, line=number) for number, case in enumerate(planted_cases() * 20)]
    size = len(render(many, about=ABOUT).encode())
    html = render(many, about=ABOUT, max_megabytes=0.75 * size / 1e6)
    assert len(html.encode()) <= 0.75 * size
    tab = show(cases=many, max_megabytes=0.75 * size / 1e6)
    note = tab.inner_text("#ledger-note")
    assert "have the maps of the flags\u2019 head alone" in note and "have no maps" in note
    assert tab.is_enabled("#head")
    kept = tab.evaluate("JSON.parse(document.getElementById('data').textContent).cases.map((own) => own.kept)")
    go(tab, f"#case={kept.index('one head') + 1}&layer=2&head=1")
    assert tab.is_disabled("#head") and tab.input_value("#head") == "0.1"
    assert "0.70 of the attention goes to" in tab.inner_text("#said")
    go(tab, f"#case={kept.index('texts') + 1}")
    assert tab.is_hidden("#two") and "left out to keep the page small" in tab.inner_text("#no-maps")


def said(tab) -> str:
    return tab.inner_text("#said").replace("\u2068", "").replace("\u2069", "")
