"""A run that is stopped and goes on equals one that was never stopped, bit for bit."""

from __future__ import annotations

import csv
import gzip
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2see.decoding import read_content
from seq2see.decoding.checkpoint import write_checkpoint
from seq2see.runs.config import compose_options, to_yaml
from seq2see.runs.folder import RunFailed
from seq2see.runs.train import Result, train_run
from seq2see.training.callbacks import BetweenSteps
from seq2see.training.metrics_file import MetricsFile
from seq2see.training.module import TrainingModule

Overrides = Callable[..., list[str]]
Seen = list[tuple[int, list[int]]]
Condition = Callable[[BetweenSteps], bool]

SMALL = ("model.d_model=16", "model.num_encoder_layers=1", "model.num_decoder_layers=1")
SHORT = (*SMALL, "task.ood_size=0")
LONG = (
    *SHORT, "trainer.max_steps=40", "trainer.val_check_interval=9", "trainer.log_every_n_steps=4", "model.dropout=0.1",
)  # fmt: skip


def train(overrides: list[str], *, seen: Seen | None = None, stop: Condition | None = None) -> Result:
    """Trains.

    Args:
        overrides: as on the command line.
        seen: takes each micro-batch that is trained on: optimiser steps before it, and its pairs.
        stop: a signal arrives as soon as this holds of what happens between the steps.
    """
    training_step, stop_if_requested, arrived = TrainingModule.training_step, BetweenSteps.stop_if_requested, []

    def recording(self: TrainingModule, batch: Any, batch_idx: int) -> Any:
        if seen is not None:
            seen.append((self.global_step, batch.ids.tolist()))
        return training_step(self, batch, batch_idx)

    def arriving(self: BetweenSteps, trainer: Any) -> None:
        if stop is not None and stop(self):
            arrived.append(True)
            self.stop_requested = lambda: True
        stop_if_requested(self, trainer)

    def stopped() -> None:
        if arrived:
            raise KeyboardInterrupt

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TrainingModule, "training_step", recording)
        patch.setattr(BetweenSteps, "stop_if_requested", arriving)
        patch.setattr("seq2see.runs.train.stop_if_asked", stopped)
        return train_run(compose_options("train", overrides))


def train_until(stop: Condition, overrides: list[str], *, seen: Seen | None = None) -> None:
    with pytest.raises(KeyboardInterrupt):
        train(overrides, seen=seen, stop=stop)


def at_step(step: int) -> Condition:
    """After this many optimiser steps, and before a validation that is due then."""
    return lambda between: between._step == step


def in_validation(step: int) -> Condition:
    """The second time that is asked after this step: in its validation."""
    asked: list[int] = []

    def holds(between: BetweenSteps) -> bool:
        asked.extend([step] * (between._step == step))
        return len(asked) > 1

    return holds


def assert_equal_runs(one: Path, other: Path) -> None:
    for name in ("last.ckpt", "best.ckpt"):
        ours, theirs = (read_content(folder / "checkpoints" / name).values for folder in (one, other))
        for part in ("state_dict", "global_step", "optimizer_states"):
            assert _equal(ours.get(part), theirs.get(part)), f"{name}: {part}"
    assert metrics(one) == metrics(other)
    for name in ("samples.jsonl", "attention/index.json", "attention/metrics.csv", "evaluation/test.tsv"):
        ours, theirs = (
            (folder / name).read_text(encoding="utf-8") if (folder / name).exists() else None for folder in (one, other)
        )
        assert ours == theirs, name
    results = [json.loads((folder / "result.json").read_text(encoding="utf-8")) for folder in (one, other)]
    for name in ("status", "steps", "best", "test"):
        assert results[0][name] == results[1][name]


