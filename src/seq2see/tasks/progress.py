"""A line on the terminal for what takes long before training begins or after it."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar

Item = TypeVar("Item")


def watched(items: Iterable[Item], what: str, *, total: int | None = None) -> Iterable[Item]:
    """The items; while they are gone through, stderr shows how far that is ("reading x.tsv"), if it is a terminal."""
    if not _is_shown():
        return items
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import track

    return track(items, escape(what), total=total, console=Console(stderr=True, emoji=False), transient=True)


@contextmanager
def counted(what: str, total: int | None = None) -> Iterator[Callable[[int], None]]:
    """The same line for work that says itself how much of it has been done since it last did.

    Args:
        what: is done.
        total: of what is counted; None: nothing is, and the line only says that something is being done.
    """
    if not _is_shown():
        yield lambda done: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    figures = [] if total is None else [TextColumn("{task.completed:,.0f} of {task.total:,}"), TimeRemainingColumn()]
    columns = TextColumn("{task.description}", markup=False), BarColumn(bar_width=24), *figures
    with Progress(*columns, console=Console(stderr=True, emoji=False), transient=True) as progress:
        task = progress.add_task(what, total=total)
        yield lambda done: progress.advance(task, done)


def _is_shown() -> bool:
    if not sys.stderr.isatty():
        return False
    from seq2see.ranks import rank  # with torch, which not every command needs

    return rank() == 0
