"""A run's model as a page: what is in it, and what is refused."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from seq2see.commands import attention_playground
from seq2see.commands.attention import attention
from seq2see.decoding import load
from seq2see.maps import AttentionLog
from seq2see.maps.kept_weights import KeptWeights
from seq2see.maps.playground import Sentence, render
from seq2see.options import AttentionFormat, AttentionOptions


def options_of(**more: object) -> AttentionOptions:
    return AttentionOptions(format=AttentionFormat.playground, **more)  # pyright: ignore[reportArgumentType]


def data_of(file: Path) -> dict:
    block = re.search(r'<script type="application/json" id="log">(.*?)</script>', file.read_text(encoding="utf-8"))
    assert block is not None
    return json.loads(block[1])


def test_a_page_begins_with_the_logged_pairs_and_says_what_was_lost(
    small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert attention(options_of(ckpt=str(small_run))) == Path("playground.html")
    data, log = data_of(tmp_path / "playground.html"), AttentionLog.open(small_run)
    logged = [example["source"] for example in data["examples"] if example["group"] == "logged"]
    assert logged == [example.source for example in log.examples]
    assert {example["group"] for example in data["examples"]} == {"logged", "wrong", "ood"}
    assert data["source"] == load(str(small_run)).source_tokenizer.state()
    assert data["longest"] == 6 + 1, "task.max_length letters and the end"
    quality = data["quality"]
    assert 0 < quality["largestLogitDifference"] <= 1e-3 and quality["sentences"] > 30
    said = capsys.readouterr().out
    assert said.startswith("open playground.html\n") and f"{quality['bits']} bits a weight: no logit is more" in said


def test_given_sentences_come_with_their_targets_and_a_float32_page_loses_nothing(
    small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "in.txt").write_text("a b\n\nc d e\n", encoding="utf-8")
    (tmp_path / "out.txt").write_text("b\n\nd\n", encoding="utf-8")
    given = {"input": str(tmp_path / "in.txt"), "target": str(tmp_path / "out.txt")}
    page = tmp_path / "play.html"
    attention(options_of(ckpt=str(small_run), float32=True, output=str(page), **given))
    data = data_of(page)
    assert [(one["source"], one["reference"]) for one in data["examples"]] == [("a b", "b"), ("c d e", "d")]
    assert data["quality"]["bits"] == 32 and data["quality"]["largestLogitDifference"] == 0
    assert "32 bits a weight: the model itself" in capsys.readouterr().out


def test_the_model_is_there_before_training_and_half_way_if_there_is_room(
    small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    shutil.copytree(small_run, run)
    model, kept = load(str(run)).model, KeptWeights(run / "attention")
    assert kept.steps[0] == 0
    for step in kept.steps[1:]:
        (run / "attention" / f"weights-{step:08d}.pt").unlink()
    for step, output in ((4, "ab"), (6, "abcde"), (8, "abcdefgh")):
        KeptWeights(run / "attention").keep(step, model, [output], ["abcdefghij"])
    page = str(tmp_path / "play.html")
    attention(options_of(ckpt=str(run), output=page))
    capsys.readouterr()
    stages = [(stage["name"], stage["step"]) for stage in data_of(Path(page))["stages"]]
    assert stages == [("untrained", 0), ("half-trained", 6), ("trained", load(str(run)).step)]
    monkeypatch.setattr(attention_playground, "MOST_BYTES", Path(page).stat().st_size - 1)
    attention(options_of(ckpt=str(run), output=page))
    assert [stage["name"] for stage in data_of(Path(page))["stages"]] == ["untrained", "trained"]
    assert "without the half-trained model" in capsys.readouterr().out
    attention(options_of(ckpt=str(run), output=page, stages=True))
    assert len(data_of(Path(page))["stages"]) == 3
    attention(options_of(ckpt=str(run), output=page, stages=False))
    assert len(data_of(Path(page))["stages"]) == 1
    shutil.rmtree(run / "attention")
    attention(options_of(ckpt=str(run), output=page))  # of a run that kept none
    assert len(data_of(Path(page))["stages"]) == 1


def test_an_ensemble_is_refused(small_run: Path) -> None:
    with pytest.raises(ValueError, match="a playground holds one model"):
        render(load([str(small_run), str(small_run)]), lines=[Sentence("a b")], title="two")


def test_a_checkpoint_alone_needs_sentences(small_run: Path, tmp_path: Path) -> None:
    alone = shutil.copy(small_run / "checkpoints" / "best.ckpt", tmp_path)
    with pytest.raises(ValueError, match="input: .* give a file of sentences"):
        attention(options_of(ckpt=str(alone)))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"run": "RUN"}, "set ckpt= in the place of run="),
        ({"ckpt": "RUN", "layer": 1}, "layer= is for other formats, and format=playground is set"),
        ({"ckpt": "RUN", "target": "out.txt"}, "set input= too"),
    ],
)
def test_what_does_not_go_together_is_refused(options: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        attention(options_of(**options))


def test_float32_is_for_a_playground() -> None:
    with pytest.raises(ValueError, match="float32= is for format=playground, and format=html is set"):
        attention(AttentionOptions(ckpt="RUN", float32=True))