def metrics(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open(encoding="utf-8", newline="") as file:
        return [{name: row[name] for name in row if name != "train/tokens_per_second"} for row in csv.DictReader(file)]


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(_equal(a, b) for a, b in zip(one, other, strict=True))
    return one == other


@pytest.fixture(scope="module")
def straight(tmp_path_factory: pytest.TempPathFactory, short_run: Overrides) -> Callable[..., tuple[Path, Seen]]:
    """A run that was not interrupted, with these overrides, and what it has seen."""
    known: dict[tuple[str, ...], tuple[Path, Seen]] = {}

    def of(*more: str) -> tuple[Path, Seen]:
        if more not in known:
            folder, seen = tmp_path_factory.mktemp("straight") / "run", Seen()
            train(short_run(folder, *more), seen=seen)
            known[more] = folder, seen
        return known[more]

    return of


CASES = {
    "workers": ([at_step(13)], "trainer.accumulate_grad_batches=4", "data.num_workers=2", "data.batch_size=8"),
    "ema-in-validation": ([in_validation(27)], "optim.ema=0.9"),
    "epoch-end-and-again": ([at_step(10), at_step(20), at_step(25), at_step(33)],),
}
SLOW = {
    "no-validation": ([at_step(13)], "task.valid_size=0"),
    "last-step": ([at_step(40)],),
    "middle": ([at_step(13)],),
    "validation-due": ([at_step(18)],),
    "first-step": ([at_step(1)],),
    "last-but-one": ([at_step(39)],),
    "in-validations": ([in_validation(18), in_validation(40)],),
    "epoch-end": ([at_step(10), at_step(13)],),
    "ema": ([at_step(13)], "optim.ema=0.9"),
    "kept": ([at_step(13)], "training.keep=2", "attention_log.every_n_steps=5", "optim.schedule=inverse_sqrt"),
    "part-of-the-batches": ([at_step(4), at_step(13)], "trainer.limit_train_batches=4"),
    "shares-of-an-epoch": ([at_step(13)], "trainer.val_check_interval=0.5"),
}


@pytest.mark.parametrize(
    ("stops", "more"),
    [
        pytest.param(stops, more, id=name, marks=pytest.mark.slow if name in SLOW else ())
        for name, (stops, *more) in (CASES | SLOW).items()
    ],
)
def test_a_run_that_was_interrupted_equals_one_that_was_not(
    tmp_path: Path, short_run: Overrides, straight: Callable[..., Any], stops: list[Condition], more: list[str]
) -> None:
    whole, whole_seen = straight(*LONG, *more)
    folder, seen = tmp_path / "stopped", Seen()
    overrides = short_run(folder, *LONG, *more, "resume=auto")
    for stop in stops:
        train_until(stop, overrides, seen=seen)
        assert json.loads((folder / "result.json").read_text(encoding="utf-8"))["status"] == "interrupted"
        assert not (folder / "evaluation").exists()
    train(overrides, seen=seen)
    assert_equal_runs(folder, whole)
    assert seen == whole_seen


@pytest.fixture
def finished(tmp_path: Path, small_run: Path, short_run: Overrides) -> Overrides:
    """A finished run of 12 steps that may be changed, in `run`: the overrides with which it goes on."""
    shutil.copytree(small_run, tmp_path / "run")
    return lambda *more: short_run(tmp_path / "run", "task.max_length=6", "resume=auto", *more)


def test_what_is_complete_is_left_as_it_is(
    tmp_path: Path, finished: Overrides, capsys: pytest.CaptureFixture[str]
) -> None:
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").glob("**/*")}
    seen = Seen()
    assert train(finished(), seen=seen).test and seen == []
    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run").glob("**/*")} == before
    said = capsys.readouterr()
    assert "is complete (12 steps): nothing is left to do" in said.err and "exact match" in said.out


def test_a_run_that_was_not_tested_is_only_tested(tmp_path: Path, finished: Overrides) -> None:
    (tmp_path / "run" / "result.json").unlink()
    seen = Seen()
    result = train(finished(), seen=seen)
    assert seen == []
    assert result.status == "completed" and result.steps == 12 and result.test and result.best["step"] in (6, 12)


def test_a_longer_training_goes_on_from_the_end_also_if_it_failed_at_once(
    finished: Overrides, capsys: pytest.CaptureFixture[str]
) -> None:
    seen = Seen()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TrainingModule, "training_step", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train(finished("trainer.max_steps=20"))
    assert train(finished("trainer.max_steps=20"), seen=seen).steps == 20
    assert [step for step, _ in seen] == list(range(12, 20))
    assert capsys.readouterr().err.count("changed     trainer.max_steps 12 -> 20") == 2


def test_what_a_run_that_goes_on_cannot_change_is_refused(finished: Overrides) -> None:
    for key, old, new in (("model.dropout", "0.0", "0.3"), ("data.batch_size", "32", "16"), ("seed", "0", "4")):
        with pytest.raises(ValueError, match=rf"{key}={new}: the run in .* has {old} and goes on with it"):
            train(finished("trainer.max_steps=20", f"{key}={new}"))


def test_only_the_run_is_named_and_nothing_is_typed_again(tmp_path: Path, small_run: Path) -> None:
    shutil.copytree(small_run, tmp_path / "it's")
    for resume, steps in ((tmp_path / "it's", 14), (tmp_path / "it's" / "checkpoints" / "last.ckpt", 15)):
        result = train([f"resume={resume}", f"trainer.max_steps={steps}"])
        assert (result.folder, result.steps) == (tmp_path / "it's", steps)


@pytest.mark.parametrize(
    ("resume", "message"),
    [
        ("nowhere", "is not in a run folder"),
        ("run/checkpoints/best.ckpt", "holds weights alone: resume=.*run goes on from its last.ckpt"),
        ("run run_dir=other", "is not the folder of resume"),
        ("auto", "set run_dir too"),
    ],
)
def test_what_cannot_be_resumed_is_refused_with_what_to_do(
    tmp_path: Path, small_run: Path, monkeypatch: pytest.MonkeyPatch, resume: str, message: str
) -> None:
    shutil.copytree(small_run, tmp_path / "run")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(ValueError, match=message):
        train(["task=copy", *f"resume={resume}".split()])


def test_other_pairs_are_refused_and_the_file_is_named(tmp_path: Path) -> None:
    run = ["task=files", *SMALL, "trainer.max_steps=8", "data.batch_size=16", f"run_dir={tmp_path / 'run'}"]
    lines = [f"a{number % 7} b{number}\tb{number} a{number % 7}" for number in range(60)]
    for name in ("train", "valid", "test"):
        (tmp_path / f"{name}.tsv").write_text("\n".join(lines), encoding="utf-8")
        run.append(f"task.{name}={tmp_path / name}.tsv")
    train_until(at_step(5), run)
    reversed_words = [f"a{number % 7} b{number}\ta{number % 7} b{number}" for number in range(60)]
    for split, edited, message in (
        ("train", reversed_words, r"the train pairs of .*train.tsv are other ones.* \(60 then"),
        ("valid", reversed_words, r"the valid pairs of .*valid.tsv are other ones"),
        ("test", lines[:-1], r"the test pairs of .*test.tsv are other ones.* \(60 then, 59 now\)"),
        ("train", lines[::-1], r"train.tsv are other ones, or in another order"),
    ):
        (tmp_path / f"{split}.tsv").write_text("\n".join(edited), encoding="utf-8")
        with pytest.raises(ValueError, match=f"resume: .*{message}.*: bring that back, or start a new run .* init="):
            train([*run, "resume=auto"])
        (tmp_path / f"{split}.tsv").write_text("\n".join(lines), encoding="utf-8")
    moved = tmp_path / "moved.tsv.gz"
    moved.write_bytes(gzip.compress("\n".join(lines).encode()))
    (tmp_path / "train.tsv").unlink()
    assert train([*run, f"task.train={moved}", "resume=auto"]).status == "completed"


def test_without_validation_the_moving_average_is_the_best_and_the_run_can_be_made_longer(
    tmp_path: Path, short_run: Overrides
) -> None:
    none = short_run(tmp_path / "run", *SHORT, "task.valid_size=0", "optim.ema=0.9", "optim.schedule=constant")
    train(none)
    best, last = (read_content(tmp_path / "run" / "checkpoints" / name) for name in ("best.ckpt", "last.ckpt"))
    assert all(torch.equal(value, last.weights[name]) for name, value in best.weights.items())
    raw = last.values["training_weights"]
    assert any(not torch.equal(value, raw[f"model.{name}"]) for name, value in best.weights.items())
    assert train([*none, "trainer.max_steps=15", "resume=auto"]).steps == 15


def test_a_run_that_has_no_checkpoint_yet_begins_anew_and_a_folder_of_something_else_is_not_touched(
    tmp_path: Path, short_run: Overrides
) -> None:
    (tmp_path / "run" / "attention").mkdir(parents=True)
    for name in ("metrics.csv", ".config.yaml.1.part", "attention/index.json"):
        (tmp_path / "run" / name).write_text("half")
    begun = to_yaml(compose_options("train", short_run(tmp_path / "run")))
    (tmp_path / "run" / "config.yaml").write_text(begun, encoding="utf-8")
    seen = Seen()
    assert train(short_run(tmp_path / "run", "resume=auto"), seen=seen).status == "completed" and len(seen) == 12
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "data").write_text("mine")
    with pytest.raises(ValueError, match="is not empty"):
        train(short_run(tmp_path / "thesis", "resume=auto"))
    assert (tmp_path / "thesis" / "data").read_text() == "mine"


