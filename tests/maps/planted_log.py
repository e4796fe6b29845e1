"""A planted log: four English-German pairs whose attention forms from noise to a crossing alignment in 16 steps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from seq2see.maps import AttentionLog, Example, Maps
from seq2see.maps.arrays import KINDS, visible
from seq2see.maps.measures import HeadEffects
from seq2see.options import ModelOptions
from seq2see.transformer import Transformer

STEPS = (0, 1, 2, 4, 8, 16, 32, 64, 100, 200, 300, 400, 600, 800, 1000, 1200)
MODEL = {"d_model": 128, "num_heads": 4, "num_encoder_layers": 2, "num_decoder_layers": 2}
# source, target, source position of each target word
PAIRS = (
    ("today the small dog sees a red house", "heute sieht der kleine Hund ein rotes Haus", (0, 4, 1, 2, 3, 5, 6, 7)),
    (
        "the old teacher has bought the green book",
        "der alte Lehrer hat das grüne Buch gekauft",
        (0, 1, 2, 3, 5, 6, 7, 4),
    ),
    ("tomorrow my friend will read the newspaper", "morgen wird mein Freund die Zeitung lesen", (0, 3, 1, 2, 5, 6, 4)),
    ("we believe that the child loves the cat", "wir glauben dass das Kind die Katze liebt", (0, 1, 2, 3, 4, 6, 7, 5)),
)


def planted_examples() -> list[Example]:
    """The pairs as they stand in a log."""
    return [
        Example(
            id=number,
            source=source,
            reference=target,
            source_tokens=(*source.split(), "<eos>"),
            target_tokens=(*target.split(), "<eos>"),
            links=tuple((position, row) for row, position in enumerate(order)),
        )
        for number, (source, target, order) in enumerate(PAIRS)
    ]


def softmax(logits: np.ndarray, visible: np.ndarray) -> np.ndarray:
    """Rows that sum to 1 over their visible cells, zero elsewhere."""
    logits = np.where(visible, logits, -np.inf)
    highest = logits.max(-1, keepdims=True)
    powers = np.where(visible, np.exp(logits - np.where(np.isfinite(highest), highest, 0)), 0)
    return (powers / np.maximum(powers.sum(-1, keepdims=True), 1e-30)).astype(np.float32)


def planted_maps(log: AttentionLog, step: int) -> Maps:
    """Noise in which, step by step, layer 2's third head aligns rows that predict, and its fourth rows that read."""
    maps = []
    for number, kind in enumerate(KINDS):
        cells = visible(kind, log.examples)
        num_layers = log.model["num_encoder_layers" if kind == "encoder" else "num_decoder_layers"]
        shape = (len(cells), num_layers, log.model["num_heads"], *cells.shape[1:])
        logits = np.random.default_rng([number, step]).normal(size=shape)
        if kind == "cross" and shape[1:3] == (2, 4):
            for own, example in zip(logits[:, 1], log.examples, strict=True):
                own[3, 0, 1] += np.log(step + 1)
                for source, target in example.links or ():
                    own[2, target, source] += np.log(step + 1)
                    own[3, target + 1, source] += np.log(step + 1)
        maps.append(softmax(logits, cells[:, None, None]))
    return Maps(*maps)


def with_variants(log: AttentionLog, maps: Maps, hypotheses: Sequence[str], step: int) -> tuple[Maps, list[list[str]]]:
    """The same maps with norms, in which EOS and BOS have a tenth of their weight, and those of the own outputs."""
    tokens = [[*text.split(), "<eos>"] for text in hypotheses]
    more = {}
    for name, array in maps.named().items():
        scale = np.ones((len(log.examples), array.shape[-1]), np.float32)
        if name == "decoder":
            scale[:, 0] = 0.1
        else:
            scale[np.arange(len(scale)), [len(example.source_tokens) - 1 for example in log.examples]] = 0.1
        lengths = array * scale[:, None, None, None]
        more[f"{name}_norm"] = lengths / np.maximum(lengths.sum(-1, keepdims=True), 1e-30)
    for name in ("decoder_free", "cross_free", "decoder_free_norm", "cross_free_norm"):
        cells = visible(name, log.examples, tokens)
        shape = (len(cells), MODEL["num_decoder_layers"], MODEL["num_heads"], *cells.shape[1:])
        noise = np.random.default_rng([step, len(name)]).normal(size=shape)
        more[name] = softmax(noise, cells[:, None, None])
    return maps._replace(**more), tokens


def planted_log(
    folder: Path | None = None,
    *,
    steps: Sequence[int] = STEPS,
    examples: Sequence[Example] | None = None,
    variants: bool = False,
) -> AttentionLog:
    """The whole log, in a folder or in memory; with `variants` also norms, own outputs and what heads are worth."""
    log = AttentionLog.create(folder, examples=examples or planted_examples(), model=MODEL)
    for step in steps:
        progress = 1 / (1 + np.exp(-1.8 * (np.log(step + 1) - 5)))
        hypotheses = [_hypothesis(example, progress) for example in log.examples]
        scores = {
            "train/loss": 4.3 * (1 - progress) + 0.02 + 0.05 * np.cos(step),
            "val/loss": 4.3 * (1 - progress) + 0.06 + 0.03 * np.sin(step),
            "val/exact_match": float(np.clip(1.25 * progress - 0.25, 0, 1)),
        }
        maps, tokens, effects = planted_maps(log, step), None, None
        if variants:
            maps, tokens = with_variants(log, maps, hypotheses, step)
            effects = planted_effects() if step in (steps[0], steps[-1]) else None
        log.append(
            step,
            maps,
            epoch=step / 160,
            scores=scores,
            hypotheses=hypotheses,
            hypothesis_tokens=tokens,
            effects=effects,
        )
    return log


def planted_effects() -> HeadEffects:
    """Head h of layer l costs 0.1 l + 0.01 h nats and a twelfth of the pairs when it is off."""
    costs = 0.1 * np.arange(2)[:, None] + 0.01 * np.arange(4)
    return HeadEffects(*(dict.fromkeys(KINDS, own) for own in (costs / 2, costs, np.full((2, 4), -1 / 12))))


def _hypothesis(example: Example, progress: float) -> str:
    words = (example.reference or "").split()
    right = round(progress * len(words) + 0.2)
    return " ".join(words[:right] + ["der"] * (0 if right >= len(words) else 2))


def small_model(**options: object) -> Transformer:
    """Two heads of width 8 in three encoder layers and one decoder layer, untrained, with dropout."""
    torch.manual_seed(0)
    sizes = {"d_model": 16, "d_ff": 32, "num_heads": 2, "num_encoder_layers": 3, "num_decoder_layers": 1}
    return Transformer(ModelOptions(**{**sizes, "dropout": 0.3, **options}), 12, 14)
