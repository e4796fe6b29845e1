"""The viewer: one HTML file with all maps of a log inside, which opens from disk, offline, in a current browser.

The parts (`viewer.html`, `viewer.css`, `*.js`) stand beside this file and are joined here. Maps travel as one byte a
cell, deflated, one piece for each step and variant, and are unpacked when they are looked at. A strict content policy
lets exactly our script and style run and nothing be fetched (`img-src data:` is for the page's own picture, which it
makes a PNG of); the log's text is data in a JSON block and only ever becomes text.
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

from seq2see.maps.arrays import KINDS, depth_and_heads, lengths
from seq2see.maps.measures import MEASURES, baselines
from seq2see.maps.store import StoredLog, densest_step

# In the order in which they are joined into one script: what a file uses at load time stands above it.
SCRIPTS = "dom.js data.js colour.js labels.js state.js heatmap.js lines.js heads.js running.js reading.js".split()
SCRIPTS += "timeline.js export.js controls.js main.js".split()

FOLDER = Path(__file__).parent


def render(
    log: StoredLog,
    *,
    title: str = "Attention maps",
    max_megabytes: float = 8.0,
    view: Mapping[str, str | int] | None = None,
    other: tuple[str, StoredLog] | None = None,
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
        other: another run's name and log, whose maps of the pairs that both have can be compared with. It takes half
            the room.

    Raises:
        ValueError: a log holds no step, a step's file cannot be read, or the logs have no pair in common.
    """
    view, compared = view or {}, None
    if other is not None:
        max_megabytes, view = max_megabytes / 2, {"kind": "cross", **view, "with": "other"}
        name, log_there = other
        compared = {"name": name, "pairs": pairs_in_common(log, log_there)}
        if not any(place is not None for place in compared["pairs"]):
            raise ValueError(
                f"none of the {len(log.examples)} logged pairs is one of the {len(log_there.examples)} of {name}: only"
                " runs that log the same pairs (the same data, seeds and attention_log.num_examples) can be compared"
            )
        compared |= _contents(log_there, _packed_steps(log_there, max_megabytes))
    packed = _packed_steps(log, max_megabytes, view.get("step"))
    data = {
        "view": urlencode(view),
        **_contents(log, packed),
        "numStored": len(log.steps),
        "measures": _measures(log, list(packed)),
        "baselines": {name: _number(value) for name, value in baselines(log.examples).items()},
        "other": compared,
    }
    scripts = [FOLDER / name for name in SCRIPTS]
    return assemble(FOLDER / "viewer.html", scripts=scripts, styles=[FOLDER / "viewer.css"], title=title, data=data)


def pairs_in_common(log: StoredLog, other: StoredLog) -> list[int | None]:
    """Where each pair of a log stands in another one, from 0; None where that has no such source and reference."""
    places = {(example.source, example.reference): place for place, example in enumerate(other.examples)}
    return [places.get((example.source, example.reference)) for example in log.examples]


def _contents(log: StoredLog, packed: Mapping[int, Mapping[str, str]]) -> dict[str, object]:
    """What the page needs of a log to draw its maps."""
    return {
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
        "maps": list(packed.values()),
    }


def _packed_steps(log: StoredLog, max_megabytes: float, shown: str | int | None = None) -> dict[int, dict[str, str]]:
    """The maps of the steps that the page has room for; the first, the last and the one that is shown are whole."""
    if not log.steps:
        raise ValueError("the attention log holds no step yet; append one before rendering the page")
    kept = {log.steps[0], log.steps[-1], log.steps[-1] if shown is None else shown}
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
        table = np.full((len(MEASURES), len(steps), *depth_and_heads(log.model, kind)), None, dtype=object)
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
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
    block = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c").replace(">", "\\u003e")
    title = html.escape(title, quote=False)
    parts = {"policy": policy, "title": title, "style": style, "data": block, "script": script}
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: parts[mark[1]], template.read_text(encoding="utf-8"))


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
