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
from seq2see.decoding.checkpoint_file import write_checkpoint
from seq2see.runs.config import compose_options
from seq2see.runs.failures import RunFailed
from seq2see.runs.train import Result, train_run
from seq2see.training.callbacks import Checkpoints
from seq2see.training.module import TrainingModule

Overrides = Callable[..., list[str]]
Seen = list[tuple[int, list[int]]]

LONG = ("trainer.max_steps=40", "trainer.val_check_interval=9", "trainer.log_every_n_steps=4", "model.dropout=0.1")


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> Seen:
    """Each micro-batch that was trained on: optimiser steps before it, and its pairs."""
    batches: Seen = []
    training_step = TrainingModule.training_step

    def recording(self: TrainingModule, batch: Any, batch_idx: int) -> Any:
        batches.append((self.global_step, batch.ids.tolist()))
        return training_step(self, batch, batch_idx)

    monkeypatch.setattr(TrainingModule, "training_step", recording)
    return batches


@pytest.fixture
def stop_when(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[Checkpoints, Any], bool]], None]:
    """Lets a signal arrive as soon as a condition on the run holds, once."""

    def arrange(condition: Callable[[Checkpoints, Any], bool]) -> None:
        stop_if_asked, arrived = Checkpoints.stop_if_asked, []

        def arriving(self: Checkpoints, trainer: Any) -> None:
            if not arrived and condition(self, trainer):
                arrived.append(True)
                self.asked = lambda: True
            stop_if_asked(self, trainer)

        def stopped() -> None:
            if arrived == [True]:
                arrived.append(False)
                raise KeyboardInterrupt

        monkeypatch.setattr(Checkpoints, "stop_if_asked", arriving)
        monkeypatch.setattr("seq2see.runs.train.stop_if_asked", stopped)

    return arrange


def at_step(step: int) -> Callable[[Checkpoints, Any], bool]:
    return lambda callback, trainer: trainer.global_step == step and not trainer.validating


def train(overrides: list[str]) -> Result:
    return train_run(compose_options("train", overrides))


