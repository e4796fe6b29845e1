"""What a new score takes: a line in the one table, and its counts."""

import csv
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from seq2see.evaluation.scores import Scorer, SentenceCounts
from seq2see.options import SCORES, ScoreKind
from seq2see.runs.config import compose_options
from seq2see.runs.train import Result, train_run

Train = Callable[[], Result]


@pytest.fixture
def train(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, short_run: Callable[..., list[str]]) -> Train:
    """Trains with one score more: the mean length of outputs, chosen by where the table knows it."""
    usual = Scorer.counts

    def counts(scorer: Scorer, outputs: Sequence[str]) -> tuple[SentenceCounts, list[int]]:
        own, nearest = usual(scorer, outputs)
        own.columns["length"] = np.array([(len(output), 1) for output in outputs], dtype=np.float64)
        return own, nearest

    monkeypatch.setattr(Scorer, "counts", counts)
    select = ["training.select=length"] if "length" in SCORES else []
    return lambda: train_run(compose_options("train", short_run(tmp_path / "run", *select)))


@pytest.fixture
def is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(SCORES, "length", ScoreKind("length", "{:.2f}", lower_is_better=True))


@pytest.mark.usefixtures("is_known")
def test_a_score_of_the_table_is_a_column_is_said_and_can_choose(train: Train) -> None:
    result = train()
    with (result.folder / "metrics.csv").open(encoding="utf-8", newline="") as file:
        values = {int(row["step"]): float(row["val/length"]) for row in csv.DictReader(file) if row["val/length"]}
    assert len(values) == 2 and result.best["metric"] == "length" and result.best["value"] == min(values.values())
    log = (result.folder / "train.log").read_text(encoding="utf-8")
    assert f"length {result.test['length']:.2f}" in log and "   exact    SER   length" in log


def test_a_score_that_the_table_lacks_is_refused_rather_than_lost(train: Train) -> None:
    with pytest.raises(ValueError, match="val/length has no column in metrics.csv: add the score to SCORES"):
        train()