def test_the_weights_that_a_run_began_with_may_be_gone_when_it_goes_on(
    tmp_path: Path, small_run: Path, short_run: Overrides
) -> None:
    shutil.copytree(small_run, tmp_path / "first")
    overrides = short_run(tmp_path / "second", "task.max_length=6", f"init={tmp_path / 'first'}")
    train_until(at_step(5), overrides)
    shutil.rmtree(tmp_path / "first")
    assert train([*overrides, "resume=auto"]).status == "completed"


def test_training_time_goes_on_from_what_was_used_and_is_what_is_said(
    tmp_path: Path, short_run: Overrides, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    now = [0.0]
    monkeypatch.setattr("seq2see.training.budget.time.monotonic", lambda: now[0])
    training_step = TrainingModule.training_step

    def one_second(self: TrainingModule, batch: Any, batch_idx: int) -> Any:
        now[0] += 1
        return training_step(self, batch, batch_idx)

    monkeypatch.setattr(TrainingModule, "training_step", one_second)
    timed = short_run(tmp_path / "run", *SHORT, "trainer.max_steps=null", "trainer.max_time=00:00:00:10")
    train_until(at_step(6), timed)
    assert train([*timed, "resume=auto"]).steps == 10
    assert "from step 6 after 0:06" in capsys.readouterr().err


def test_a_gradient_that_is_not_finite_stops_the_run_before_it_reaches_the_weights(
    tmp_path: Path, short_run: Overrides, monkeypatch: pytest.MonkeyPatch
) -> None:
    training_step, seen, weights = TrainingModule.training_step, Seen(), []

    def failing(self: TrainingModule, batch: Any, batch_idx: int) -> Any:
        loss = training_step(self, batch, batch_idx)
        weights.append({name: value.clone() for name, value in self.model.state_dict().items()})
        return loss * float("nan") if self.global_step == 7 else loss

    monkeypatch.setattr(TrainingModule, "training_step", failing)
    with pytest.raises(
        RunFailed,
        match=r"step 8: the loss or the gradient is not finite. Its batch has 32 pairs, such as number \d+, \d+"
        r".*failed.ckpt: lower optim.lr",
    ):
        train(short_run(tmp_path / "run", *SHORT), seen=seen)
    assert str(seen[-1][1]) in (tmp_path / "run" / "train.log").read_text(encoding="utf-8")
    failed = read_content(tmp_path / "run" / "checkpoints" / "failed.ckpt")
    assert failed.step == 7
    assert all(torch.equal(value, weights[-1][name]) for name, value in failed.weights.items())
    result = json.loads((tmp_path / "run" / "result.json").read_text(encoding="utf-8"))
    assert (result["status"], result["steps"]) == ("failed", 7)
    assert read_content(tmp_path / "run" / "checkpoints" / "last.ckpt").step == 6, "goes on from before"


@pytest.mark.parametrize(
    ("size", "said"), [(0, "no pairs to validate: the last checkpoint"), (3, "3 pairs to validate are few")]
)
def test_few_pairs_to_validate_are_said_once(
    tmp_path: Path, short_run: Overrides, capsys: pytest.CaptureFixture[str], size: int, said: str
) -> None:
    result = train(short_run(tmp_path / "run", *SHORT, f"task.valid_size={size}"))
    assert capsys.readouterr().err.count(said) == 1
    assert result.status == "completed" and (result.best == {}) == (size == 0)


def without(*path: str | int) -> Callable[[dict[str, Any]], None]:
    def change(content: dict[str, Any]) -> None:
        place: Any = content
        for key in path[:-1]:
            place = place[key]
        del place[path[-1]]

    return change


PARTS = {
    "no pace": without("callbacks", "Pace"),
    "callbacks are a list": lambda content: content.update(callbacks=[1]),
    "seconds are a text": lambda content: content["callbacks"]["Pace"].update(seconds="1"),
    "no training": without("training"),
    "a random state of another kind": lambda content: content["training"]["random"].update(torch=[1]),
    "no loops": without("loops"),
    "no place in the data": without("loops", "fit_loop", "state_dict", "combined_loader", 0, "position"),
    "no optimisers": lambda content: content.update(optimizer_states=[]),
    "a state is missing": without("optimizer_states", 0, "state", 3),
    "a state of another shape": lambda content: content["optimizer_states"][0]["state"][3].update(
        exp_avg=torch.ones(1, 2)
    ),
    "one group": without("optimizer_states", 0, "param_groups", 1),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_last_checkpoint_without_its_parts_says_how_to_go_on(tmp_path: Path, finished: Overrides, name: str) -> None:
    last = tmp_path / "run" / "checkpoints" / "last.ckpt"
    content = torch.load(last, weights_only=True)
    PARTS[name](content)
    write_checkpoint(last, content)
    with pytest.raises(ValueError, match=r"^resume: .*last\.ckpt lacks what .*: init=.* starts a new run") as caught:
        train(finished("trainer.max_steps=14"))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("result.json", b"[" * 100_000),
        ("metrics.csv", b"step,epoch\n\xff,1\n6,1\n"),
        ("metrics.csv", b"step,epoch\nsix,1\n6,1\n"),
        ("metrics.csv", b"step,epoch\n6\n8,1\n"),
        ("metrics.csv", b"step,epoch\n6,1,3\n8,1\n"),
        ("metrics.csv", b"a,b\n1,2\n"),
        ("samples.jsonl", b'{"step": 6}\n\xff\n{"step": 6}\n'),
        ("samples.jsonl", b'{"step": "6"}\n'),
        ("samples.jsonl", b"[" * 100_000 + b"\n"),
    ],
)
def test_a_damaged_file_of_the_run_is_named_with_what_to_do(
    tmp_path: Path, finished: Overrides, name: str, content: bytes
) -> None:
    file = tmp_path / "run" / name
    file.write_bytes(content)
    with pytest.raises(ValueError, match=rf"^{re.escape(str(file))}: (is damaged|cannot be read) .*: delete it"):
        train(finished("trainer.max_steps=14"))


