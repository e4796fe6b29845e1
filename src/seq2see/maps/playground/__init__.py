"""The playground: one HTML file that holds a trained model and runs it in the reader's browser."""

from bisect import bisect_left
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seq2see.data import Batch, EncodedPairs
from seq2see.data.encoded import Texts
from seq2see.decoding import TranslationModel, decode_sentences
from seq2see.maps.page import FOLDER as PAGE
from seq2see.maps.page import assemble
from seq2see.maps.playground.weights import Held, allotted, hold, logit_differences, pack, rounded
from seq2see.transformer import Transformer

FOLDER = Path(__file__).parent
ENGINE = [PAGE / "dom.js", PAGE / "data.js"]
ENGINE += [FOLDER / name for name in ("arithmetic.js", "model.js", "tokenizer.js", "search.js")]
SCRIPTS = [*ENGINE, *(PAGE / name for name in ("colour.js", "labels.js", "heatmap.js"))]
SCRIPTS += [FOLDER / f"{name}.js" for name in ("tour", "answers", "stops", "address", "panels", "play")]
STYLES = [PAGE / "viewer.css", FOLDER / "playground.css"]

MOST_LOST = 1e-3  # of a logit of the trained model, on the sentences that it is measured on; then the fewest bits:
BITS = [quarters / 4 for quarters in range(12 * 4, 22 * 4)]  # a weight, in the mean
STAGE_BITS = {"untrained": 0}  # random numbers; of every other stage:
LIKE_TRAINED = 1


class Sentence(NamedTuple):
    """An example to begin with."""

    source: str
    reference: str | None = None
    links: Sequence[tuple[int, int]] | None = None  # true links, source and target token, 0-based; None: not known
    group: str = "logged"  # `wrong`: the trained model's output differs; `ood`: unlike anything in training


class Stage(NamedTuple):
    """The model as it was earlier in its training."""

    name: str  # untrained, half-trained
    step: int  # optimiser steps done
    scores: Mapping[str, float]
    model: Transformer


class Quality(NamedTuple):
    """What the numbers in the page have lost."""

    bits: float  # of each weight, in the mean
    largest_logit_difference: float  # to the model itself, on what it writes
    sentences: int  # on which it was measured

    def __str__(self) -> str:
        if self.bits == 32:
            return "32 bits a weight: the model itself"
        return (
            f"{self.bits:.1f} bits a weight: no logit is more than {self.largest_logit_difference:.2g} from the "
            f"model's, on {self.sentences} sentences"
        )


def render(
    trained: TranslationModel,
    *,
    lines: Sequence[Sentence],
    measured: Sequence[str] = (),
    title: str,
    stages: Sequence[Stage] = (),
    float32: bool = False,
    max_bytes: int | None = None,
) -> tuple[str, Quality, Sequence[Stage]]:
    """The page as HTML text, to be written as UTF-8, what its numbers have lost, and the stages that it shows.

    Args:
        trained: the model and its tokenizers; its decoding options are what the page begins with.
        lines: sentences to begin with, at least one.
        measured: more sentences, on which the loss is measured too.
        title: what the browser's tab shows.
        stages: the same model earlier in its training, the earliest first, told in few bits a weight.
        float32: hold the weights of the trained model as they are, in twice the room.
        max_bytes: with a larger page the latest stages are left out, though never the trained model.

    Raises:
        ValueError: there is no sentence, or the model is an ensemble.
    """
    if trained.ensemble is not None:
        raise ValueError("a playground holds one model, and several are given: name one run in ckpt=")
    if not lines:
        raise ValueError("a playground needs a sentence to begin with: give at least one line")
    held, quality = _quality(trained, [*(line.source for line in lines), *measured], float32=float32)
    shown = rounded(trained.model, held)
    packed = []
    for stage in stages:
        bits = STAGE_BITS.get(stage.name, LIKE_TRAINED)
        packed.append((*stage[:3], pack(stage.model, hold(stage.model, bits, trained=shown))))
    last = ("trained", trained.step, {}, pack(trained.model, held))
    while True:
        page = _assembled(trained, lines, title, [*packed, last], quality)
        if not packed or max_bytes is None or len(page.encode()) <= max_bytes:
            return page, quality, stages[: len(packed)]
        packed.pop()


def _assembled(
    trained: TranslationModel,
    lines: Sequence[Sentence],
    title: str,
    stages: Sequence[tuple[str, int, Mapping[str, float], Mapping[str, Any]]],
    quality: Quality,
) -> str:
    decode = trained.options.decode.filled()
    limit = trained.length_limit
    *_, (*_, whole) = stages
    data: dict[str, Any] = {
        "title": title,
        "source": trained.source_tokenizer.state(),
        "target": trained.target_tokenizer.state(),
        "model": {name: whole[name] for name in ("options", "positions", "tensors")},
        "stages": [
            {"name": name, "step": step, "scores": scores, "bits": model["bits"]}
            for name, step, scores, model in stages
        ],
        "limits": {
            **{name: getattr(limit, name) for name in ("ratio", "slack", "floor", "asked", "cap")},
            "source": trained.source_limit[0],
        },
        "longest": trained.longest_source,
        "decode": {"beam_size": decode.beam_size, "length_penalty": decode.length_penalty},
        "examples": [line._asdict() for line in lines],
        "quality": {
            "bits": quality.bits,
            "largestLogitDifference": quality.largest_logit_difference,
            "sentences": quality.sentences,
        },
    }
    weights = "\n".join(model[part] for *_, model in stages for part in ("high", "low"))
    template = FOLDER / "playground.html"
    return assemble(template, scripts=SCRIPTS, styles=STYLES, title=title, data=data, texts={"weights": weights})


def _quality(trained: TranslationModel, lines: Sequence[str], *, float32: bool) -> tuple[list[Held], Quality]:
    if float32:
        return hold(trained.model, 32), Quality(32, 0.0, len(lines))
    batches, model = _batches(trained, lines), trained.model
    bits_of = allotted(model, batches[::4])

    def lost(mean: float) -> float:
        return logit_differences(model, rounded(model, hold(model, bits_of(mean))), batches)[1]

    fewest = bisect_left(BITS, True, hi=len(BITS) - 1, key=lambda mean: lost(mean) <= MOST_LOST)
    mean = BITS[fewest]
    return hold(model, bits_of(mean)), Quality(mean, lost(mean), len(lines))


def _batches(trained: TranslationModel, lines: Sequence[str]) -> list[Batch]:
    """Sources and what the model writes."""
    most = trained.source_limit[0] - 1
    sources = [ids[:most] for ids in trained.source_tokenizer.encode_batch(lines)]
    found = decode_sentences(trained.model, sources, limit=trained.length_limit)
    pairs = EncodedPairs(Texts.of(sources), Texts.of([best.ids for best, *_ in found]), ids=np.arange(len(lines)))
    order = np.argsort([len(ids) for ids in sources], kind="stable")
    return [pairs.batch(order[begin : begin + 32]) for begin in range(0, len(order), 32)]
