"""A browser's tab for tests of pages: opened from disk, network blocked, every error a failure."""

from __future__ import annotations

import os
import shutil
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
ARGUMENTS = "--no-sandbox --disable-gpu --disable-background-networking --disable-component-update --disable-sync"

needs_browser = [
    pytest.mark.browser,
    pytest.mark.skipif(CHROMIUM is None and not os.environ.get("CI"), reason="needs Chromium"),
]


@pytest.fixture(scope="module")
def browser() -> Iterator:
    playwright = pytest.importorskip("playwright.sync_api")
    with playwright.sync_playwright() as driver:
        running = driver.chromium.launch(executable_path=CHROMIUM, args=[*ARGUMENTS.split(), "--no-first-run"])
        yield running
        running.close()


@contextmanager
def tabs_of(browser, folder: Path) -> Iterator[Callable]:
    """Opens pages of any text; at the end no error may have been logged and no request made."""
    contexts, complaints = [], []

    def open_page(html: str, *, address: str = "", width: int = 1280, height: int = 800, scheme: str = "light"):
        file = folder / "page.html"
        file.write_text(html, encoding="utf-8")
        context = browser.new_context(viewport={"width": width, "height": height}, color_scheme=scheme, offline=True)
        contexts.append(context)
        tab = context.new_page()
        tab.on("console", lambda note: complaints.append(note.text) if note.type in ("error", "warning") else None)
        tab.on("pageerror", lambda error: complaints.append(str(error)))
        tab.on("dialog", lambda dialog: complaints.append(f"dialog: {dialog.message}"))
        tab.on("request", lambda asked: None if asked.url[:5] in ("file:", "blob:") else complaints.append(asked.url))
        tab.goto(file.as_uri() + address)
        return tab

    yield open_page
    for context in contexts:
        context.close()
    assert complaints == [], complaints


@pytest.fixture
def open_html(browser, tmp_path: Path) -> Iterator[Callable]:
    with tabs_of(browser, tmp_path) as open_page:
        yield open_page


def go(tab, address: str) -> None:
    """Pastes another view into the address."""
    settle(tab)  # or else the page would write the address of the view before over it
    turn = tab.evaluate("document.documentElement.dataset.turn")
    if tab.evaluate(
        "(to) => { const old = location.hash; location.hash = to; return location.hash !== old; }", address
    ):
        until(tab, f"document.documentElement.dataset.turn !== '{turn}'")
    settle(tab)


def settle(tab) -> None:
    """Wait until the last change has been drawn."""
    until(tab, "(({ turn, settled }) => turn && turn === settled)(document.documentElement.dataset)")


def press(tab, *keys: str) -> None:
    """The keys one after the other, and what they change drawn."""
    for key in keys:
        tab.keyboard.press(key)
    settle(tab)


def until(tab, condition: str) -> None:
    """Wait for an expression to hold; playwright's own wait needs what the content policy forbids."""
    deadline = time.monotonic() + 20
    while not tab.evaluate(condition):
        assert time.monotonic() < deadline, f"the page has not come to this: {condition}"
        time.sleep(0.02)


def obstacles(tab) -> list:
    """What axe-core calls serious or critical for people who cannot see or point."""
    axe = pytest.importorskip("axe_playwright_python.sync_playwright").Axe()
    found = [each for each in axe.run(tab).response["violations"] if each["impact"] in ("serious", "critical")]
    return [(each["id"], node["target"], node["failureSummary"]) for each in found for node in each["nodes"]]
