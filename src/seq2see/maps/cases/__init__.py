"""From a wrong output to its cause: one page of outputs beside their references, each with its cross attention.

It has the look, the content policy and the offline promise of the viewer (`maps/page`), and shares its style sheet and
its colour scales. Maps travel as one byte a cell, deflated, one piece a case, and are unpacked when they are looked at.

Each map raises flags, known from the search for translations that have lost touch with their source (Guerreiro, Voita
and Martins 2023, "Looking for a Needle in a Haystack: A Comprehensive Study of Hallucinations in Neural Machine
Translation"), where attention alone is a weak sign. So none is believed here: how well each tells wrong outputs from
right ones is measured.
"""

import difflib
import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from itertools import chain, groupby
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seq2see.maps import page

FOLDER = Path(__file__).parent
SCRIPTS = [page.FOLDER / f"{name}.js" for name in "dom data colour labels heatmap export causes".split()]
SCRIPTS += [FOLDER / f"{name}.js" for name in "tables causes cases".split()]
STYLES = (page.FOLDER / "viewer.css", FOLDER / "cases.css")
SEEN = 0.2  # attention that a source word must get, summed over all rows, to count as looked at
GRID = np.linspace(0, 1, 101)  # places in the source, from its beginning to its end
WHOLE_SHARE = 0.25  # of a page's room, for outputs with the maps of all heads
NORMAL = 1.959964  # standard deviations on either side that hold 95 %


@dataclass(frozen=True)
class Side:
    """A target that the decoder was fed: the model's own output, or the reference."""

    text: str
    tokens: tuple[str, ...]  # labels for people, "<eos>" last
    probabilities: tuple[float, ...]  # of each token, given those before it
    candidates: tuple[tuple[tuple[str, float], ...], ...]  # for each place the most probable tokens, falling
    cross: NDArray  # weights (layers, H, T, S), both with EOS


@dataclass(frozen=True)
class Found:
    """A hypothesis of the beam that an output was found with."""

    text: str
    score: float  # summed log-probability, nats
    ranked: float  # what hypotheses of different lengths are ranked by
    right: bool  # whether it is the reference
    ended: bool = True  # whether its end was reached before the length limit


class Flags(NamedTuple):
    """Signs of trouble in one map; more is worse.

    Args:
        unattended: share of the source words that are never attended to.
        eos_mass: attention on the source's EOS, mean over the rows that predict a token other than EOS.
        distance: how far the map's spread over the source is from the usual one, in lengths of the source, 0 to 1.
    """

    unattended: float
    eos_mass: float
    distance: float


@dataclass(frozen=True)
class Case:
    """One output beside its reference."""

    line: int  # of the .tsv file
    source: str
    source_tokens: tuple[str, ...]  # labels, "<eos>" last
    kind: str | None  # of its error; None: the output is a reference
    ended: bool  # whether the output's end was reached before the length limit
    log_prob: float  # of the reference, nats a token
    output: Side
    reference: Side
    flags: Flags  # of the output's map
    unattended: tuple[str, ...]  # source words that are never attended to
    links: tuple[tuple[int, int], ...] | None = None  # true links of the reference, source and target token, from 0
    hypotheses: tuple[Found, ...] = ()  # all of the beam, best first, the output among them; empty without a beam
    causes: Mapping[str, Any] | None = None  # what source words do to the output, as `causes.for_page` gives it


class Kept(Enum):
    """What a page has of an output, falling."""

    heads = "all heads"
    head = "one head"  # that of the flags
    texts = "texts"


