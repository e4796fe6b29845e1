"""A planted log: four English-German pairs whose attention forms from noise to a crossing alignment in 16 steps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch

from seq2see.maps import AttentionLog, Example, Maps
from seq2see.maps.arrays import KINDS, lengths, visible
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
    """What a model that learns to align could attend to after `step` steps."""
    maps = []
    for number, kind in enumerate(KINDS):
        cells = visible(kind, log.examples)
        num_layers = log.model["num_encoder_layers" if kind == "encoder" else "num_decoder_layers"]
        learned = np.zeros((len(cells), num_layers, log.model["num_heads"], *cells.shape[1:]), np.float32)
        for index, (example, *sizes) in enumerate(zip(log.examples, *lengths(kind, log.examples), strict=True)):
            for layer, head in np.ndindex(learned.shape[1:3]):
                wanted = _wanted_keys(kind, layer, head, *sizes, example.links or ())
                learned[index, layer, head, np.arange(sizes[0]), wanted] = 1
        noise = np.random.default_rng([0, number]).normal(size=learned.shape)
        later = np.random.default_rng([0, number, step]).normal(size=learned.shape)
        layers, heads = np.indices(learned.shape[1:3])
        start = np.array([[3.6, 4.6, 5.0, 4.2], [5.2, 4.4, 4.8, 5.8]])[layers % 2, heads % 4]
        sharp = (1 / (1 + np.exp(-2.2 * (np.log(step + 1) - start))))[None, :, :, None, None]
        logits = 0.9 * noise * (1 - 0.3 * sharp) + 0.15 * later + 5.2 * sharp * learned
        maps.append(softmax(logits, cells[:, None, None]))
    return Maps(*maps)


def _wanted_keys(
    kind: str, layer: int, head: int, num_queries: int, num_keys: int, links: Sequence[tuple[int, int]]
) -> np.ndarray:
    rows, last = np.arange(num_queries), num_keys - 1
    role = (head + 2 * layer) % 4
    if kind == "encoder":
        return [np.maximum(rows - 1, 0), np.minimum(rows + 1, last), rows, np.full(num_queries, last)][role]
    if kind == "decoder":
        return [np.maximum(rows - 1, 0), np.zeros_like(rows), rows, np.maximum(rows - 2, 0)][role]
    aligned = np.full(num_queries, last)
    for source, target in links:
        aligned[target] = source
    shifted = np.concatenate([[last], aligned[:-1]])
    if layer == 1:
        return [np.full(num_queries, last), np.minimum(rows, last), aligned, shifted][head % 4]
    return [aligned, np.minimum(rows, last), np.full(num_queries, last), np.minimum(rows + 1, last)][head % 4]


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
