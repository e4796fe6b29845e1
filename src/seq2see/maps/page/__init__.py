"""The viewer: one HTML file with all maps of a log inside, which opens from disk, offline, in a current browser.

The parts (`viewer.html`, `viewer.css`, `*.js`) stand beside this file and are joined here. Maps travel as one byte a
cell, deflated, one piece for each step and variant, and are unpacked when they are looked at. A strict content policy
lets exactly our script and style run and nothing be fetched; the log's text is data in a JSON block and only ever
becomes text.
"""

from __future__ import annotations

import base64
import math
import zlib
from collections.abc import Mapping
from urllib.parse import urlencode

from seq2see.maps.arrays import KINDS
from seq2see.maps.index import Example
from seq2see.maps.page.assembly import assemble, bytes_of
from seq2see.maps.store import StoredLog, densest_step
from seq2see.maps.table import MEASURES, baselines

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


def render(
    log: StoredLog,
    *,
    title: str = "Attention maps",
    max_megabytes: float = 8.0,
    view: Mapping[str, str | int] | None = None,
) -> str:
    """The page as HTML text, to be written as UTF-8.

    Args:
        log: at least one step.
        title: what the browser's tab shows.
        max_megabytes: limit for the maps in the page, in millions of bytes. To keep it, inner steps go without their
            norms and their own outputs, then inner steps are left out, the densest first as in the log; never the
            first and the last.
        view: what the page shows when it is opened, named as in its address: `kind`, and any of `layer`, `head`,
            `pair` (from 1), `step` (which is kept whole, too), `cells` and so on. None: cross attention at the last
            step, of the head that aligns best if the true alignment is known. A view in the address goes before it.

    Raises:
        ValueError: the log holds no step, or a step's file cannot be read.
    """
    if not log.steps:
        raise ValueError("the attention log holds no step yet; append one before rendering the page")
    return assemble(
        (__name__, "viewer.html"),
        scripts=[(__name__, name) for name in SCRIPTS],
        styles=[(__name__, "viewer.css")],
        title=title,
        data=contents(log, max_megabytes=max_megabytes, view=view or {}),
    )


def contents(log: StoredLog, *, max_megabytes: float, view: Mapping[str, str | int]) -> dict[str, object]:
    """The log as plain values for the script."""
    kept = {log.steps[0], log.steps[-1], view.get("step", log.steps[-1])}
    packed = {step: pack(log, step) for step in log.steps}
    whole = list(packed)  # steps with all their variants
    while len(packed) > len(kept) and sum(map(_size, packed.values())) > max_megabytes * 1e6:
        if len(whole) > len(kept):
            step = densest_step(whole, kept)
            whole.remove(step)
            packed[step] = {"weights": packed[step]["weights"]}
        else:
            del packed[densest_step(list(packed), kept)]
    return {
        "view": urlencode(view),
        "model": log.model,
        "examples": [_example(example) for example in log.examples],
        "steps": [_step(log, step) for step in packed],
        "numStored": len(log.steps),
        "measures": _measures(log, list(packed)),
        "baselines": {name: _number(value) for name, value in baselines(log.examples).items()},
        "maps": list(packed.values()),
    }


def pack(log: StoredLog, step: int) -> dict[str, str]:
    """One step's maps by variant, each as base64 of deflated bytes: example after example, kind after kind, no padding.

    `weights` and `norms` hold encoder, decoder and cross cells, `free` and `freeNorms` (of the model's own outputs)
    decoder and cross cells; a variant that the log does not have is left out. A byte holds 255 times the square root of
    the weight, so that small weights keep more detail; the page squares it and makes the row sum to 1 again, which
    leaves a cell within 0.004 of its value.
    """
    maps = log.maps(step).named()
    variants = {
        "weights": KINDS,
        "norms": tuple(f"{kind}_norm" for kind in KINDS),
        "free": ("decoder_free", "cross_free"),
        "freeNorms": ("decoder_free_norm", "cross_free_norm"),
    }
    packed = {}
    for variant, names in variants.items():
        if not all(name in maps for name in names):
            continue
        lengths = {name: log.lengths(name, step) for name in names}
        pieces = [
            bytes_of(maps[name][index, ..., : lengths[name][0][index], : lengths[name][1][index]])
            for index in range(len(log.examples))
            for name in names
        ]
        packed[variant] = base64.b64encode(zlib.compress(b"".join(pieces), 9)).decode("ascii")
    return packed


def _size(variants: dict[str, str]) -> int:
    return sum(map(len, variants.values()))


def _example(example: Example) -> dict:
    return {
        "id": example.id,
        "source": example.source,
        "reference": example.reference,
        "sourceTokens": example.source_tokens,
        "targetTokens": example.target_tokens,
        "links": example.links,
    }


def _step(log: StoredLog, step: int) -> dict:
    stored = log.at(step)
    scores = {name: _number(value) for name, value in stored.scores.items()}
    return {
        "step": step,
        "epoch": _number(stored.epoch),
        "scores": scores,
        "hypotheses": stored.hypotheses,
        "hypothesisTokens": stored.hypothesis_tokens,
    }


def _measures(log: StoredLog, steps: list[int]) -> dict[str, dict[str, list]]:
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
