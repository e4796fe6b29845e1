"""The viewer: one HTML file with all maps of a log inside, which opens from disk, offline, in a current browser.

The parts (`viewer.html`, `viewer.css`, `*.js`) stand beside this file and are joined here. Maps travel as one byte a
cell, deflated, one piece a step, and are unpacked when they are looked at. A strict content policy lets exactly our
script and style run and nothing be fetched; the log's text is data in a JSON block and only ever becomes text.
"""

from __future__ import annotations

import base64
import hashlib
import json
import math
import zlib
from importlib import resources
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from seq2see.maps.store import densest_step
from seq2see.maps.table import MEASURES, baselines

if TYPE_CHECKING:
    from seq2see.maps.index import Example
    from seq2see.maps.store import AttentionLog, Maps

KINDS = ("encoder", "decoder", "cross")
# In the order in which they are joined into one script: what a file uses at load time stands above it.
SCRIPTS = (
    "dom.js",
    "data.js",
    "colour.js",
    "words.js",
    "state.js",
    "plate.js",
    "lines.js",
    "heads.js",
    "reading.js",
    "tape.js",
    "export.js",
    "frame.js",
    "main.js",
)


def render(log: AttentionLog, *, title: str = "Attention maps", max_megabytes: float = 8.0) -> str:
    """The page as HTML text, to be written as UTF-8.

    Args:
        log: at least one step.
        title: what the browser's tab shows.
        max_megabytes: limit for the maps in the page, in millions of bytes; steps are left out to keep it, as in the
            log, but never the first and the last.

    Raises:
        ValueError: the log holds no step, or a step's file cannot be read.
    """
    if not log.steps:
        raise ValueError("the attention log holds no step yet; append one before rendering the page")
    script = "(() => {\n'use strict';\n" + "\n".join(_part(name) for name in SCRIPTS) + "\n})();\n"
    style = _part("viewer.css")
    page = _part("viewer.html")
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}';"
        " base-uri 'none'; form-action 'none'"
    )
    parts = {
        "policy": policy,
        "title": _escape(title),
        "style": style,
        "data": data_block(log, max_megabytes=max_megabytes),
        "script": script,
    }
    head, *rest = page.split("{{")
    pieces = [head]
    for piece in rest:  # split once, so that nothing inserted is ever searched for further marks
        name, _, text = piece.partition("}}")
        pieces += [parts[name], text]
    return "".join(pieces)


def data_block(log: AttentionLog, *, max_megabytes: float) -> str:
    """The log as JSON that cannot end the script element which holds it, whatever a token contains."""
    packed = {step: pack(log.maps(step), log.examples) for step in log.steps}
    while len(packed) > 2 and sum(map(len, packed.values())) > max_megabytes * 1e6:
        del packed[densest_step(list(packed))]
    data = {
        "model": log.model,
        "examples": [_example(example) for example in log.examples],
        "steps": [_step(log, step) for step in packed],
        "numStored": len(log.steps),
        "measures": _measures(log, list(packed)),
        "baselines": {name: _number(value) for name, value in baselines(log.examples).items()},
        "maps": list(packed.values()),
    }
    return json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c").replace(">", "\\u003e")


def pack(maps: Maps, examples: tuple[Example, ...]) -> str:
    """One step's maps as base64 of deflated bytes: each example's encoder, decoder and cross cells, without padding.

    A byte holds 255 times the square root of the weight, so that small weights keep more detail; the page squares it
    and makes the row sum to 1 again, which leaves a cell within 0.004 of its value.
    """
    pieces = []
    for index, example in enumerate(examples):
        num_sources, num_targets = len(example.source_tokens), len(example.target_tokens)
        pieces += [
            _bytes(maps.encoder[index, ..., :num_sources, :num_sources]),
            _bytes(maps.decoder[index, ..., :num_targets, :num_targets]),
            _bytes(maps.cross[index, ..., :num_targets, :num_sources]),
        ]
    return base64.b64encode(zlib.compress(b"".join(pieces), 9)).decode("ascii")


def _bytes(weights: NDArray) -> bytes:
    return np.rint(255 * np.sqrt(np.clip(np.nan_to_num(weights), 0, 1))).astype(np.uint8).tobytes()


def _example(example: Example) -> dict:
    return {
        "id": example.id,
        "source": example.source,
        "reference": example.reference,
        "sourceTokens": example.source_tokens,
        "targetTokens": example.target_tokens,
        "links": example.links,
    }


def _step(log: AttentionLog, step: int) -> dict:
    stored = log.at(step)
    scores = {name: _number(value) for name, value in stored.scores.items()}
    return {"step": step, "epoch": _number(stored.epoch), "scores": scores, "hypotheses": stored.hypotheses}


def _measures(log: AttentionLog, steps: list[int]) -> dict[str, dict[str, list]]:
    """By kind, then measure -> [step][layer][head], only measures that the kind has."""
    place = {step: index for index, step in enumerate(steps)}
    rows = [row for row in log.measures() if row.step in place]
    result: dict[str, dict[str, list]] = {kind: {} for kind in KINDS}
    for kind in KINDS:
        layers = log.model["num_encoder_layers" if kind == "encoder" else "num_decoder_layers"]
        for column, name in enumerate(MEASURES, start=4):
            table: list[list[list[float | None]]] = [
                [[None] * log.model["num_heads"] for _ in range(layers)] for _ in place
            ]
            known = False
            for row in (row for row in rows if row.kind == kind):
                value = float(row[column])
                if not math.isnan(value):
                    table[place[row.step]][row.layer][row.head] = _number(value)
                    known = True
            if known:
                result[kind][name] = table
    return result


def _number(value: float | None) -> float | None:
    """For JSON: four significant digits and more are plenty for a page, and what is not finite is null."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.5g}")


def _part(name: str) -> str:
    return resources.files(__name__).joinpath(name).read_text(encoding="utf-8").replace("\r\n", "\n")


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")


def _escape(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