def metrics(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open(encoding="utf-8", newline="") as file:
        return [{name: row[name] for name in row if name != "train/tokens_per_second"} for row in csv.DictReader(file)]


def text_files(folder: Path) -> dict[str, str]:
    names = ("samples.jsonl", "attention/index.json", "attention/metrics.csv", "evaluation/test.tsv")
    return {name: (folder / name).read_text(encoding="utf-8") for name in names if (folder / name).exists()}


def assert_equal_runs(one: Path, other: Path) -> None:
    for name in ("last.ckpt", "best.ckpt"):
        ours, theirs = (read_content(folder / "checkpoints" / name).values for folder in (one, other))
        for weight, value in theirs["state_dict"].items():
            assert torch.equal(ours["state_dict"][weight], value), f"{name}: {weight}"
        assert ours["global_step"] == theirs["global_step"]
        assert [
            entry for entry in ours.get("optimizer_states", []) if not _equal(entry, theirs["optimizer_states"][0])
        ] == []
    assert metrics(one) == metrics(other)
    assert text_files(one) == text_files(other)
    results = [json.loads((folder / "result.json").read_text(encoding="utf-8")) for folder in (one, other)]
    for name in ("status", "steps", "best", "test"):
        assert results[0][name] == results[1][name]


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return torch.equal(one, other)
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(_equal(one[key], other[key]) for key in one)
    if isinstance(one, list | tuple):
        return len(one) == len(other) and all(_equal(a, b) for a, b in zip(one, other, strict=True))
    return one == other


def effective(seen: Seen) -> Seen:
    """What the weights have seen: of a step that was done twice, the second time."""
    known: dict[int, list[list[int]]] = {}
    before = -1
    for step, ids in seen:
        if step != before:
            known[step] = []
        known[step].append(ids)
        before = step
    return [(step, ids) for step in sorted(known) for ids in known[step]]


def in_validation(step: int) -> Callable[[Checkpoints, Any], bool]:
    return lambda callback, trainer: trainer.validating and trainer.global_step == step


@pytest.mark.parametrize(
    ("stop", "more"),
    [
        pytest.param(
            at_step(13), ("trainer.accumulate_grad_batches=4", "data.num_workers=2", "data.batch_size=8"), id="workers"
        ),
        pytest.param(in_validation(27), ("optim.ema=0.9",), id="ema-in-validation"),
        pytest.param(at_step(40), (), id="last-step"),
        *(
            pytest.param(stop, more, id=name, marks=pytest.mark.slow)
            for name, stop, more in (
                ("middle", at_step(13), ()),
                ("validation-due", at_step(18), ()),
                ("first-step", at_step(1), ()),
                ("last-but-one", at_step(39), ()),
                ("in-validation", in_validation(18), ()),
                ("in-last-validation", in_validation(40), ()),
                ("epoch-end", at_step(10), ()),
                ("ema", at_step(13), ("optim.ema=0.9",)),
                (
                    "kept",
                    at_step(13),
                    ("training.keep=2", "attention_log.every_n_steps=5", "optim.schedule=inverse_sqrt"),
                ),
                ("part-of-the-batches", at_step(13), ("trainer.limit_train_batches=4",)),
                ("shares-of-an-epoch", at_step(13), ("trainer.val_check_interval=0.5",)),
            )
        ),
    ],
)
def test_a_run_that_was_interrupted_equals_one_that_was_not(
    tmp_path: Path, short_run: Overrides, seen: Seen, stop_when: Callable[..., None], stop: Any, more: tuple[str, ...]
) -> None:
    train(short_run(tmp_path / "straight", *LONG, *more))
    whole, whole_ids = tmp_path / "straight", list(seen)
    seen.clear()
    stop_when(stop)
    overrides = short_run(tmp_path / "stopped", *LONG, *more)
    with pytest.raises(KeyboardInterrupt):
        train(overrides)
    result = json.loads((tmp_path / "stopped" / "result.json").read_text(encoding="utf-8"))
    assert result["status"] == "interrupted" and not (tmp_path / "stopped" / "evaluation").exists()

    train([*overrides, "resume=auto"])

    assert_equal_runs(tmp_path / "stopped", whole)
    assert seen == whole_ids


@pytest.mark.parametrize("stops", [(10, 13), (20, 25, 33)])
def test_a_run_that_goes_on_from_the_end_of_an_epoch_may_be_stopped_again(
    tmp_path: Path, short_run: Overrides, seen: Seen, stop_when: Callable[..., None], stops: tuple[int, ...]
) -> None:
    train(short_run(tmp_path / "straight", *LONG))
    whole = list(seen)
    seen.clear()
    for step in stops:
        stop_when(at_step(step))
        with pytest.raises(KeyboardInterrupt):
            train(short_run(tmp_path / "stopped", *LONG, "resume=auto"))
    train(short_run(tmp_path / "stopped", *LONG, "resume=auto"))
    assert seen == whole
    assert_equal_runs(tmp_path / "stopped", tmp_path / "straight")


def test_a_longer_training_that_is_stopped_at_once_is_not_forgotten(
    tmp_path: Path, short_run: Overrides, seen: Seen, stop_when: Callable[..., None]
) -> None:
    train(short_run(tmp_path / "run"))
    longer = short_run(tmp_path / "run", "trainer.max_steps=20", "resume=auto")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TrainingModule, "training_step", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            train(longer)
    seen.clear()
    assert train(longer).steps == 20
    assert [step for step, _ in seen] == list(range(12, 20))


def reversed_words(line: str) -> str:
    source, target = line.split("\t")
    return f"{source}\t{' '.join(reversed(target.split()))}"


@pytest.mark.parametrize(
    ("split", "edit", "message"),
    [
        (
            "train",
            lambda lines: [*map(reversed_words, lines)],
            r"the train pairs of .*train.tsv are other ones \(60 then",
        ),
        ("valid", lambda lines: [*map(reversed_words, lines)], r"the valid pairs of .*valid.tsv are other ones"),
        ("test", lambda lines: lines[:-1], r"the test pairs of .*test.tsv are other ones \(60 then, 59 now\)"),
        ("train", lambda lines: lines[::-1], r"train.tsv has the same train pairs in another order"),
    ],
)
def test_other_pairs_are_refused_and_the_file_is_named(
    tmp_path: Path, stop_when: Callable[..., None], split: str, edit: Callable[[list[str]], list[str]], message: str
) -> None:
    run = ["task=files", "trainer.max_steps=8", "model.d_model=16", "data.batch_size=16", f"run_dir={tmp_path / 'run'}"]
    lines = [f"a{number % 7} b{number}\tb{number} a{number % 7}" for number in range(60)]
    for name in ("train", "valid", "test"):
        (tmp_path / f"{name}.tsv").write_text("\n".join(lines), encoding="utf-8")
        run.append(f"task.{name}={tmp_path / name}.tsv")
    stop_when(at_step(5))
    with pytest.raises(KeyboardInterrupt):
        train(run)
    (tmp_path / f"{split}.tsv").write_text("\n".join(edit(lines)), encoding="utf-8")
    with pytest.raises(ValueError, match=f"resume: .*{message}.*: bring that back, or start a new run .* init="):
        train([*run, "resume=auto"])
    (tmp_path / f"{split}.tsv").write_text("\n".join(lines), encoding="utf-8")
    assert train([*run, "resume=auto"]).status == "completed"


@pytest.mark.parametrize(("edited", "digests"), [(False, True), (False, False), (True, False)])
def test_the_same_pairs_in_another_file_go_on_and_without_digests_as_well_as_before(
    tmp_path: Path, stop_when: Callable[..., None], edited: bool, digests: bool
) -> None:
    pairs, moved = tmp_path / "pairs.tsv", tmp_path / "moved.tsv.gz"
    files = [
        "task=files",
        "trainer.max_steps=8",
        "model.d_model=16",
        "data.batch_size=16",
        f"run_dir={tmp_path / 'run'}",
    ]
    text = "".join(f"a{n} b\tb a{n}\n" for n in range(200))
    pairs.write_text(text, encoding="utf-8")
    stop_when(at_step(5))
    with pytest.raises(KeyboardInterrupt):
        train([*files, f"task.train={pairs}"])
    pairs.unlink()
    moved.write_bytes(gzip.compress(text.replace("a", "x" if edited else "a").encode()))
    last = tmp_path / "run" / "checkpoints" / "last.ckpt"
    values = read_content(last).values
    assert sum(digest["pairs"] for digest in values["seq2see"]["pairs"].values()) == 200
    if not digests:  # as an older seq2see wrote it
        del values["seq2see"]["pairs"]
        write_checkpoint(last, values)
    again = [*files, f"task.train={moved}", "resume=auto"]
    if edited:
        with pytest.raises(ValueError, match="the pairs are other ones .source_tokenizer differs"):
            train(again)
    else:
        assert train(again).steps == 8


def test_without_validation_the_moving_average_is_the_best_and_the_run_can_be_made_longer(
    tmp_path: Path, short_run: Overrides
) -> None:
    none = ("task.valid_size=0", "optim.ema=0.9", "optim.schedule=constant")
    train(short_run(tmp_path / "run", *none))
    best, last = (read_content(tmp_path / "run" / "checkpoints" / name) for name in ("best.ckpt", "last.ckpt"))
    assert all(torch.equal(value, last.weights[name]) for name, value in best.weights.items())
    raw = last.values["training_weights"]
    assert any(not torch.equal(value, raw[f"model.{name}"]) for name, value in best.weights.items())
    assert train(short_run(tmp_path / "run", *none, "trainer.max_steps=15", "resume=auto")).steps == 15


def test_what_is_complete_is_left_as_it_is(
    tmp_path: Path, short_run: Overrides, seen: Seen, capsys: pytest.CaptureFixture[str]
) -> None:
    overrides = short_run(tmp_path / "run", "resume=auto")
    first = train(overrides)
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / "run").glob("**/*")}
    seen.clear()
    capsys.readouterr()

    again = train(overrides)

    assert {path: path.stat().st_mtime_ns for path in (tmp_path / "run").glob("**/*")} == before
    assert seen == [] and again.test == first.test
    said = capsys.readouterr()
    assert "is complete (12 steps): nothing is left to do" in said.err and "exact match" in said.out


