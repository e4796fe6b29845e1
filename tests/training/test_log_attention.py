"""Attention maps of a run: what is stored when, and that training does not notice."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from pathlib import Path

import pytest

from seq2see.maps import AttentionLog, Maps
from seq2see.maps.arrays import visible
from seq2see.runs.config import compose_options
from seq2see.runs.train import train_run

Overrides = Callable[..., list[str]]


def worth_measured_at(log: AttentionLog) -> set[int]:
    """The steps at which it is known what heads are worth."""
    steps = {row.step for row in log.measures() if not math.isnan(row.ablation_loss)}
    assert steps == {row.step for row in log.measures() if not math.isnan(row.importance)}
    return steps


def test_each_step_has_norms_and_the_maps_of_what_the_model_said_then(small_run: Path) -> None:
    log = AttentionLog.open(small_run)
    assert log.steps == [0, 4, 6, 8, 12] and worth_measured_at(log) == {0, 12}
    for step in log.steps:
        stored, maps = log.at(step), log.maps(step)
        assert set(maps.named()) == set(Maps._fields)
        assert stored.hypotheses is not None and stored.hypothesis_tokens is not None
        for text, tokens in zip(stored.hypotheses, stored.hypothesis_tokens, strict=True):
            assert text.split() == [token for token in tokens if token != "<eos>"]
        for name, array in maps.named().items():
            real = visible(name, log.examples, stored.hypothesis_tokens).any(-1)[:, None, None]
            assert abs(array.sum(-1) - real).max() < 1e-3, f"{name}: stored rows sum to 1"


def test_loggers_get_a_handful_of_numbers_under_their_steps_and_the_table_each_step_once(small_run: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    events = EventAccumulator(str(small_run / "tensorboard"))
    events.Reload()
    log = AttentionLog.open(small_run)
    names = [name for name in events.Tags()["scalars"] if name.startswith("attention/")]
    assert len(names) == 5
    points = [(point.step, point.value) for point in events.Scalars("attention/cross_alignment_error_rate")]
    rows = [row for row in log.measures() if row.step == 12 and row.kind == "cross"]
    assert points[-1] == (12, pytest.approx(min(row.alignment_error_rate for row in rows), abs=1e-5))
    assert [step for step, _ in points] == log.steps
    with (small_run / "metrics.csv").open(encoding="utf-8", newline="") as file:
        steps = [int(row["step"]) for row in csv.DictReader(file)]
    assert steps == sorted(set(steps)) and 0 not in steps, "the maps' numbers make no rows of their own there"


@pytest.mark.parametrize(
    ("more", "steps"),
    [
        (["attention_log.every_n_steps=5"], [0, 5, 10, 12]),
        (["trainer.val_check_interval=4", "trainer.max_steps=8"], [0, 4, 8]),
    ],
)
def test_maps_are_stored_at_a_fixed_pace_or_at_validations_and_at_the_last_step(
    tmp_path: Path, short_run: Overrides, more: list[str], steps: list[int]
) -> None:
    train_run(compose_options("train", short_run(tmp_path / "run", "logger=none", *more)))
    log = AttentionLog.open(tmp_path / "run")
    assert log.steps == steps and worth_measured_at(log) == {0, steps[-1]}
