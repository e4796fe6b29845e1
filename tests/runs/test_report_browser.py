"""A run's page in a browser: offline, light and dark, on a laptop and on a phone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tabs import browser, needs_browser, obstacles, open_html  # noqa: F401

pytestmark = needs_browser


@pytest.mark.parametrize(("width", "height"), [(1366, 768), (390, 844)])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_it_fits_the_window_and_its_figures_have_the_colour_of_its_text(
    small_run: Path,
    open_html: Callable,  # noqa: F811
    width: int,
    height: int,
    scheme: str,
) -> None:
    page = (small_run / "report.html").read_text(encoding="utf-8")
    tab = open_html(page, width=width, height=height, scheme=scheme)
    assert tab.evaluate("document.documentElement.scrollWidth") <= width
    assert obstacles(tab) == []
    ink = tab.evaluate("getComputedStyle(document.body).color")
    assert ink == {"light": "rgb(23, 32, 46)", "dark": "rgb(230, 235, 242)"}[scheme]
    texts = tab.locator("svg text")
    assert texts.count() > 20
    assert texts.evaluate_all("all => [...new Set(all.map(one => getComputedStyle(one).fill))]") == [ink]
    assert tab.locator("h2").all_inner_texts()[:2] == ["Curves", "Outputs for the first validation sources"]
