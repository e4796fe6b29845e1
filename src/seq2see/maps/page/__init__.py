"""The viewer: one HTML file with all maps of a log inside, which opens from disk, offline, in a current browser.

The parts (`viewer.html`, `viewer.css`, `*.js`) stand beside this file and are joined here. Maps travel as one byte a
cell, deflated, one piece for each step and variant, and are unpacked when they are looked at. A strict content policy
lets exactly our script and style run and nothing be fetched; the log's text is data in a JSON block and only ever
becomes text.
"""

import base64
import hashlib
import html
import json
import math
import re
import zlib
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from seq2see.maps.arrays import KINDS, lengths
from seq2see.maps.measures import MEASURES, baselines
from seq2see.maps.store import StoredLog, densest_step

# In the order in which they are joined into one script: what a file uses at load time stands above it.
SCRIPTS = "dom.js data.js colour.js causes.js labels.js state.js heatmap.js lines.js heads.js reading.js".split()
SCRIPTS += "timeline.js export.js controls.js main.js".split()

FOLDER = Path(__file__).parent


def render(
    log: StoredLog,
    *,
    title: str = "Attention maps",
    max_megabytes: float = 8.0,
    view: Mapping[str, str | int] | None = None,
    causes: Sequence[Mapping[str, object]] | None = None,
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
        causes: of each example what its source words cause (`maps.causes.for_page`), at the last step.

    Raises:
        ValueError: the log holds no step, or a step's file cannot be read.
    """
    if not log.steps:
        raise ValueError("the attention log holds no step yet; append one before rendering the page")
    view = view or {}
    packed = _packed_steps(log, max_megabytes, kept={log.steps[0], log.steps[-1], view.get("step", log.steps[-1])})
    data = {
        "view": urlencode(view),
        "model": log.model,
        "examples": [
            {
                "id": example.id,
                "source": example.source,
                "reference": example.reference,
                "sourceTokens": example.source_tokens,
                "targetTokens": example.target_tokens,
                "links": example.links,
            }
            for example in log.examples
        ],
        "steps": [
            {
                "step": stored.step,
                "epoch": _number(stored.epoch),
                "scores": {name: _number(value) for name, value in stored.scores.items()},
                "hypotheses": stored.hypotheses,
                "hypothesisTokens": stored.hypothesis_tokens,
            }
            for stored in map(log.at, packed)
        ],
        "numStored": len(log.steps),
        "measures": _measures(log, list(packed)),
        "baselines": {name: _number(value) for name, value in baselines(log.examples).items()},
        "maps": list(packed.values()),
        "causes": causes,
    }
    scripts = [FOLDER / name for name in SCRIPTS]
    return assemble(FOLDER / "viewer.html", scripts=scripts, styles=[FOLDER / "viewer.css"], title=title, data=data)


def _packed_steps(log: StoredLog, max_megabytes: float, kept: set[str | int]) -> dict[int, dict[str, str]]:
    """The maps of the steps that the page has room for; those to be kept are whole."""
    packed = {step: _pack(log, step) for step in log.steps}
    whole, most = list(packed), max_megabytes * 1e6  # steps with all their variants; characters
    while len(packed) > len(kept) and sum(len(own) for step in packed.values() for own in step.values()) > most:
        if len(whole) > len(kept):
            step = densest_step(whole, kept)
            whole.remove(step)
            packed[step] = {"weights": packed[step]["weights"]}
        else:
            del packed[densest_step(list(packed), kept)]
    return packed


def _pack(log: StoredLog, step: int) -> dict[str, str]:
    """One step's maps by variant, of which the log may lack some; the encoder has none of the model's own outputs."""
    maps = log.maps(step).named()
    packed = {}
    for variant, kinds, suffix in (
        ("weights", KINDS, ""),
        ("norms", KINDS, "_norm"),
        ("free", KINDS[1:], "_free"),
        ("freeNorms", KINDS[1:], "_free_norm"),
    ):
        names = [kind + suffix for kind in kinds]
        if not all(name in maps for name in names):
            continue
        sizes = [zip(*lengths(name, log.examples, log.at(step).hypothesis_tokens), strict=True) for name in names]
        packed[variant] = pack(
            maps[name][index, ..., :queries, :keys]
            for index, shapes in enumerate(zip(*sizes, strict=True))
            for name, (queries, keys) in zip(names, shapes, strict=True)
        )
    return packed


def _measures(log: StoredLog, steps: list[int]) -> dict[str, dict[str, list]]:
    """By kind, then measure -> [step][layer][head], only measures that the kind has."""
    place = {step: index for index, step in enumerate(steps)}
    result: dict[str, dict[str, list]] = {}
    for kind in KINDS:
        layers = log.model["num_encoder_layers" if kind == "encoder" else "num_decoder_layers"]
        shape = (len(MEASURES), len(steps), layers, log.model["num_heads"])
        table = np.full(shape, None, dtype=object)
        for row in log.measures():
            if row.kind == kind and row.step in place:
                table[:, place[row.step], row.layer, row.head] = [_number(value) for value in row[4:]]
        named = zip(MEASURES, table, strict=True)
        result[kind] = {name: own.tolist() for name, own in named if any(value is not None for value in own.flat)}
    return result


def _number(value: float | None) -> float | None:
    """For JSON: four significant digits and more are plenty for a page, and what is not finite is null."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.5g}")


def pack(maps: Iterable[NDArray]) -> str:
    """The cells one after the other, deflated, as base64.

    A byte holds 255 times the square root of the weight, so that small weights keep more detail; the page squares it
    and makes the row sum to 1 again, which leaves a cell within 0.004 of its value.
    """
    cells = b"".join(
        np.rint(255 * np.sqrt(np.clip(np.nan_to_num(weights), 0, 1))).astype(np.uint8).tobytes() for weights in maps
    )
    return base64.b64encode(zlib.compress(cells, 9)).decode("ascii")


def assemble(template: Path, *, scripts: Sequence[Path], styles: Sequence[Path], title: str, data: object) -> str:
    """A page of one file that fetches nothing and runs nothing but its own script, as HTML text.

    Args:
        template: HTML with the marks {{policy}}, {{title}}, {{style}}, {{data}} and {{script}}.
        scripts: joined in this order into one: what a file uses at load time stands before it.
        styles: joined into one.
        title: what the browser's tab shows.
        data: for the script, as JSON that cannot end the element which holds it, whatever a token contains.
    """
    script, style = ("\n".join(file.read_text(encoding="utf-8") for file in files) for files in (scripts, styles))
    script = "(() => {\n'use strict';\n" + script + "\n})();\n"
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}';"
        " base-uri 'none'; form-action 'none'"
    )
    block = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c").replace(">", "\\u003e")
    title = html.escape(title, quote=False)
    parts = {"policy": policy, "title": title, "style": style, "data": block, "script": script}
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: parts[mark[1]], template.read_text(encoding="utf-8"))


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