def test_a_run_that_stopped_while_it_was_tested_is_only_tested(
    tmp_path: Path, short_run: Overrides, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr("seq2see.runs.train.evaluate_pairs", interrupted)
        with pytest.raises(KeyboardInterrupt):
            train(short_run(tmp_path / "run"))
    seen.clear()
    result = train(short_run(tmp_path / "run", "resume=auto"))
    assert seen == []
    assert result.status == "completed" and result.steps == 12 and result.test and result.best["step"] in (6, 12)


def test_a_longer_training_goes_on_from_the_end(
    tmp_path: Path, short_run: Overrides, seen: Seen, capsys: pytest.CaptureFixture[str]
) -> None:
    train(short_run(tmp_path / "run", "optim.schedule=constant"))
    seen.clear()
    more = ("optim.schedule=constant", "trainer.max_steps=20", "resume=auto")
    train(short_run(tmp_path / "run", *more))
    assert [step for step, _ in seen] == list(range(12, 20))
    assert "changed     trainer.max_steps 12 -> 20" in capsys.readouterr().err
    train(short_run(tmp_path / "whole", "optim.schedule=constant", "trainer.max_steps=20"))
    ours, theirs = (read_content(tmp_path / name / "checkpoints" / "last.ckpt").weights for name in ("run", "whole"))
    assert all(torch.equal(value, theirs[name]) for name, value in ours.items())


def test_what_a_run_that_goes_on_cannot_change_is_refused(tmp_path: Path, short_run: Overrides) -> None:
    train(short_run(tmp_path / "run"))
    for key, old, new in (("model.dropout", "0.0", "0.3"), ("data.batch_size", "32", "16"), ("seed", "0", "4")):
        with pytest.raises(ValueError, match=rf"{key}={new}: the run in .* has {old} and goes on with it"):
            train(short_run(tmp_path / "run", "resume=auto", "trainer.max_steps=20", f"{key}={new}"))


def test_only_the_run_is_named_and_nothing_is_typed_again(tmp_path: Path, short_run: Overrides) -> None:
    train(short_run(tmp_path / "it's"))
    for resume in (tmp_path / "it's", tmp_path / "it's" / "checkpoints" / "last.ckpt"):
        overrides = [f"resume={resume}", "trainer.max_steps=14"]
        assert train(overrides).folder == tmp_path / "it's"
    assert read_content(tmp_path / "it's" / "checkpoints" / "last.ckpt").step == 14


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


def test_a_run_that_has_no_checkpoint_yet_begins_anew(tmp_path: Path, short_run: Overrides, seen: Seen) -> None:
    folder = tmp_path / "run"
    (folder / "attention").mkdir(parents=True)
    for name in ("config.yaml", "metrics.csv", ".config.yaml.1.part", "attention/index.json"):
        (folder / name).write_text("half")
    assert train(short_run(folder, "resume=auto")).status == "completed"
    assert len(seen) == 12


def test_a_folder_of_something_else_is_not_touched(tmp_path: Path, short_run: Overrides) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "data").write_text("mine")
    with pytest.raises(ValueError, match="is not empty"):
        train(short_run(tmp_path / "thesis", "resume=auto"))
    assert (tmp_path / "thesis" / "data").read_text() == "mine"


