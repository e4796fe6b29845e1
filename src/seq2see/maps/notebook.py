"""The page inside a notebook."""

from __future__ import annotations

import html
from typing import TYPE_CHECKING

from seq2see.maps import page

if TYPE_CHECKING:
    from seq2see.maps.store import AttentionLog


def frame(log: AttentionLog, *, height: int) -> str:
    """The page as an `iframe` that carries it whole, shut off from the notebook around it."""
    text = html.escape(page.render(log), quote=True)
    return (
        f'<iframe srcdoc="{text}" sandbox="allow-scripts allow-downloads" title="Attention maps"'
        f' style="width: 100%; height: {height}px; border: 0"></iframe>'
    )


def show(log: AttentionLog, *, height: int) -> None:
    """What `AttentionLog.show` does."""
    try:
        from IPython.display import HTML, display  # pyright: ignore[reportMissingImports]
    except ImportError as error:
        raise ImportError(
            "show() needs IPython, which a notebook has; anywhere else write the page with save('maps.html')"
        ) from error
    display(HTML(frame(log, height=height)))
