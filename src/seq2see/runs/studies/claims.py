"""Three claims about attention, shown: reach, scaling, and heads.

Reach: self attention relates any two positions. `model.window` takes that away on a task that needs it: reversing
sequences of three letters, whose neighbourhoods repeat, with positions only inside the self attention.

Scaling: dot products grow with the width of a head, so that without 1/sqrt(K) the softmax saturates and its gradient
fades. Shown on one call with random vectors, and in training with heads of several widths.

Heads: they look at different things, and more so after training.
"""

import csv
import math
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import torch

from seq2see.attention.masks import masked_softmax
from seq2see.attention.scores import DotScore
from seq2see.maps.measures import MeasureRow, effective_keys, read_table
from seq2see.options import LettersOptions, LoggerKind, Position, Score, TrainOptions
from seq2see.runs.folder import read_result
from seq2see.runs.studies.chart import Panel, chart
from seq2see.runs.studies.job import Job, Report

REACH = LettersOptions(kind="reverse", vocab_size=3, min_length=8, max_length=16)
REACH_STEPS, SCALING_STEPS = 300, 200  # unless trainer.max_steps is set
WINDOW = 2
D_MODEL = 128
WIDTHS = (8, 32, 128)  # K, of the heads that are trained
CALL_WIDTHS = (4, 16, 64, 256, 1024)  # K, of one call with random vectors
NUM_KEYS = 64  # of that call
SCORES = {"dot": Score.dot, "scaled": Score.scaled_dot}
HEADS = "scaled-32"  # the job whose heads are looked at


