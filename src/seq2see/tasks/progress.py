"""A line on the terminal for what takes long before training begins."""

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

Item = TypeVar("Item")

_PATIENCE = 1.0  # seconds without a word
_LOOK_EVERY = 1_024  # items


def watched(items: Iterable[Item], what: str, *, total: int | None = None) -> Iterable[Item]:
    """The items; while they are gone through, after a second, stderr shows how far that is, if it is a terminal.

    Args:
        items: read once.
        what: is being done, as "reading pairs.tsv".
        total: how many items there are; None: nobody knows yet.
    """
    return _shown(items, what, total) if sys.stderr.isatty() else items


def _shown(items: Iterable[Item], what: str, total: int | None) -> Iterator[Item]:
    begin, progress, task = time.monotonic(), None, None
    try:
        for number, item in enumerate(items, start=1):
            yield item
            if number % _LOOK_EVERY:
                continue
            if progress is not None and task is not None:
                progress.update(task, completed=number)
            elif time.monotonic() - begin > _PATIENCE:
                progress = _bar()
                task = progress.add_task(what, total=total, completed=number)
                progress.start()
    finally:
        if progress is not None:
            progress.stop()


def _bar():
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    name = TextColumn("{task.description}", markup=False)
    console = Console(stderr=True, emoji=False)
    return Progress(
        name, BarColumn(bar_width=24), MofNCompleteColumn(), TimeRemainingColumn(), console=console, transient=True
    )
