"""Which steps' weights a run keeps, and what a run that goes on makes of them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from seq2see.maps import kept_weights
from seq2see.maps.kept_weights import KeptWeights
from seq2see.runs.config import compose_options
from seq2see.runs.train import train_run


@pytest.fixture
def model() -> torch.nn.Module:
    return torch.nn.Linear(3, 2)


def test_a_step_is_kept_when_its_outputs_are_a_fifth_nearer_to_the_references(
    model: torch.nn.Module, tmp_path: Path
) -> None:
    kept = KeptWeights(tmp_path)
    for step, output in enumerate(["", "abc", "abcde", "abcxxxxxxx", "abcdefghi", "abcdefghij"]):
        with torch.no_grad():
            model.weight.fill_(step)
        kept.keep(step, model, [output], ["abcdefghij"])
    assert kept.steps == [0, 1, 2, 4], "0.3, 0.5, 0.3, 0.9 and 1.0 near"
    nearness, weights = KeptWeights(tmp_path).read(4)
    assert nearness == pytest.approx(0.9)
    assert weights["weight"].dtype == torch.float16 and (weights["weight"] == 4).all()


def test_a_run_that_goes_on_makes_later_ones_anew(model: torch.nn.Module, tmp_path: Path) -> None:
    for step, output in ((0, ""), (10, "abc"), (20, "abcde")):
        KeptWeights(tmp_path).keep(step, model, [output], ["abcdefghij"])
    kept = KeptWeights(tmp_path)
    kept.forget_after(10)
    assert kept.steps == [0, 10]
    kept.keep(15, model, ["abcd"], ["abcdefghij"])
    assert kept.steps == [0, 10], "it remembers how near the last one was"
    kept.keep(25, model, ["abcdef"], ["abcdefghij"])
    assert kept.steps == [0, 10, 25]


def test_of_large_models_nothing_is_kept(
    model: torch.nn.Module, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_weights, "MOST_PARAMETERS", 7)
    KeptWeights(tmp_path).keep(0, model, ["a"], ["a"])
    assert KeptWeights(tmp_path).steps == []


def test_a_damaged_file_is_named(model: torch.nn.Module, tmp_path: Path) -> None:
    KeptWeights(tmp_path).keep(0, model, ["a"], ["a"])
    file = tmp_path / "weights-00000000.pt"
    file.write_bytes(file.read_bytes()[:-50])
    with pytest.raises(ValueError, match="weights-00000000.pt: cannot be read .*: delete it"):
        KeptWeights(tmp_path).read(0)


def test_a_run_without_maps_keeps_none(tmp_path: Path, short_run: Callable[..., list[str]]) -> None:
    train_run(compose_options("train", short_run(tmp_path / "run", "attention_log.enabled=false")))
    assert not (tmp_path / "run" / "attention").exists()
