"""In which numbers, on which device and by which clock a run trains."""

from __future__ import annotations

import csv
import math
from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from seq2see.decoding import load, read_content
from seq2see.maps import AttentionLog
from seq2see.runs.config import compose_options
from seq2see.runs.train import Result, train_run

Overrides = Callable[..., list[str]]

TINY = (
    "model.d_model=16", "model.d_ff=16", "model.num_encoder_layers=1", "model.num_decoder_layers=1", "logger=csv",
    "task.train_size=64", "task.valid_size=6", "task.test_size=6", "task.ood_size=0", "attention_log.num_examples=2",
    "trainer.log_every_n_steps=1",
)  # fmt: skip


@pytest.fixture
def train(tmp_path: Path, short_run: Overrides) -> Callable[..., Result]:
    def run(name: str, *more: str) -> Result:
        return train_run(compose_options("train", [*short_run(tmp_path / name), *TINY, *more]))

    return run


def metrics(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open(encoding="utf-8", newline="") as file:
        return [{name: row[name] for name in row if name != "train/tokens_per_second"} for row in csv.DictReader(file)]


def weights_of(folder: Path, name: str, part: str) -> dict[str, torch.Tensor]:
    return read_content(folder / "checkpoints" / name).values[part]


@pytest.mark.parametrize(
    ("precision", "dtype", "options"),
    [
        ("bf16-mixed", torch.float32, ["model.position=relative"]),
        ("bf16-true", torch.bfloat16, ["model.num_kv_heads=1", "model.attention_dropout=0.1"]),
        ("bf16-true", torch.bfloat16, ["model.position=alibi", "model.score=additive"]),
        ("64-true", torch.float64, ["model.position=learned", "model.norm=post"]),
    ],
)
def test_a_precision_that_is_accepted_works_to_the_end_and_goes_on_as_if_nothing_had_happened(
    precision: str, dtype: torch.dtype, options: list[str], train: Callable[..., Result]
) -> None:
    always = [f"trainer.precision={precision}", "optim.schedule=constant", "optim.lr=0.003", "optim.ema=0.9", *options]
    always += ["optim.label_smoothing=0.1", "model.dropout=0.1", "trainer.val_check_interval=4"]
    whole = train("whole", *always, "trainer.max_steps=8")
    parts = train("parts", *always, "trainer.max_steps=4")
    parts = train("parts", *always, "trainer.max_steps=8", "resume=auto")
    assert whole.status == parts.status == "completed"
    assert math.isfinite(whole.test["loss"]) and whole.test == parts.test
    assert metrics(whole.folder) == metrics(parts.folder)
    for part, expected in (("training_weights", dtype), ("state_dict", torch.promote_types(dtype, torch.float32))):
        ours, theirs = (weights_of(run.folder, "last.ckpt", part) for run in (whole, parts))
        assert {value.dtype for value in ours.values()} == {expected}
        assert all(torch.equal(ours[name], theirs[name]) for name in ours)
    log = AttentionLog.open(whole.folder)
    assert all(math.isfinite(row.importance) for row in log.measures() if row.step in (0, 8))
    assert len(load(str(whole.folder)).translate(["a b c"])) == 1


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("trainer.precision=16-true", r"trainer.precision \(16-true\) has no room .*: use bf16-true"),
        ("trainer.precision=16-mixed", r"trainer.precision \(16-mixed\) needs a GPU: use bf16-mixed"),
        ("trainer.accelerator=gpu", "trainer.accelerator=gpu is not to be had here: use auto or cpu"),
    ],
)
def test_what_cannot_work_here_is_refused_before_a_folder_is_made(
    override: str, message: str, tmp_path: Path, train: Callable[..., Result], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=message):
        train("run", override)
    assert not (tmp_path / "run").exists()


def test_a_limit_of_time_that_is_not_reached_changes_nothing(train: Callable[..., Result]) -> None:
    more = ["trainer.max_steps=6", "trainer.val_check_interval=null"]
    runs = [train("timed", *more, "trainer.max_time=00:00:00:30"), train("steps alone", *more)]
    assert metrics(runs[0].folder) == metrics(runs[1].folder)
    said = [(run.folder / "train.log").read_text(encoding="utf-8") for run in runs]
    assert ["the end may follow the clock: such a run is not exactly repeatable" in text for text in said] == [1, 0]


def test_a_limit_of_time_ends_a_run_of_more_steps_with_a_validation(train: Callable[..., Result]) -> None:
    run = train("run", "trainer.max_steps=100000", "trainer.max_time=00:00:00:02", "trainer.val_check_interval=null")
    last = [int(row["step"]) for row in metrics(run.folder) if row["val/loss"]][-1]
    assert run.status == "completed" and last == run.steps < 100_000
    lr = [float(row["lr"]) for row in metrics(run.folder) if row["lr"]]
    assert min(lr[-3:]) > 0.9 * max(lr)  # as far as the steps were planned
