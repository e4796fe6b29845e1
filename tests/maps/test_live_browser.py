"""The page of a run that goes on."""

from __future__ import annotations

import time
from contextlib import suppress
from pathlib import Path

import pytest
from planted_log import planted_log
from tabs import needs_browser, press, settle

from seq2see.maps import page
from seq2see.maps.log import LivePage

pytestmark = needs_browser


def until(tab, words: str, place: str) -> None:
    """Wait for a text, while the page may load itself again at any time."""
    from playwright.sync_api import Error

    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        with suppress(Error):
            if words in tab.evaluate("(id) => document.getElementById(id)?.innerText ?? ''", place):
                return
        time.sleep(0.02)
    raise AssertionError(f"{words} never stood in {place}")


def test_it_loads_itself_again_and_follows_the_newest_step_or_keeps_the_view(
    browser, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(page, "RELOAD_SECONDS", 1)
    file = tmp_path / "attention.html"
    LivePage(planted_log(steps=(0, 100)), file, title="run").write(is_live=True)
    tab = browser.new_page()
    tab.goto(file.as_uri())
    settle(tab)
    assert "step 100 so far" in tab.inner_text("#live")
    LivePage(planted_log(steps=(0, 100, 200)), file, title="run").write(is_live=True)
    until(tab, "200", "step-name")
    settle(tab)
    press(tab, ",")
    LivePage(planted_log(steps=(0, 100, 200, 300)), file, title="run").write(is_live=True)
    tab.wait_for_timeout(1000)
    assert "step 200 so far" in tab.inner_text("#live")  # somebody is at work
    until(tab, "300", "live")
    until(tab, "100", "step-name")
    LivePage(planted_log(steps=(0, 100, 200, 300)), file, title="run").write(is_live=False)
    time.sleep(1.5)
    assert not tab.is_visible("#live") and "100" in tab.inner_text("#step-name")
    tab.close()
