"""What a run leaves behind, and that everything else works from it alone."""

import csv
import json
import shutil
from pathlib import Path

import pytest
import torch
import yaml

from seq2see.commands.evaluate import evaluate
from seq2see.decoding import load
from seq2see.maps.attended import aligning_head
from seq2see.options import DecodeOptions, EvaluateOptions
from seq2see.runs.config import compose_options
from seq2see.runs.finished import read_run
from seq2see.runs.folder import RunFolder
from seq2see.runs.train import train_run


def test_the_folder_holds_what_is_promised(small_run: Path) -> None:
    names = {path.relative_to(small_run).as_posix() for path in small_run.rglob("*") if path.is_file()}
    promised = {
        "config.yaml", "train.log", "metrics.csv", "result.json", "samples.jsonl", "attention.html",
        "checkpoints/best.ckpt", "checkpoints/last.ckpt", "attention/index.json", "attention/metrics.csv",
        "evaluation/test.json", "evaluation/test.tsv", "evaluation/ood.json", "evaluation/ood.tsv",
    }  # fmt: skip
    assert promised <= names
    assert not any("=" in name or Path(name).is_symlink() for name in names)
    assert not any(path.name.startswith(".") for path in small_run.rglob("*"))


def test_the_result_has_its_keys_and_says_completed_and_what_the_training_cost(small_run: Path) -> None:
    result = json.loads((small_run / "result.json").read_text(encoding="utf-8"))
    assert list(result) == ["status", "steps", "seconds", "best", "test", "ood", "expected", "cost", "versions"]
    assert result["status"] == "completed" and result["steps"] == 12
    assert set(result["best"]) == {"step", "metric", "value"}
    for split in ("test", "ood"):
        assert {"loss", "exact_match", "bleu", "chrf", "alignment_error_rate"} <= set(result[split])
    cost = result["cost"]
    weights = sum(parameter.numel() for parameter in load(str(small_run)).model.parameters() if parameter.ndim == 2)
    tokens = 32 * (7 + 7)  # of a step at most: pairs of at most six letters and EOS
    twice_forward_and_back = 6 * weights * tokens / 2
    assert 0.2 < cost["step_flops"] / twice_forward_and_back < 2
    assert cost["tokens_per_second"] > 0 and cost["matrix_peak"] > 1e9 and cost["peak_memory"] > 2**20
    assert 0 < cost["step_flops"] * 12 / cost["flops_per_second"] < result["seconds"]
    assert " GFLOP a step, " in (small_run / "train.log").read_text(encoding="utf-8")


def test_metrics_have_one_row_a_step_and_the_last_step_is_validated(small_run: Path) -> None:
    rows = list(csv.DictReader((small_run / "metrics.csv").read_text(encoding="utf-8").splitlines()))
    steps = [int(row["step"]) for row in rows]
    assert steps == sorted(set(steps)) and steps[-1] == 12
    assert [int(row["step"]) for row in rows if row["val/loss"]] == [6, 12]


def test_samples_show_the_same_pairs_at_each_validation(small_run: Path) -> None:
    lines = [json.loads(line) for line in (small_run / "samples.jsonl").read_text(encoding="utf-8").splitlines()]
    by_step = {step: [line["source"] for line in lines if line["step"] == step] for step in (6, 12)}
    assert by_step[6] == by_step[12] and len(by_step[6]) == 10
    assert set(lines[0]) == {"step", "source", "reference", "hypothesis"}


def test_evaluating_gives_the_very_scores_that_training_reported_also_from_a_checkpoint_alone(
    small_run: Path, tmp_path: Path
) -> None:
    evaluation, files = evaluate(EvaluateOptions(ckpt=str(small_run), output=str(tmp_path / "scores")))
    assert [file.name for file in files] == ["test.json", "test.tsv", "test.html"]
    assert files[1].read_text() == (small_run / "evaluation" / "test.tsv").read_text()
    alone = tmp_path / "alone" / "somewhere else.ckpt"
    alone.parent.mkdir()
    shutil.copy(small_run / "checkpoints" / "best.ckpt", alone)
    from_alone, files = evaluate(EvaluateOptions(ckpt=str(alone)))
    assert files == [] and list(alone.parent.iterdir()) == [alone]
    test = json.loads((small_run / "result.json").read_text(encoding="utf-8"))["test"]
    assert evaluation.scores == from_alone.scores == test


def test_other_pairs_can_be_scored_and_keys_that_are_given_win_over_those_of_the_run(
    small_run: Path, tmp_path: Path
) -> None:
    (tmp_path / "new.tsv").write_text("a b c\ta b c\nd e\td e\n", encoding="utf-8")
    options = EvaluateOptions(ckpt=str(small_run), output=str(tmp_path), decode=DecodeOptions(max_length=2))
    options.task.test = str(tmp_path / "new.tsv")
    evaluation, files = evaluate(options)
    assert len(evaluation.pairs) == 2 and all(len(hypothesis.ids) <= 2 for hypothesis in evaluation.hypotheses)
    assert [file.name for file in files] == ["new.json", "new.tsv", "new.html"]