def test_what_is_deleted_or_cut_off_in_files_of_numbers_holds_nobody_up(tmp_path: Path, finished: Overrides) -> None:
    for name in ("result.json", "metrics.csv"):
        (tmp_path / "run" / name).unlink()
    samples = tmp_path / "run" / "samples.jsonl"
    samples.write_bytes(b'{"step": 6}\n{"step": 14}\n{"st')
    assert train(finished("trainer.max_steps=14", "logger=csv")).status == "completed"
    steps = [json.loads(line)["step"] for line in samples.read_text(encoding="utf-8").splitlines()]
    assert steps == [6, *[14] * 10]


def test_metrics_keep_the_rows_up_to_a_step_and_its_own_takes_more(tmp_path: Path) -> None:
    file = tmp_path / "metrics.csv"
    begun = MetricsFile(file)
    for step in (2, 4, 6):
        begun.log_metrics({"train/loss": step / 4, "epoch": 0, "of no column": 1.0}, step=step)
        begun.save()
    file.write_bytes(file.read_bytes() + b"8,0,half")  # cut off by a full disk
    going_on = MetricsFile(file, kept_until=4)
    assert [row["step"] for row in metrics(tmp_path)] == ["2", "4"]
    for step, numbers in ((4, {"val/loss": 0.75}), (6, {"train/loss": 0.25}), (6, {"val/loss": 0.5})):
        going_on.log_metrics(numbers, step=step)
    going_on.finalize("success")
    found = [(row["step"], row["train/loss"], row["val/loss"]) for row in metrics(tmp_path)]
    assert found == [("2", "0.5", ""), ("4", "1.0", "0.75"), ("6", "0.25", "0.5")]