def jobs(options: TrainOptions) -> list[Job]:
    """Two runs about reach and six about scaling."""
    common = replace(options, logger=LoggerKind.csv)
    reach = replace(_limited(common, REACH_STEPS), task=REACH)
    scaling = replace(_limited(common, SCALING_STEPS), task=LettersOptions(kind="reverse"))
    by_window = [
        Job(
            name,
            replace(
                reach,
                model=replace(options.model, window=window, cross_position=Position.none),
                attention_log=replace(common.attention_log, enabled=True),
            ),
        )
        for name, window in (("full", None), (f"window-{WINDOW}", WINDOW))
    ]
    by_width = [
        Job(
            f"{name}-{width}",
            replace(
                scaling,
                model=replace(options.model, d_model=D_MODEL, num_heads=D_MODEL // width, score=score),
                attention_log=replace(common.attention_log, enabled=f"{name}-{width}" == HEADS),
            ),
        )
        for width in WIDTHS
        for name, score in SCORES.items()
    ]
    return by_window + by_width


def _limited(options: TrainOptions, max_steps: int) -> TrainOptions:
    trainer = options.trainer
    if trainer.max_steps is None and trainer.max_epochs is None and trainer.max_time is None:
        return replace(options, trainer=replace(trainer, max_steps=max_steps))
    return options


def one_call(width: int, *, scaled: bool, seed: int = 0) -> tuple[float, float]:
    """How saturated the softmax of one call is, over random vectors.

    Args:
        width: K.
        scaled: whether scores are divided by sqrt(K).
        seed: of the vectors.

    Returns:
        exp(entropy) of the weights of a query over 64 keys, and the norm of the gradient that reaches its scores from
        a random direction of about unit length in its context; both as the median of 1,024 queries.
    """
    generator = torch.Generator().manual_seed(seed)
    query, key, value, direction = (
        torch.randn(1, length, width, generator=generator) for length in (1_024, NUM_KEYS, NUM_KEYS, 1_024)
    )
    score = DotScore(scaled=scaled)
    scores = score(query, key).requires_grad_(True)  # (1, T, S)
    weights = masked_softmax(scores, None)
    (weights @ value * direction / math.sqrt(width)).sum().backward()
    assert scores.grad is not None
    keys = np.median(effective_keys(weights.detach().numpy()))
    return float(keys), float(scores.grad.norm(dim=-1).median())


def report(done: dict[Job, Path]) -> Report:
    """The three claims, each with its table; the chart has the curves."""
    folders = {job.name: folder for job, folder in done.items()}
    results = {name: read_result(folder) for name, folder in folders.items()}
    curves = {name: _curve(folder) for name, folder in folders.items()}
    numbers: dict[str, Any] = {"test": {name: found["test"] for name, found in results.items()}}
    lines = [*_reach(results, folders, numbers), *_scaling(results, numbers), *_heads(folders, numbers)]
    calls = numbers["one_call"]
    panels = [
        Panel(
            "Reach: exact match, validation",
            "step",
            {name: curves[name] for name in ("full", f"window-{WINDOW}") if name in curves},
        ),
        Panel(
            f"Scaling: effective keys of {NUM_KEYS}",
            "head width",
            {name: [(width, calls[name][width][0]) for width in CALL_WIDTHS] for name in SCORES},
            log_x=True,
        ),
        Panel(
            f"Scaling: exact match, head width {WIDTHS[-1]}",
            "step",
            {name: curves[f"{name}-{WIDTHS[-1]}"] for name in SCORES if f"{name}-{WIDTHS[-1]}" in curves},
        ),
        Panel("Heads: distance between them, bits", "step", numbers["head_distance"]),
    ]
    return Report("\n".join(lines) + "\n", numbers, chart(panels))


def _reach(results: dict[str, Any], folders: dict[str, Path], numbers: dict[str, Any]) -> list[str]:
    lines = [
        "Reach: reversing 8-16 of three letters, positions in self attention alone",
        "",
        "| self attention sees     | exact match | token accuracy | keys in the encoder |",
        "|-------------------------|-------------|----------------|---------------------|",
    ]
    for name, what in (("full", "everything"), (f"window-{WINDOW}", f"{WINDOW} tokens to each side")):
        if name in results:
            test = results[name]["test"]
            keys = _at_end(read_table(folders[name] / "attention" / "metrics.csv"), "encoder", "effective_keys")
            numbers.setdefault("encoder_effective_keys", {})[name] = keys
            lines.append(
                f"| {what:<23} | {test['exact_match']:<11.3f} | {test['token_accuracy']:<14.3f} | {keys:<19.1f} |"
            )
    return [*lines, ""]


def _scaling(results: dict[str, Any], numbers: dict[str, Any]) -> list[str]:
    calls = {name: {width: one_call(width, scaled=name == "scaled") for width in CALL_WIDTHS} for name in SCORES}
    numbers["one_call"] = calls
    lines = [
        f"Scaling: one call, random queries over {NUM_KEYS} random keys",
        "",
        "| width | effective keys: dot | scaled | gradient at the scores: dot | scaled |",
        "|-------|---------------------|--------|-----------------------------|--------|",
    ]
    for width in CALL_WIDTHS:
        (dot_keys, dot_gradient), (keys, gradient) = calls["dot"][width], calls["scaled"][width]
        lines.append(f"| {width:<5} | {dot_keys:<19.1f} | {keys:<6.1f} | {dot_gradient:<27.4f} | {gradient:<6.4f} |")
    lines += [
        "",
        "Scaling: reverse, trained with heads of that width",
        "",
        "| head width | heads | exact match: dot | scaled | loss: dot | scaled |",
        "|------------|-------|------------------|--------|-----------|--------|",
    ]
    for width in WIDTHS:
        own = {name: results[f"{name}-{width}"]["test"] for name in SCORES if f"{name}-{width}" in results}
        if len(own) == len(SCORES):
            lines.append(
                f"| {width:<10} | {D_MODEL // width:<5} | {own['dot']['exact_match']:<16.3f} "
                f"| {own['scaled']['exact_match']:<6.3f} | {own['dot']['loss']:<9.3f} | {own['scaled']['loss']:<6.3f} |"
            )
    return [*lines, ""]


def _heads(folders: dict[str, Path], numbers: dict[str, Any]) -> list[str]:
    lines = [
        "Heads: mean distance between the heads of a layer (Jensen-Shannon, bits)",
        "",
        "| attention | before training | after |",
        "|-----------|-----------------|-------|",
    ]
    distances: dict[str, list[tuple[int, float]]] = {}
    if HEADS in folders:
        rows = read_table(folders[HEADS] / "attention" / "metrics.csv")
        for kind in ("encoder", "decoder", "cross"):
            distances[kind] = _over_steps(rows, kind, "head_distance")
            before, after = distances[kind][0][1], distances[kind][-1][1]
            lines.append(f"| {kind:<9} | {before:<15.3f} | {after:<5.3f} |")
    numbers["head_distance"] = distances
    return lines


def _over_steps(rows: list[MeasureRow], kind: str, measure: str) -> list[tuple[int, float]]:
    """A measure by step, mean over layers and heads."""
    values: dict[int, list[float]] = defaultdict(list)
    for row in rows:
        if row.kind == kind:
            values[row.step].append(getattr(row, measure))
    return [(step, sum(own) / len(own)) for step, own in sorted(values.items())]


def _at_end(rows: list[MeasureRow], kind: str, measure: str) -> float:
    return _over_steps(rows, kind, measure)[-1][1]


def _curve(folder: Path) -> list[tuple[float, float]]:
    """Exact match on validation by step."""
    with (folder / "metrics.csv").open(encoding="utf-8", newline="") as file:
        return [
            (float(row["step"]), float(row["val/exact_match"]))
            for row in csv.DictReader(file)
            if row.get("val/exact_match")
        ]