def render(
    cases: Iterable[Case],
    *,
    about: Mapping[str, Any],
    title: str = "Outputs and their attention",
    max_megabytes: float = 8.0,
) -> str:
    """The page as HTML text, to be written as UTF-8; wrong outputs come first, otherwise as they were given.

    Args:
        cases: at least one, the most important first.
        about: `name` of the split, `step`, how many outputs were `wrong` and `right` in all, `layer` and `head`
            (0-based; None: the mean) of the flags' attention, `flags`: what stands in the JSON file about them, `beam`
            (hypotheses followed at a time) and `penalty` (the length penalty of their ranking), and `causes`: what
            `causes.agreement` found, if it was asked.
        title: what the browser's tab shows.
        max_megabytes: limit for the page, in millions of bytes. To keep it, less important cases have the maps of the
            flags' head alone, or their texts alone, or are not there; the page says so.
    """
    remaining = iter(cases)
    first = next(remaining)
    layers, heads = first.output.cross.shape[:2]

    def assembled(shown: Sequence[Mapping[str, Any]]) -> str:
        data = {**about, "layers": layers, "heads": heads, "cases": shown}
        return page.assemble(FOLDER / "cases.html", scripts=SCRIPTS, styles=STYLES, title=title, data=data)

    room = max_megabytes * 1e6 - len(assembled([]).encode())
    shown = _within(room, chain([first], remaining), about["layer"], about["head"])
    return assembled(sorted(shown, key=lambda own: own["kind"] is None))


def _within(room: float, cases: Iterable[Case], layer: int, head: int | None) -> list[dict[str, Any]]:
    """The first cases, each with as much as there is still room for."""
    details, whole_room = list(Kept), WHOLE_SHARE * room
    found: list[dict[str, Any]] = []
    for case in cases:
        while details:
            own = _case(case, details[0], layer, head)
            size = len(json.dumps(own)) + 1
            if size <= (whole_room if details[0] is Kept.heads else room):
                break
            del details[0]  # nor is there room for a later case
        else:
            break
        found.append(own)
        room, whole_room = room - size, whole_room - size
    return found


Parts = list[tuple[str, bool]]


def differences(text: str, other: str) -> tuple[Parts, Parts]:
    """Both texts in parts, each with whether it differs from the other text; what does not is the same on both sides.

    Parts are words with the spaces after them, or letters where there are no spaces or nothing but spaces differs.
    """
    has_words = re.search(r"\S\s+\S", text + "\n" + other) and (" " in text or " " in other)
    if has_words and text.split() != other.split():
        own, others = (re.findall(r"\s*\S+\s*|\s+", each) for each in (text, other))
        bare = [[part.strip() for part in parts] for parts in (own, others)]
    else:
        own, others = bare = [list(text), list(other)]
    matches = difflib.SequenceMatcher(None, *bare, autojunk=False).get_opcodes()
    return (
        _joined((own[start:end], name != "equal") for name, start, end, _, _ in matches),
        _joined((others[start:end], name != "equal") for name, _, _, start, end in matches),
    )


def _joined(parts: Iterable[tuple[list[str], bool]]) -> Parts:
    grouped = groupby(((part, differs) for some, differs in parts for part in some), key=lambda part: part[1])
    return [("".join(part for part, _ in group), differs) for differs, group in grouped]


def _case(case: Case, kept: Kept, layer: int, head: int | None) -> dict[str, Any]:
    def side(own: Side, parts: Parts) -> dict[str, Any]:
        return {
            "parts": parts,
            "tokens": own.tokens,
            "probabilities": [round(value, 4) for value in own.probabilities],
            "candidates": [[(token, round(value, 4)) for token, value in place] for place in own.candidates],
        }

    of_output, of_reference = differences(case.output.text, case.reference.text)
    sides = {"output": side(case.output, of_output), "reference": side(case.reference, of_reference)}
    listed = {
        "line": case.line,
        "source": case.source,
        "kind": case.kind,
        "ended": case.ended,
        "logProb": round(case.log_prob, 4),
        "flags": {name: round(value, 4) for name, value in case.flags._asdict().items()},
        "kept": kept.value,
    }
    if kept is Kept.texts:
        return {**listed, **{name: {"parts": own["parts"]} for name, own in sides.items()}}
    maps = [case.output.cross, case.reference.cross]
    if kept is Kept.head:
        maps = [own[layer].mean(0) if head is None else own[layer, head] for own in maps]
    return {
        **listed,
        **sides,
        "sourceTokens": case.source_tokens,
        "unattended": case.unattended,
        "links": case.links,
        "hypotheses": [
            {
                "parts": differences(own.text, case.output.text)[0],
                "score": round(own.score, 4),
                "ranked": round(own.ranked, 4),
                "right": own.right,
                "ended": own.ended,
            }
            for own in case.hypotheses
        ],
        "causes": case.causes,
        "maps": page.pack(maps),
    }


