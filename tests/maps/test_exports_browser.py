"""What a view leaves the page as, in a browser: SVG, PNG, an address."""

from __future__ import annotations

import struct
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from planted_log import planted_log
from tabs import go, needs_browser, settle, tabs_of

from seq2see.maps import AttentionLog, page

pytestmark = needs_browser

ALIGNED = "#kind=cross&pair=1&layer=2&head=3&step=1200&row=2&column=5"
SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def log() -> AttentionLog:
    return planted_log(steps=(0, 100, 1200), variants=True)


@pytest.fixture(scope="module")
def shared(browser, log: AttentionLog, tmp_path_factory: pytest.TempPathFactory) -> Iterator:
    with tabs_of(browser, tmp_path_factory.mktemp("exports")) as open_page:
        yield open_page(page.render(log))


@pytest.fixture
def saved(shared, tmp_path: Path) -> Callable[[str, str], Path]:
    """The file that a button gives for an address."""

    def save(address: str, kind: str) -> Path:
        go(shared, address)
        with shared.expect_download() as waiting:
            shared.click(f"#save-{kind}")
        waiting.value.save_as(tmp_path / waiting.value.suggested_filename)
        return tmp_path / waiting.value.suggested_filename

    return save


def texts(file: Path) -> list[str]:
    """What is written in a picture, arrows of the axes left out."""
    return [(node.text or "").strip(" \u2190\u2192") for node in ElementTree.parse(file).getroot().iter(f"{SVG}text")]


def test_an_svg_says_step_pair_scale_marks_and_what_the_axes_are(saved):
    file = saved(ALIGNED, "svg")
    assert file.name == "attention-cross-layer2-head3-step1200-pair1.svg"
    said = texts(file)
    assert {"Cross-attention, layer 2, head 3", "predicts", "source", "0", "0.25", "0.5", "0.75", "1"} <= set(said)
    assert "pair 1 at step 1\u202f200: today the small dog sees a red house" in said
    assert {"8 hit", "0 missed"} <= set(said)
    width = float(ElementTree.parse(file).getroot().get("width", "0"))
    assert not [node for node in ElementTree.parse(file).getroot().iter() if node.get("class")], "styles go with it"
    assert width > 400
    said = texts(saved(ALIGNED.replace("cross", "decoder") + "&scale=sqrt&rows=reads&with=0.2.3", "svg"))
    assert {"reads", "read so far", "\u22120.25", "+1", "comes later"} <= set(said)
    said = texts(saved(ALIGNED + "&drawing=lines&heads=1-3", "svg"))
    assert {"head 1", "head 3", "true links", "Cross-attention, layer 2, heads 1, 3"} <= set(said)


def test_the_picture_of_all_heads_has_each_with_its_name_and_measure(saved):
    file = saved(ALIGNED.replace("cross", "decoder") + "&drawing=heads", "svg")
    assert file.name == "attention-decoder-heads-step1200-pair1.svg"
    said = texts(file)
    assert {"Decoder self-attention, all 8 heads", "L1", "L2", "comes later"} <= set(said)
    assert [said.count(f"H{head}") for head in (1, 2, 3, 4)] == [2] * 4
    pictures = list(ElementTree.parse(file).getroot().iter(f"{SVG}image"))
    places = {(float(picture.get("x", "0")), float(picture.get("y", "0"))) for picture in pictures}
    assert len(places) == 8 and len({x for x, _ in places}) == 4
    assert len({picture.get("href") for picture in pictures}) == 8


@pytest.mark.parametrize("more", ["", "&drawing=lines&heads=1-2-3-4", "&drawing=heads"])
def test_a_png_is_the_same_picture_at_twice_the_size(saved, shared, more: str):
    root = ElementTree.parse(saved(ALIGNED + more, "svg")).getroot()
    content = saved(ALIGNED + more, "png").read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", content[16:24]) == tuple(2 * int(root.get(side, "0")) for side in ("width", "height"))
    assert len(content) > 20_000, "a blank picture is smaller"


def test_the_address_holds_every_choice(shared, open_html, log):
    go(shared, ALIGNED)
    tab = shared
    for click in ("#drawing >> text=Lines", ".line-head >> text=H1", "#scale >> text=root", "#rows >> text=reads"):
        tab.click(click)
        settle(tab)
    tab.click("#ledger th button:has-text('entropy')")
    tab.click("#cells-choice >> text=norms")
    tab.check("#sorted")
    tab.uncheck("#truth")
    tab.select_option("#measure", "coverage")
    settle(tab)
    address = "#" + tab.url.split("#")[1]
    other = open_html(page.render(log), address=address)
    settle(other)
    assert "#" + other.url.split("#")[1] == address
    for part in ("#plate-title", "#thumbs", "#ledger", "#line-heads", "#marks"):
        assert other.inner_text(part) == tab.inner_text(part), part
    assert other.input_value("#measure") == "coverage" and other.is_checked("#sorted")
    go(tab, ALIGNED)
    assert "#" + tab.url.split("#")[1] == ALIGNED, "what is as usual is left out"
    assert not tab.is_checked("#sorted") and tab.input_value("#measure") == "alignment_error_rate"
