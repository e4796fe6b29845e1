"""No page has what axe-core calls a serious or critical obstacle."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from planted_log import planted_log
from tabs import needs_browser, obstacles, settle
from test_cases import ABOUT, planted_cases
from test_playground_browser import planted_page, planted_run

from seq2see.maps import cases, page

pytestmark = needs_browser

PAGES = {
    "viewer": lambda: page.render(planted_log(steps=(0, 100, 1200), variants=True), title="translation (a run)"),
    "cases": lambda: cases.render(planted_cases(), about=ABOUT),
    "playground": lambda: planted_page(planted_run()),
}


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", PAGES)
def test_no_serious_obstacle(open_html: Callable, name: str, scheme: str):
    tab = open_html(PAGES[name](), scheme=scheme)
    settle(tab)
    assert obstacles(tab) == []
    tab.emulate_media(forced_colors="active", color_scheme=scheme)
    assert obstacles(tab) == []