def unattended_words(weights: NDArray, source_words: Sequence[int]) -> list[int]:
    """The numbers of the source words that get less than `SEEN` from all rows of a map (T, S), both with EOS.

    `source_words` has the word number of each source token, EOS left out. Berard, Calapodescu and Roux 2019 count
    tokens with little attention; ours are words.
    """
    if not len(source_words):
        return []
    mass = np.bincount(np.asarray(source_words), weights=weights[:, :-1].sum(0))
    return np.flatnonzero(mass < SEEN).tolist()


def eos_mass(weights: NDArray) -> float:
    """Attention on the source's EOS; the row that predicts EOS is left out, if there is another one."""
    rows = weights[:-1] if len(weights) > 1 else weights
    return float(rows[:, -1].mean())


def spread(weights: NDArray) -> NDArray[np.float64]:
    """How much of a map's attention lies before each place of `GRID`: (101,), from 0 to 1."""
    share = weights.mean(0, dtype=np.float64)
    before = np.concatenate([[0.0], np.cumsum(share)])
    return np.interp(GRID, np.linspace(0, 1, len(before)), before / max(before[-1], 1e-12))


def distance(own: NDArray, usual: NDArray) -> float:
    """The Wasserstein distance between two spreads, in lengths of the source.

    Guerreiro et al. 2023, "Optimal Transport for Unsupervised Hallucination Detection in Neural Machine Translation",
    compare with single good translations; here the usual spread is the mean over the scored outputs, right and wrong.
    """
    return float(np.trapezoid(np.abs(own - usual), GRID))


def flags_of(weights: NDArray, source_words: Sequence[int], usual: NDArray) -> Flags:
    """All flags of a map; arguments as above, `usual` a mean of `spread`."""
    num_words = len(set(source_words))
    unattended = len(unattended_words(weights, source_words)) / num_words if num_words else 0.0
    return Flags(unattended, eos_mass(weights), distance(spread(weights), usual))


def predicts(values: Sequence[float], wrong: Sequence[bool]) -> dict[str, Any]:
    """How well the flag of each output, of which more is meant to be worse, tells wrong ones from right ones.

    Returns:
        `area_under_curve`, under the receiver operating characteristic: how often a wrong output has more of the flag
        than a right one; its `interval` of 95 %; both None where there are only wrong or only right ones; and a
        `verdict` in words.

    Source:
        The area as a Mann-Whitney statistic, ties counted half: Hanley and McNeil 1982. Its interval: method 5 of
        Newcombe 2006, "Confidence Intervals for an Effect Size Measure Based on the Mann-Whitney Statistic. Part 2",
        which stays honest for few outputs and for an area of 0 or 1.
    """
    is_wrong, flag = np.asarray(wrong, bool), np.asarray(values, np.float64)
    bad, good = flag[is_wrong], np.sort(flag[~is_wrong])
    if not len(bad) or not len(good):
        verdict = f"cannot be said: there is no {'right' if len(bad) else 'wrong'} output"
        return {"area_under_curve": None, "interval": None, "verdict": verdict}
    below = np.searchsorted(good, bad, "left") + np.searchsorted(good, bad, "right")
    area = float(below.sum()) / (2 * len(bad) * len(good))
    true = np.linspace(0, 1, 100_001)  # those that the measured one is not too far from are in the interval
    extra = (len(bad) + len(good)) / 2 - 1
    variance = 1 + extra * ((1 - true) / (2 - true) + true / (1 + true))
    near = true[np.abs(area - true) <= NORMAL * np.sqrt(true * (1 - true) * variance / (len(bad) * len(good)))]
    low, high = float(near.min(initial=area)), float(near.max(initial=area))
    if low <= 0.5 <= high:
        verdict = "does not predict wrong outputs"
    elif low > 0.5:
        verdict = "is higher for wrong outputs" if area < 0.8 else "is much higher for wrong outputs"
    else:
        verdict = "is lower for wrong outputs, the other way round than meant"
    return {"area_under_curve": area, "interval": [low, high], "verdict": verdict}


def report(flags: Sequence[Flags], wrong: Sequence[bool]) -> dict[str, dict[str, Any]]:
    """What `predicts` says of each flag, by its name."""
    return {name: predicts([getattr(own, name) for own in flags], wrong) for name in Flags._fields}
