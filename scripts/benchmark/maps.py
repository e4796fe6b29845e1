"""What attention maps cost: a snapshot, logging beside training, and the page in a browser."""

import copy
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from importlib import import_module
from pathlib import Path
from statistics import median
from typing import Any
from unittest.mock import patch

from benchmark.figure import Figure
from seq2see.options import BenchmarkOptions

STEPS_SHOWN = 8  # moves of the slider that are timed


def figures(options: BenchmarkOptions) -> Iterator[Figure]:
    """A whole default run with its log watched, then its page.

    Raises:
        ValueError: there is no Chromium, or nothing to drive it with.
    """
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if chromium is None:
        raise ValueError("suite=maps needs Chromium: install it, or measure another suite")
    try:
        playwright = import_module("playwright.sync_api")
    except ImportError as error:
        raise ValueError("suite=maps needs playwright: pip install -e '.[test]'") from error
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name) / "run"
        yield from _logging(folder, options.rounds)
        page = folder / "attention.html"
        yield Figure("maps", "page of the default run", page.stat().st_size / 1e6, "MB")
        with playwright.sync_playwright() as driver:
            browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
            paints, steps = zip(*(_opened(browser, page) for _ in range(options.rounds)), strict=True)
            browser.close()
    yield Figure("maps", "first paint", median(paints) * 1e3, "ms", note="from the address to the drawn map")
    yield Figure("maps", "step of the slider", median(steps) * 1e3, "ms", note="from the moved slider to the drawn map")


def _logging(folder: Path, rounds: int) -> Iterator[Figure]:
    """What the log takes of a default run."""
    from seq2see.runs.config import compose_options
    from seq2see.runs.train import train_run
    from seq2see.training.log_attention import LogAttention

    attention = import_module("seq2see.training.log_attention")
    waits = _Watch(time.perf_counter)
    calls: list[tuple[Any, Any, Any]] = []  # model, batch and limit of the first snapshot, and of the last

    def kept(model: Any, batch: Any, *, limit: Any, is_whole: bool) -> Any:
        calls[min(len(calls), 1) :] = [(model if calls else copy.deepcopy(model), batch, limit)]
        return attention_snapshot(model, batch, limit=limit, is_whole=is_whole)

    attention_snapshot = attention.snapshot
    with waits.on(LogAttention, "store"), patch.object(attention, "snapshot", kept):
        begin = time.perf_counter()
        train_run(compose_options("train", [f"run_dir={folder}"]))
        seconds = time.perf_counter() - begin
    share = 100 * sum(waits.seconds) / seconds
    note = f"of {seconds:.0f} s: {sum(waits.seconds):.2f} s"
    yield Figure("maps", "logging, share of a default run", share, "%", note=note)
    for name, (model, batch, limit) in zip(("untrained", "trained"), calls, strict=True):
        alone = _Watch(time.perf_counter)
        for _ in range(rounds + 1):
            alone.of(attention_snapshot)(model, batch, limit=limit)
        milliseconds = 1e3 * median(alone.seconds[1:])
        yield Figure("maps", f"snapshot of the {name} model", milliseconds, "ms", note=f"{len(batch.src)} pairs")


class _Watch:
    """Seconds of each call of a function; of a call inside another one, those of the outer one alone."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self.clock = clock
        self.seconds: list[float] = []
        self._depth = 0

    def on(self, owner: Any, name: str) -> AbstractContextManager[object]:
        """Watches a function of a class or module while the context lasts."""
        return patch.object(owner, name, self.of(getattr(owner, name)))

    def of(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, watched."""

        def watched(*arguments: Any, **more: Any) -> Any:
            self._depth += 1
            begin = self.clock()
            try:
                return function(*arguments, **more)
            finally:
                self._depth -= 1
                if not self._depth:
                    self.seconds.append(self.clock() - begin)

        return watched


MOVE = """
() => new Promise(done => {
  const root = document.documentElement, slider = document.querySelector("#step");
  const observer = new MutationObserver(() => {
    if (root.dataset.turn !== root.dataset.drawn) return;
    observer.disconnect();
    done(performance.now() - begin);
  });
  observer.observe(root, { attributes: true });
  const begin = performance.now();
  slider.value = Number(slider.value) - 1;
  slider.dispatchEvent(new Event("input", { bubbles: true }));
})
"""


def _opened(browser: Any, page: Path) -> tuple[float, float]:
    """Seconds to the first drawn map, and of a step of the slider."""
    tab = browser.new_page(viewport={"width": 1280, "height": 800})
    begin = time.perf_counter()
    tab.goto(page.as_uri())
    _until_drawn(tab)
    first = time.perf_counter() - begin
    milliseconds = [tab.evaluate(MOVE) for _ in range(STEPS_SHOWN)]
    tab.close()
    return first, median(milliseconds) / 1e3


def _until_drawn(tab: Any) -> None:
    """The page says which of its turns has been drawn."""
    deadline = time.perf_counter() + 20
    while not tab.evaluate("(({ turn, settled }) => turn && turn === settled)(document.documentElement.dataset)"):
        if time.perf_counter() > deadline:
            raise ValueError("suite=maps: the page draws nothing")
