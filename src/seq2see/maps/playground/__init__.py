"""The playground: one HTML file that holds a trained model and runs it in the reader's browser."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from seq2see.data import EncodedPairs
from seq2see.data.encoded import Texts
from seq2see.decoding import TranslationModel, decode_sentences
from seq2see.maps.page import FOLDER as PAGE
from seq2see.maps.page import assemble
from seq2see.maps.playground.weights import largest_logit_difference, pack, rounded
from seq2see.transformer import Transformer

FOLDER = Path(__file__).parent
ENGINE = [PAGE / "dom.js", PAGE / "data.js"]
ENGINE += [FOLDER / name for name in ("arithmetic.js", "model.js", "tokenizer.js", "search.js")]
SCRIPTS = [*ENGINE, *(PAGE / name for name in ("colour.js", "labels.js", "heatmap.js"))]
SCRIPTS += [FOLDER / f"{name}.js" for name in ("tour", "answers", "stops", "address", "panels", "play")]
STYLES = [PAGE / "viewer.css", FOLDER / "playground.css"]

BITS = range(14, 23)  # of the weights of a trained model: the fewest that lose no more than this
MOST_LOST = 1e-3  # of a logit, on the sentences that it is measured on
BITS_BEFORE = {"untrained": 4}  # of random weights; of every other stage:
STAGE_BITS = 8


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

    bits: int  # of each weight, more or less
    largest_logit_difference: float  # to the model itself, on what it writes
    sentences: int  # on which it was measured

    def __str__(self) -> str:
        if self.bits == 32:
            return "32 bits a weight: the model itself"
        return (
            f"{self.bits} bits a weight: no logit is more than {self.largest_logit_difference:.2g} from the model's, "
            f"on {self.sentences} sentences"
        )


def render(
    trained: TranslationModel,
    *,
    lines: Sequence[Sentence],
    measured: Sequence[str] = (),
    title: str,
    stages: Sequence[Stage] = (),
    float32: bool = False,
) -> tuple[str, Quality]:
    """The page as HTML text, to be written as UTF-8, and what its numbers have lost.

    Args:
        trained: the model and its tokenizers; its decoding options are what the page begins with.
        lines: sentences to begin with, at least one.
        measured: more sentences, on which the loss is measured too.
        title: what the browser's tab shows.
        stages: the same model earlier in its training, the earliest first, held in few bits a weight.
        float32: hold the weights of the trained model as they are, in twice the room.

    Raises:
        ValueError: there is no sentence, or the model is an ensemble.
    """
    if trained.ensemble is not None:
        raise ValueError("a playground holds one model, and several are given: name one run in ckpt=")
    if not lines:
        raise ValueError("a playground needs a sentence to begin with: give at least one line")
    quality = _quality(trained, [*(line.source for line in lines), *measured], float32=float32)
    decode = trained.options.decode.filled()
    limit = trained.length_limit
    cards = [(*stage[:3], pack(stage.model, BITS_BEFORE.get(stage.name, STAGE_BITS))) for stage in stages]
    cards.append(("trained", trained.step, {}, pack(trained.model, quality.bits)))
    data: dict[str, Any] = {
        "title": title,
        "source": trained.source_tokenizer.state(),
        "target": trained.target_tokenizer.state(),
        "stages": [dict(zip(("name", "step", "scores", "model"), card, strict=True)) for card in cards],
        "limits": {
            **{name: getattr(limit, name) for name in ("ratio", "slack", "floor", "asked", "cap")},
            "source": trained.source_limit[0],
        },
        "decode": {"beam_size": decode.beam_size, "length_penalty": decode.length_penalty},
        "examples": [line._asdict() for line in lines],
        "quality": {
            "bits": quality.bits,
            "largestLogitDifference": quality.largest_logit_difference,
            "sentences": quality.sentences,
        },
    }
    return assemble(FOLDER / "playground.html", scripts=SCRIPTS, styles=STYLES, title=title, data=data), quality


def _quality(trained: TranslationModel, lines: Sequence[str], *, float32: bool) -> Quality:
    if float32:
        return Quality(32, 0.0, len(lines))
    most = trained.source_limit[0] - 1
    sources = [ids[:most] for ids in trained.source_tokenizer.encode_batch(lines)]
    found = decode_sentences(trained.model, sources, limit=trained.length_limit)
    pairs = EncodedPairs(Texts.of(sources), Texts.of([best.ids for best, *_ in found]), ids=np.arange(len(lines)))
    order = np.argsort([len(ids) for ids in sources], kind="stable")
    batches = [pairs.batch(order[begin : begin + 32]) for begin in range(0, len(order), 32)]
    for bits in BITS:
        lost = largest_logit_difference(trained.model, rounded(trained.model, bits), batches)
        if lost <= MOST_LOST:
            break
    return Quality(bits, lost, len(lines))
