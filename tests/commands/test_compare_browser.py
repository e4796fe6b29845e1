"""The page of compare.py in a browser: offline, light and dark, on a laptop and on a phone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tabs import browser, needs_browser, obstacles, open_html  # noqa: F401
from test_compare import run, three_rows  # noqa: F401

from seq2see.commands.compare import compare
from seq2see.options import CompareOptions

pytestmark = needs_browser


@pytest.fixture
def page(three_rows: list[str], tmp_path: Path) -> str:  # noqa: F811
    file = tmp_path / "compared.html"
    compare(CompareOptions(ckpt=three_rows, output=str(file)))
    return file.read_text(encoding="utf-8")


@pytest.mark.parametrize(("width", "height"), [(1366, 768), (390, 844)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_the_window_and_its_figures_have_the_colour_of_its_text(
    page: str,
    open_html: Callable,  # noqa: F811
    width: int,
    height: int,
    scheme: str,
) -> None:
    tab = open_html(page, width=width, height=height, scheme=scheme)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert tab.locator("figure svg").count() == 6
    assert obstacles(tab) == []
    ink = tab.evaluate("getComputedStyle(document.body).color")
    assert tab.locator("figure svg text").first.evaluate("one => getComputedStyle(one).fill") == ink
    assert ink == {"light": "rgb(23, 32, 46)", "dark": "rgb(230, 235, 242)"}[scheme]
    smallest = tab.locator("figure svg text").evaluate_all(
        "all => Math.min(...all.map(one => one.getBoundingClientRect().height))"
    )
    assert smallest > 8
    right = "one.getBoundingClientRect().right > one.closest('figure').getBoundingClientRect().right"
    cut = tab.locator("figure svg text").evaluate_all(f"all => all.filter(one => {right}).map(one => one.textContent)")
    assert cut == []
    first, second = (tab.locator("tbody tr").first.locator("th, td").nth(number).bounding_box() for number in (0, 1))
    words = tab.locator("tbody th").first.evaluate("one => one.scrollWidth <= one.clientWidth")
    assert words and first["x"] + first["width"] <= second["x"] + 1


def test_it_has_the_table_what_was_varied_and_each_run(page: str, open_html: Callable) -> None:  # noqa: F811
    tab = open_html(page)
    table, varied, runs = (tab.locator("table").nth(number) for number in range(3))
    assert table.locator("tbody tr").count() == 3
    assert "0.859 to 0.941" in table.inner_text() and "0.002" in table.inner_text()
    assert varied.locator("thead th").all_inner_texts() == ["", "num_heads", "num_encoder_layers"]
    assert not runs.is_visible()
    tab.locator("summary").click()
    assert runs.is_visible() and runs.locator("tbody tr").count() == 9
    headings = [text.split(" on ")[0].split("\n")[0] for text in tab.locator("figcaption").all_inner_texts()]
    assert [text.strip() for text in headings][:4] == [
        "Test exact match",
        "exact match by step",
        "exact match by seconds of training",
        "exact match by length",
    ]
