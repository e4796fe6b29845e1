"""Several runs as one model, from the command line and from Python."""

import json
import os
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import seq2see
from seq2see.commands.shell import run
from seq2see.commands.translate.prompt import Conversation
from seq2see.decoding import as_one, load
from seq2see.options import DecodeOptions
from seq2see.runs.config import compose_options
from seq2see.runs.train import train_run

PAIRS = [("a b c", "a b c"), ("d", "e")]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, short_run: Callable[..., list[str]]) -> Path:
    """`a` and `b` of different shapes, in two steps of training each, and `other`, of other symbols."""
    folder = tmp_path_factory.mktemp("members")
    for name, *more in (
        ("a", "training.keep=2"),
        ("b", "training.keep=2", "seed=1", "model.d_model=48", "model.num_decoder_layers=3", "model.position=learned"),
        ("other", "task.vocab_size=9"),
    ):
        train_run(compose_options("train", short_run(folder / name, "trainer.max_steps=8", *more)))
    return folder


@pytest.fixture(autouse=True)
def in_folder(runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(runs)


def test_from_python_probabilities_are_the_mean_of_those_of_the_members() -> None:
    of_each = [np.exp(seq2see.load(name).score([("a", "")])) for name in "ab"]  # the end alone
    both = seq2see.load(["a", "b"])
    assert np.exp(both.score([("a", "")])) == pytest.approx(np.mean(of_each, axis=0))
    scores = both.evaluate(PAIRS).scores
    assert scores["target_log_prob"] == pytest.approx(np.mean(both.score(PAIRS)))


def test_an_output_may_get_as_long_as_with_any_member_and_as_the_shortest_table_of_positions() -> None:
    rope, learned = (load(name) for name in "ab")
    rope.length_limit = replace(rope.length_limit, ratio=3.0, floor=2)
    learned.length_limit = replace(learned.length_limit, ratio=1.0, floor=20)
    for models in ([rope, learned], [learned, rope]):
        both = as_one(models)
        both.decode_as(DecodeOptions(beam_size=2))  # which leaves it as it is
        assert (both.length_limit.ratio, both.length_limit.floor) == (3.0, 20)
        assert both.length_limit.cap == learned.length_limit.cap is not None


def test_evaluate_writes_where_it_is_told_and_never_over_the_scores_of_a_member(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    own = Path("a/evaluation/test.json").read_bytes()
    assert run("evaluate", ["a", "b", "ensemble=true"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("test: 30 pairs, 2 models as one\n") and "nothing written: output=FOLDER" in printed
    assert Path("a/evaluation/test.json").read_bytes() == own
    assert run("evaluate", ["ckpt=[a,b]", "ensemble=true", "average=2", f"output={tmp_path}"]) == 0
    report = json.loads((tmp_path / "test.json").read_text(encoding="utf-8"))
    assert any(note.startswith("ensemble: the mean of the probabilities of a, b") for note in report["notes"])
    assert {file.name for file in tmp_path.iterdir()} == {"test.json", "test.tsv", "test.html"}


def test_translate_gives_the_log_probabilities_of_the_ensemble_token_by_token(tmp_path: Path) -> None:
    Path(tmp_path / "in.txt").write_text("a b c\n\nd e\n", encoding="utf-8")
    files = [f"input={tmp_path / 'in.txt'}", f"output={tmp_path / 'out.jsonl'}", "format=jsonl"]
    assert run("translate", ["ckpt=[a,b]", "ensemble=true", "decode.num_best=2", *files]) == 0
    lines = [json.loads(line) for line in (tmp_path / "out.jsonl").read_text(encoding="utf-8").splitlines()]
    found = [one for line in lines for one in line["hypotheses"]]
    assert len(lines) == 3 and len(found) == 4
    for one in found:
        assert sum(one["log_probs"]) == pytest.approx(one["score"], abs=1e-4)
    both = seq2see.load(["a", "b"])
    texts = [(lines[number]["source"], one["text"]) for number in (0, 2) for one in lines[number]["hypotheses"]]
    assert both.score(texts) == pytest.approx([one["score"] for one in found], abs=1e-4)


@pytest.mark.parametrize(
    ("command", "typed", "message"),
    [
        ("evaluate", "ckpt=[a,other] ensemble=true", "a/{best} and other/{best} have different tokenizers (source tok"),
        ("translate", "a other ensemble=true", "a/{best} and other/{best} have different tokenizers (source tok"),
        ("evaluate", "a ensemble=true", "ensemble=true makes one model of several, ckpt=a is one"),
        ("translate", "a ensemble=true", "ensemble=true makes one model of several, ckpt=a is one"),
        ("translate", "a b", "ckpt names 2 models: add ensemble=true"),
        ("translate", "ckpt=[]", "ckpt is missing"),
        ("translate", "a b ensemble=true average=3", "average=3: "),
    ],
)
def test_what_cannot_be_one_model_is_refused_in_one_line(
    command: str, typed: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(command, typed.split()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message.replace("{best}", os.path.join("checkpoints", "best.ckpt")) in line


def test_members_that_were_tested_on_other_pairs_are_scored_on_new_ones_alone(
    short_run: Callable[..., list[str]], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    fewer = short_run(tmp_path / "fewer", "task.test_size=20", "trainer.max_steps=2", "init=a")
    train_run(compose_options("train", fewer))
    (tmp_path / "new.tsv").write_text("a b\ta b\n", encoding="utf-8")
    members = ["a", str(tmp_path / "fewer"), "ensemble=true"]
    assert run("evaluate", members) == 2
    assert "have other pairs there" in capsys.readouterr().err
    assert run("evaluate", [*members, f"task.test={tmp_path / 'new.tsv'}"]) == 0


def test_the_prompt_says_whose_attention_it_shows_in_80_columns() -> None:
    greeting = Conversation(seq2see.load(["a", "b"])).greeting
    assert greeting.startswith("copy, first of 2 as one: 2+2 layers of width 32, step 8, greedy\n")
    assert max(map(len, greeting.splitlines())) <= 80
