"""The viewer: one HTML file with all maps of a log inside, which opens from disk, offline, in a current browser.

The parts (`viewer.html`, `viewer.css`, `*.js`) stand beside this file and are joined here. Maps travel as one byte a
cell, deflated, one piece for each step, variant and pair, and are unpacked when they are looked at. A strict content
policy lets exactly our script and style run and nothing be fetched (`img-src data:` is for the page's own picture,
which it makes a PNG of); the log's text is data in a JSON block and only ever becomes text.
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
from typing import Any
from urllib.parse import urlencode

import numpy as np
from numpy.typing import NDArray

from seq2see.maps.arrays import KINDS, depth_and_heads, lengths
from seq2see.maps.measures import MEASURES, baselines
from seq2see.maps.store import LEAST_STEPS, StoredLog, densest_step

# In the order in which they are joined into one script: what a file uses at load time stands above it.
SCRIPTS = "dom.js data.js colour.js causes.js labels.js state.js heatmap.js lines.js heads.js running.js".split()
SCRIPTS += "reading.js timeline.js export.js controls.js live.js main.js".split()
RELOAD_SECONDS = 10  # after which a page of a run that goes on looks for a newer one

VARIANTS = {  # of a step's maps, and what each consists of; the encoder has none of the model's own outputs
    "weights": KINDS,
    "norms": tuple(f"{kind}_norm" for kind in KINDS),
    "free": tuple(f"{kind}_free" for kind in KINDS[1:]),
    "freeNorms": tuple(f"{kind}_free_norm" for kind in KINDS[1:]),
}
Pieces = dict[tuple[int, str, int], str]
"""The maps of a step, variant and pair, as `pack` gives them."""

FOLDER = Path(__file__).parent


def render(
    log: StoredLog,
    *,
    title: str = "Attention maps",
    max_megabytes: float = 8.0,
    view: Mapping[str, str | int] | None = None,
    other: tuple[str, StoredLog] | None = None,
    causes: Sequence[Mapping[str, object]] | None = None,
    known: Pieces | None = None,
    is_live: bool = False,
) -> str:
    """The page as HTML text, to be written as UTF-8.

    Args:
        log: at least one step.
        title: what the browser's tab shows.
        max_megabytes: limit for the page, in millions of bytes. To keep it, inner steps go without their norms and
            their own outputs, then all steps; then the last pairs go while there are more than two, then inner steps
            while there are more than eight, the densest first as in the log, then more of both. The page says so.
        view: what the page shows when it is opened, named as in its address: `kind`, and any of `layer`, `head`,
            `pair` (from 1), `step` (both are kept), `cells` and so on. None: cross attention at the last step, of the
            head that aligns best if the true alignment is known. A view in the address goes before it.
        other: another run's name and log, whose maps of the pairs that both have can be compared with. It takes half
            the room.
        causes: of each example what its source words cause (`maps.causes.for_page`), at the last step.
        known: what was packed for an earlier page of the same log; it takes in what is packed for this one.
        is_live: the log still grows, and the page loads itself again from time to time.

    Raises:
        ValueError: a log holds no step, a step's file cannot be read, or the logs have no pair in common.
    """
    view, room, compared = view or {}, max_megabytes * 1e6, None
    opening = min(max(int(view.get("pair", 1)), 1), len(log.examples)) - 1
    if other is not None:
        room, view = room / 2, {"kind": "cross", **view, "with": "other"}
    contents, pairs = _contents(log, {} if known is None else known, room, view, opening)
    if other is not None:
        name, log_there = other
        places = pairs_in_common(log, log_there)
        if not any(place is not None for place in places):
            raise ValueError(
                f"none of the {len(log.examples)} logged pairs is one of the {len(log_there.examples)} of {name}: only"
                " runs that log the same pairs (the same data, seeds and attention_log.num_examples) can be compared"
            )
        compared, there = _contents(log_there, {}, room, {}, places[opening] or 0)
        kept: dict[int | None, int] = {place: number for number, place in enumerate(there)}
        compared |= {"name": name, "pairs": [kept.get(places[pair]) for pair in pairs]}
    data = {
        "view": urlencode(view),
        "reloadSeconds": RELOAD_SECONDS if is_live else None,
        **contents,
        "baselines": {name: _number(value) for name, value in baselines(log.examples).items()},
        "other": compared,
        "causes": None if causes is None else [causes[pair] for pair in pairs],
    }
    return _assembled(title, data)


def _assembled(title: str, data: object) -> str:
    scripts = [FOLDER / name for name in SCRIPTS]
    return assemble(FOLDER / "viewer.html", scripts=scripts, styles=[FOLDER / "viewer.css"], title=title, data=data)


def pairs_in_common(log: StoredLog, other: StoredLog) -> list[int | None]:
    """Where each pair of a log stands in another one, from 0; None where that has no such source and reference."""
    places = {(example.source, example.reference): place for place, example in enumerate(other.examples)}
    return [places.get((example.source, example.reference)) for example in log.examples]


def _contents(
    log: StoredLog, known: Pieces, room: float, view: Mapping[str, str | int], opening: int
) -> tuple[dict[str, Any], list[int]]:
    """What the page has of a log within so many bytes, and of which pairs."""
    if not log.steps:
        raise ValueError("the attention log holds no step yet; append one before rendering the page")
    room -= len(_assembled("", _described(log, log.steps, range(len(log.examples)))).encode())
    kept_steps = {log.steps[0], log.steps[-1], int(view.get("step", log.steps[-1]))}
    steps, pairs, whole = _within(room, log, known, kept_steps, opening)
    left_out = {
        "steps": len(log.steps) - len(steps),
        "pairs": len(log.examples) - len(pairs),
        "variants": len(steps) - len(whole) if log.at(steps[-1]).hypothesis_tokens else 0,
    }
    maps = [
        {
            variant: [known[step, variant, pair] for pair in pairs]
            for variant in (VARIANTS if step in whole else ["weights"])
            if (step, variant, pairs[0]) in known
        }
        for step in steps
    ]
    return {**_described(log, steps, pairs), "leftOut": left_out, "maps": maps}, pairs


def _described(log: StoredLog, steps: Sequence[int], pairs: Sequence[int]) -> dict[str, Any]:
    """All of some steps and pairs but their maps."""

    def of_pairs(values: Sequence[Any] | None) -> list[Any] | None:
        return None if values is None else [values[pair] for pair in pairs]

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
            for example in of_pairs(log.examples) or []
        ],
        "steps": [
            {
                "step": stored.step,
                "epoch": _number(stored.epoch),
                "scores": {name: _number(value) for name, value in stored.scores.items()},
                "hypotheses": of_pairs(stored.hypotheses),
                "hypothesisTokens": of_pairs(stored.hypothesis_tokens),
            }
            for stored in map(log.at, steps)
        ],
        "measures": _measures(log, steps),
    }


def _within(
    room: float, log: StoredLog, known: Pieces, kept_steps: set[int], kept_pair: int
) -> tuple[list[int], list[int], list[int]]:
    """The steps and pairs that there is room for, and the steps with all their variants; in characters."""
    steps, pairs, whole = list(log.steps), list(range(len(log.examples))), []

    def is_too_much() -> bool:
        return room < sum(
            len(piece)
            for (step, variant, pair), piece in known.items()
            if step in steps and pair in pairs and (variant == "weights" or step in whole)
        )

    _pack(log, known, ["weights"])
    if not is_too_much():
        _pack(log, known, VARIANTS)
        whole = list(steps)
    while is_too_much():
        if len(whole) > len(kept_steps):
            whole.remove(densest_step(whole, kept_steps))
        elif whole:
            whole = []
        elif len(pairs) > (2 if len(steps) > LEAST_STEPS else 1):
            pairs.remove(max(pair for pair in pairs if pair != kept_pair))
        elif len(steps) > len(kept_steps):
            steps.remove(densest_step(steps, kept_steps))
        else:
            break
    return steps, pairs, whole


def _pack(log: StoredLog, known: Pieces, variants: Iterable[str]) -> None:
    """Adds the maps of each step and pair, in these variants, as far as the log has them."""
    for step in log.steps:
        due = [variant for variant in variants if (step, variant, 0) not in known]
        if not due:
            continue
        maps, hypotheses = log.maps(step).named(), log.at(step).hypothesis_tokens
        for variant in due:
            names = [name for name in VARIANTS[variant] if name in maps]
            if not names:
                continue
            sizes = [zip(*lengths(name, log.examples, hypotheses), strict=True) for name in names]
            for pair, shapes in enumerate(zip(*sizes, strict=True)):
                known[step, variant, pair] = pack(
                    maps[name][pair, ..., :queries, :keys] for name, (queries, keys) in zip(names, shapes, strict=True)
                )


def _measures(log: StoredLog, steps: Sequence[int]) -> dict[str, dict[str, list]]:
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


def assemble(
    template: Path,
    *,
    scripts: Sequence[Path],
    styles: Sequence[Path],
    title: str,
    data: object,
    texts: Mapping[str, str] | None = None,
) -> str:
    """A page of one file that fetches nothing and runs nothing but its own script, as HTML text.

    Args:
        template: HTML with the marks {{policy}}, {{title}}, {{style}}, {{data}} and {{script}}.
        scripts: joined in this order into one: what a file uses at load time stands before it.
        styles: joined into one.
        title: what the browser's tab shows.
        data: for the script, as JSON that cannot end the element which holds it, whatever a token contains.
        texts: for further marks, without any `<`.
    """
    script, style = ("\n".join(file.read_text(encoding="utf-8") for file in files) for files in (scripts, styles))
    script = "(() => {\n'use strict';\n" + script + "\n})();\n"
    policy = (
        f"default-src 'none'; script-src '{_digest(script)}'; style-src '{_digest(style)}';"
        " img-src data:; base-uri 'none'; form-action 'none'"
    )
    block = json.dumps(data, separators=(",", ":"), allow_nan=False).replace("<", "\\u003c").replace(">", "\\u003e")
    title = html.escape(title, quote=False)
    parts = {"policy": policy, "title": title, "style": style, "data": block, "script": script, **(texts or {})}
    return re.sub(r"\{\{(\w+)\}\}", lambda mark: parts[mark[1]], template.read_text(encoding="utf-8"))


def _digest(text: str) -> str:
    return "sha256-" + base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