def test_the_weights_that_a_run_began_with_may_be_gone_when_it_goes_on(
    tmp_path: Path, short_run: Overrides, stop_when: Callable[..., None]
) -> None:
    train(short_run(tmp_path / "first"))
    stop_when(at_step(5))
    overrides = short_run(tmp_path / "second", f"init={tmp_path / 'first'}")
    with pytest.raises(KeyboardInterrupt):
        train(overrides)
    shutil.rmtree(tmp_path / "first")
    assert train([*overrides, "resume=auto"]).status == "completed"


def test_a_run_without_validation_pairs_goes_on_too(
    tmp_path: Path, short_run: Overrides, seen: Seen, stop_when: Callable[..., None]
) -> None:
    none = ("task.valid_size=0",)
    train(short_run(tmp_path / "straight", *none))
    whole = list(seen)
    seen.clear()
    stop_when(at_step(7))
    with pytest.raises(KeyboardInterrupt):
        train(short_run(tmp_path / "stopped", *none))
    train(short_run(tmp_path / "stopped", *none, "resume=auto"))
    assert_equal_runs(tmp_path / "stopped", tmp_path / "straight")
    assert seen == whole


def test_training_time_goes_on_from_what_was_used(
    tmp_path: Path, short_run: Overrides, stop_when: Callable[..., None], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr("seq2see.training.budget.time.monotonic", lambda: now[0])
    training_step = TrainingModule.training_step

    def one_second(self: TrainingModule, batch: Any, batch_idx: int) -> Any:
        now[0] += 1
        return training_step(self, batch, batch_idx)

    monkeypatch.setattr(TrainingModule, "training_step", one_second)
    timed = ("trainer.max_steps=null", "trainer.max_time=00:00:00:10")
    stop_when(at_step(6))
    with pytest.raises(KeyboardInterrupt):
        train(short_run(tmp_path / "run", *timed))
    assert train(short_run(tmp_path / "run", *timed, "resume=auto")).steps == 10


def test_a_gradient_that_is_not_finite_stops_the_run_before_it_reaches_the_weights(
    tmp_path: Path, short_run: Overrides, seen: Seen, monkeypatch: pytest.MonkeyPatch
) -> None:
    training_step = TrainingModule.training_step
    weights = []

    def failing(self: TrainingModule, batch: Any, batch_idx: int) -> Any:
        loss = training_step(self, batch, batch_idx)
        weights.append({name: value.clone() for name, value in self.model.state_dict().items()})
        return loss * float("nan") if self.global_step == 7 else loss

    monkeypatch.setattr(TrainingModule, "training_step", failing)
    with pytest.raises(
        RunFailed,
        match=r"step 8: the loss or the gradient is not finite. Its batch has 32 pairs, such as number \d+, \d+",
    ) as error:
        train(short_run(tmp_path / "run"))
    assert "failed.ckpt: lower optim.lr" in str(error.value)
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
    result = train(short_run(tmp_path / "run", f"task.valid_size={size}", "task.ood_size=0"))
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
    "no callbacks": without("callbacks"),
    "no pace": without("callbacks", "Pace"),
    "no selection": without("callbacks", "Selection"),
    "callbacks are a list": lambda content: content.update(callbacks=[1]),
    "seconds are a text": lambda content: content["callbacks"]["Pace"].update(seconds="1"),
    "no training": without("training"),
    "no random state": without("training", "random"),
    "a random state of another kind": lambda content: content["training"]["random"].update(numpy=["a", [], 0, 0, 0]),
    "no loops": without("loops"),
    "no place in the data": without("loops", "fit_loop", "state_dict", "combined_loader", 0, "position"),
    "no optimisers": lambda content: content.update(optimizer_states=[]),
    "no states": lambda content: content["optimizer_states"][0].update(state={}),
    "a state is missing": without("optimizer_states", 0, "state", 3),
    "a state of another shape": lambda content: content["optimizer_states"][0]["state"][3].update(
        exp_avg=torch.ones(1, 2)
    ),
    "no groups": without("optimizer_states", 0, "param_groups"),
    "one group": without("optimizer_states", 0, "param_groups", 1),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_last_checkpoint_without_its_parts_says_how_to_go_on(
    tmp_path: Path, small_run: Path, short_run: Overrides, name: str
) -> None:
    shutil.copytree(small_run, tmp_path / "run")
    last = tmp_path / "run" / "checkpoints" / "last.ckpt"
    content = torch.load(last, weights_only=True)
    PARTS[name](content)
    write_checkpoint(last, content)
    longer = short_run(tmp_path / "run", "task.max_length=6", "resume=auto", "trainer.max_steps=14")
    with pytest.raises(ValueError, match=r"^resume: .*last\.ckpt lacks what .*: init=.*run starts a new run") as caught:
        train(longer)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("result.json", b'{"status": "completed"', "cannot be read .*: delete it"),
        ("result.json", b"", "cannot be read .*: delete it"),
        ("result.json", b"\xff\xfe", "cannot be read .*: delete it"),
        ("result.json", b"[" * 100_000, "cannot be read .*: delete it"),
        ("result.json", b"[1]", "not a JSON object"),
        ("result.json", b'{"status": 1}', "status is 1"),
        ("metrics.csv", b"step,epoch\n\xff,1\n6,1\n", "is damaged .*: delete the line, or the file"),
        ("metrics.csv", b"step,epoch\nsix,1\n6,1\n", "line 2: is damaged"),
        ("metrics.csv", b"step,epoch\n6\n8,1\n", "line 2: is damaged"),
        ("metrics.csv", b"step,epoch\n6,1,3\n8,1\n", "line 2: is damaged"),
        ("metrics.csv", b"\0\0\0\n1,2\n", "is damaged"),
        ("metrics.csv", b"a,b\n1,2\n", "line 2: is damaged"),
        ("samples.jsonl", b'{"step": 6}\n\xff\n{"step": 6}\n', "line 2: is damaged: delete the line, or the file"),
        ("samples.jsonl", b'{"step": "6"}\n{"step": 6}\n', "line 1: is damaged"),
        ("samples.jsonl", b"[" * 100_000 + b'\n{"step": 6}\n', "line 1: is damaged"),
    ],
)
def test_a_damaged_file_of_the_run_is_named_with_what_to_do(
    tmp_path: Path, small_run: Path, short_run: Overrides, name: str, content: bytes, message: str
) -> None:
    shutil.copytree(small_run, tmp_path / "run")
    file = tmp_path / "run" / name
    file.write_bytes(content)
    longer = short_run(tmp_path / "run", "task.max_length=6", "resume=auto", "trainer.max_steps=14")
    with pytest.raises(ValueError, match=rf"^{re.escape(str(file))}.*{message}"):
        train(longer)
    file.unlink()
    assert train(longer).status == "completed"
