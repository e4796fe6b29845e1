"""How a page is joined from its parts: one file that fetches nothing and runs nothing but its own script."""

import base64
import hashlib
import json
from collections.abc import Sequence
from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import NDArray

Place = tuple[str, str]
"""A package, and the name of a file in it."""


def assemble(template: Place, *, scripts: Sequence[Place], styles: Sequence[Place], title: str, data: object) -> str:
    """The page as HTML text, to be written as UTF-8.

    Args:
        template: HTML with the marks {{policy}}, {{title}}, {{style}}, {{data}} and {{script}}.
        scripts: joined in this order into one: what a file uses at load time stands before it.
        styles: joined into one.
        title: what the browser's tab shows.
        data: for the script, as JSON that cannot end the element which holds it, whatever a token contains.
    """
    script = "(() => {\n'use strict';\n" + "\n".join(map(_text, scripts)) + "\n})();\n"
    style = "\n".join(map(_text, styles))
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}';"
        " base-uri 'none'; form-action 'none'"
    )
    parts = {"policy": policy, "title": _escape(title), "style": style, "data": _json(data), "script": script}
    head, *rest = _text(template).split("{{")
    pieces = [head]
    for piece in rest:  # split once, so that nothing inserted is ever searched for further marks
        name, _, text = piece.partition("}}")
        pieces += [parts[name], text]
    return "".join(pieces)


def bytes_of(weights: NDArray) -> bytes:
    """One byte a cell: 255 times the square root of the weight, so that small weights keep more detail."""
    return np.rint(255 * np.sqrt(np.clip(np.nan_to_num(weights), 0, 1))).astype(np.uint8).tobytes()


def _json(data: Any) -> str:
    text = json.dumps(data, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e")


def _text(place: Place) -> str:
    package, name = place
    return resources.files(package).joinpath(name).read_text(encoding="utf-8").replace("\r\n", "\n")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
