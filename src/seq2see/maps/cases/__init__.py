"""From a wrong output to its cause: one page of outputs beside their references, each with its cross attention.

It has the look, the content policy and the offline promise of the viewer (`maps/page`), and shares its style sheet and
its colour scales. Maps travel as one byte a cell, deflated, one piece a case, and are unpacked when they are looked at.
"""

import difflib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from numpy.typing import NDArray

from seq2see.maps.cases.flags import Flags
from seq2see.maps.page import assemble, pack

__all__ = ["Case", "Flags", "Found", "Side", "differences", "render"]

SHARED = "seq2see.maps.page"
SCRIPTS = ((SHARED, "dom.js"), (SHARED, "colour.js"), (__name__, "cases.js"))
STYLES = ((SHARED, "viewer.css"), (__name__, "cases.css"))
MOST_CELLS = 24_000_000  # of all cases; above, a page has the mean of each layer's heads alone

Candidate = tuple[str, float]
"""A token and its probability."""


@dataclass(frozen=True)
class Side:
    """A target that the decoder was fed: the model's own output, or the reference.

    Args:
        text: the whole of it.
        tokens: labels for people, "<eos>" last.
        probabilities: of each token, given those before it.
        candidates: for each place the most probable tokens, falling.
        cross: weights (layers, H, T, S), both with EOS.
    """

    text: str
    tokens: tuple[str, ...]
    probabilities: tuple[float, ...]
    candidates: tuple[tuple[Candidate, ...], ...]
    cross: NDArray


@dataclass(frozen=True)
class Found:
    """A hypothesis of the beam that an output was found with.

    Args:
        text: the whole of it.
        score: summed log-probability, nats.
        ranked: what hypotheses of different lengths are ranked by.
        right: whether it is the reference.
        ended: whether its end was reached before the length limit.
    """

    text: str
    score: float
    ranked: float
    right: bool
    ended: bool = True


@dataclass(frozen=True)
class Case:
    """One output beside its reference.

    Args:
        line: of the .tsv file.
        group: `worst` or `random`.
        source: text.
        source_tokens: labels, "<eos>" last.
        right: whether the output is a reference.
        ended: whether the output's end was reached before the length limit.
        log_prob: of the reference, nats a token.
        output: what the model wrote.
        reference: what it should have written.
        flags: of the output's map.
        unattended: source words that are never attended to.
        hypotheses: all of the beam that it was found with, best first, the output among them; empty without a beam.
    """

    line: int
    group: str
    source: str
    source_tokens: tuple[str, ...]
    right: bool
    ended: bool
    log_prob: float
    output: Side
    reference: Side
    flags: Flags
    unattended: tuple[str, ...]
    hypotheses: tuple[Found, ...] = ()


def render(cases: Sequence[Case], *, about: Mapping[str, Any], title: str = "Outputs and their attention") -> str:
    """The page as HTML text, to be written as UTF-8.

    Args:
        cases: at least one.
        about: `name` of the split, `step`, `choice` (how the cases were chosen, in words), `layer` and `head` (0-based;
            None: the mean) of the flags' attention, `flags`: what stands in the JSON file about them, `beam`
            (hypotheses followed at a time) and `penalty` (the length penalty of their ranking).
        title: what the browser's tab shows.
    """
    layers, heads = cases[0].output.cross.shape[:2]
    only_means = sum(case.output.cross.size + case.reference.cross.size for case in cases) > MOST_CELLS
    data = {
        **about,
        "layers": layers,
        "heads": 0 if only_means else heads,
        "cases": [_case(case, only_means=only_means) for case in cases],
    }
    return assemble((__name__, "cases.html"), scripts=SCRIPTS, styles=STYLES, title=title, data=data)


def differences(text: str, other: str) -> list[tuple[str, bool]]:
    """The text in parts, each with whether it differs from the other text; words, or letters where there are no spaces.

    Spaces belong to the word before them.
    """
    pattern = (
        r"\s*\S+\s*|\s+" if re.search(r"\S\s+\S", text + "\n" + other) and (" " in text or " " in other) else r"(?s)."
    )
    own, others = re.findall(pattern, text), re.findall(pattern, other)
    matcher = difflib.SequenceMatcher(None, [part.strip() for part in own], [part.strip() for part in others], False)
    parts: list[tuple[str, bool]] = []
    for name, start, end, _, _ in matcher.get_opcodes():
        if end == start:
            continue
        part, differs = "".join(own[start:end]), name != "equal"
        if parts and parts[-1][1] == differs:
            part = parts.pop()[0] + part
        parts.append((part, differs))
    return parts


def _case(case: Case, *, only_means: bool) -> dict[str, Any]:
    maps = [side.cross.mean(1, keepdims=True) if only_means else side.cross for side in (case.output, case.reference)]
    return {
        "line": case.line,
        "group": case.group,
        "source": case.source,
        "sourceTokens": case.source_tokens,
        "right": case.right,
        "ended": case.ended,
        "logProb": round(case.log_prob, 4),
        "output": _side(case.output, case.reference),
        "reference": _side(case.reference, case.output),
        "flags": {name: round(value, 4) for name, value in case.flags._asdict().items()},
        "unattended": case.unattended,
        "hypotheses": [
            {
                "parts": differences(own.text, case.output.text),
                "score": round(own.score, 4),
                "ranked": round(own.ranked, 4),
                "right": own.right,
                "ended": own.ended,
            }
            for own in case.hypotheses
        ],
        "maps": pack(maps),
    }


def _side(side: Side, other: Side) -> dict[str, Any]:
    return {
        "parts": differences(side.text, other.text),
        "tokens": side.tokens,
        "probabilities": [round(value, 4) for value in side.probabilities],
        "candidates": [[(token, round(value, 4)) for token, value in place] for place in side.candidates],
    }
