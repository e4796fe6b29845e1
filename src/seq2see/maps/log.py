"""The log of attention maps that people hold in their hands: what is stored, and how it is shown."""

import html
import os
from pathlib import Path

from seq2see.atomic_write import write_bytes
from seq2see.maps import page
from seq2see.maps.store import StoredLog


class AttentionLog(StoredLog):
    """Attention maps over training, in a folder or in memory; made by `create`, `open` or `of_maps`."""

    def save(self, path: str | Path, *, title: str = "Attention maps") -> Path:
        """Write the page, one HTML file that opens anywhere, and return its path."""
        path = Path(os.path.expanduser(path))
        write_bytes(path, page.render(self, title=title).encode("utf-8", "surrogatepass"))
        return path

    def show(self, *, height: int = 960) -> None:
        """Show the page in a notebook, in a frame of so many CSS pixels that is shut off from the notebook around it.

        Raises:
            ImportError: there is no IPython, so no notebook.
        """
        try:
            from IPython.display import HTML, display  # pyright: ignore[reportMissingImports]
        except ImportError as error:
            raise ImportError(
                "show() needs IPython, which a notebook has; anywhere else write the page with save('maps.html')"
            ) from error
        text = html.escape(page.render(self), quote=True)
        frame = f'<iframe srcdoc="{text}" sandbox="allow-scripts allow-downloads" title="Attention maps"'
        display(HTML(f'{frame} style="width: 100%; height: {height}px; border: 0"></iframe>'))
