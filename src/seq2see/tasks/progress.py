"""A line on the terminal for what takes long before training begins."""

import sys
from collections.abc import Iterable
from typing import TypeVar

Item = TypeVar("Item")


def watched(items: Iterable[Item], what: str, *, total: int | None = None) -> Iterable[Item]:
    """The items; while they are gone through, stderr shows how far that is ("reading x.tsv"), if it is a terminal."""
    if not sys.stderr.isatty():
        return items
    from rich.console import Console
    from rich.markup import escape
    from rich.progress import track

    return track(items, escape(what), total=total, console=Console(stderr=True, emoji=False), transient=True)