def test_a_run_is_repeated_from_its_config_and_logging_attention_does_not_change_the_weights(
    small_run: Path, tmp_path: Path
) -> None:
    runs = []
    for config, *typed in ((small_run, "model.dropout=0.1"), (tmp_path / "0", "attention_log.enabled=false")):
        typed += [f"config={config / 'config.yaml'}", f"run_dir={tmp_path / str(len(runs))}"]
        runs.append(train_run(compose_options("train", typed)))
    assert runs[0].test == runs[1].test
    weights = [load(str(run.folder)).model.state_dict() for run in runs]
    assert all(torch.equal(weight, weights[1][name]) for name, weight in weights[0].items())
    one, two = (yaml.safe_load((run.folder / "config.yaml").read_text()) for run in runs)
    assert {key for key in one if one[key] != two[key]} == {"run_dir", "attention_log"}


def test_a_folder_with_something_in_it_is_refused(small_run: Path) -> None:
    options = compose_options("train", ["task=copy", f"run_dir={small_run}"])
    with pytest.raises(ValueError, match="run_dir: .* is not empty"):
        train_run(options)


def test_runs_that_start_in_the_same_second_have_folders_of_their_own_and_one_that_cannot_be_made_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    folders = [RunFolder.claim(None, kind="copy").path for _ in range(4)]
    assert sorted(folders) == sorted((tmp_path / "outputs" / "copy").iterdir()) and len(set(folders)) == 4
    (tmp_path / "file").touch()
    with pytest.raises(ValueError, match=r"run_dir: .* cannot be made \(Not a directory\): choose a folder that you"):
        RunFolder.claim("file/run", kind="copy")


def test_a_run_on_files_goes_on_is_repeated_and_scored_from_another_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    for name, first in (("part-1.tsv", 0), ("part-2.tsv", 10), ("test.tsv", 20)):
        Path(name).write_text("".join(f"a{n}\tb{n}\n" for n in range(first, first + 10)))
    files = ["task=files", "task.train=part-*.tsv", "task.test=test.tsv"]
    small = ["model.d_model=16", "model.d_ff=16", "attention_log.enabled=false", "logger=none"]

    def train(*typed: str) -> str:
        return train_run(compose_options("train", list(typed))).status

    train(*files, *small, "run_dir=run", "trainer.max_steps=2")
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path / "there")
    assert train("resume=../here/run", "trainer.max_steps=3") == "completed"
    assert train("config=../here/run/config.yaml", "run_dir=again", "trainer.max_steps=2") == "completed"
    evaluation, _ = evaluate(EvaluateOptions(ckpt="../here/run", report=False))
    assert len(evaluation.pairs) == 10 and evaluation.details["baselines"]["training_pairs"] == 18


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("result.json", b'{"status', "cannot be read .*: delete it, and resume="),
        ("result.json", b"\xff", "cannot be read .*: delete it, and resume="),
        ("result.json", b"[1]", "not a JSON object"),
        ("result.json", b'{"status": "completed", "steps": 1, "seconds": "x", "test": {}}', "seconds is 'x'"),
        ("result.json", b'{"status": "completed", "steps": 1, "seconds": 1, "test": {"bleu": "x"}}', "no numbers"),
        ("config.yaml", b"[" * 5_000, "is damaged"),
        ("config.yaml", b"task: {kind: copy}\nseed: &a [1]\nrun_dir: \xff", "is damaged"),
        (
            "config.yaml",
            b"a0: &a0 [1]\n" + b"".join(b"a%d: &a%d [*a%d, *a%d]\n" % (n, n, n - 1, n - 1) for n in range(1, 31)),
            "is damaged .*contain or share themselves",
        ),
    ],
)
def test_comparing_names_the_damaged_file_of_a_run(
    name: str, content: bytes, message: str, small_run: Path, tmp_path: Path
) -> None:
    for file in ("result.json", "config.yaml"):
        (tmp_path / file).write_bytes((small_run / file).read_bytes())
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ValueError, match=rf"{name}: .*{message}"):
        read_run(tmp_path)


def test_a_damaged_evaluation_is_named_where_its_head_is_asked_for(small_run: Path, tmp_path: Path) -> None:
    shutil.copytree(small_run, tmp_path / "run")
    (tmp_path / "run" / "evaluation" / "test.json").write_bytes(b"[" * 100_000)
    with pytest.raises(ValueError, match=r"evaluation/test\.json: cannot be read .*: write it anew with evaluate"):
        aligning_head(load(str(tmp_path / "run")))
