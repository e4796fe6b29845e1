"""Everything from Python: train on pairs in memory, load, translate, score, evaluate."""

import math
from pathlib import Path

import pytest
import yaml

import seq2see
from seq2see.options import EvaluateOptions, Split
from seq2see.runs.evaluate import evaluate

SMALL = ("model.d_model=32", "model.d_ff=64", "data.batch_size=16", "attention_log.enabled=false", "logger=none")
PAIRS = [(f"a{n} b", f"b\t{n}\na") for n in range(60)]  # a tab and a line end are text


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> "seq2see.runs.train.Result":
    folder = tmp_path_factory.mktemp("api") / "it's a run"
    return seq2see.train(*SMALL, "trainer.max_steps=4", f"run_dir={folder}", pairs=PAIRS, test=PAIRS[:5])


def test_pairs_in_memory_are_trained_on_and_tested(result) -> None:
    assert result.status == "completed" and result.steps == 4
    assert (result.folder / "evaluation" / "test.tsv").read_text(encoding="utf-8").count("\n") == 6


def test_the_run_keeps_the_pairs_and_can_be_repeated_from_its_configuration(result) -> None:
    task = yaml.safe_load((result.folder / "config.yaml").read_text(encoding="utf-8"))["task"]
    assert [task[split] for split in ("train", "valid", "test")] == [
        str(result.folder / "data" / "pairs.jsonl"), None, str(result.folder / "data" / "test.jsonl")
    ]  # fmt: skip
    assert seq2see.load(str(result.folder)).options.task.train == task["train"]
    evaluation, _ = evaluate(EvaluateOptions(ckpt=str(result.folder), split=Split.train, baselines=False, report=False))
    assert {tuple(pair[:2]) for pair in evaluation.pairs} < set(PAIRS), "those to validate on were split off"
    again = seq2see.train(f"config={result.folder / 'config.yaml'}", f"run_dir={result.folder.parent / 'again'}")
    assert again.test == result.test


def test_a_loaded_model_translates_scores_and_evaluates(result) -> None:
    trained = seq2see.load(str(result.folder))
    lines = ["a1 b", "", "a2 b"]
    texts = trained.translate(lines)
    assert len(texts) == 3 and texts[1] == ""
    scores = trained.score(PAIRS[:7])
    assert len(scores) == 7 and all(score < 0 for score in scores)
    assert trained.score([]) == []
    evaluation = trained.evaluate(PAIRS[:5])
    for name, value in result.test.items():
        assert evaluation.scores[name] == pytest.approx(value, abs=1e-6)


def test_the_probabilities_of_all_short_targets_sum_to_at_most_one(result) -> None:
    trained = seq2see.load(str(result.folder))
    total = sum(math.exp(score) for score in trained.score([("a1 b", text) for text in ("b", "b\t1\na", "a", "1")]))
    assert 0 < total < 1


def test_a_task_is_trained_as_on_the_command_line(tmp_path: Path) -> None:
    sizes = ("task.train_size=50", "task.valid_size=5", "task.test_size=5", "task.ood_size=0")
    result = seq2see.train("task=copy", *SMALL, *sizes, "trainer.max_steps=2", f"run_dir={tmp_path / 'copy'}")
    assert result.status == "completed" and result.folder == tmp_path / "copy"


@pytest.mark.parametrize(
    ("arguments", "given", "message"),
    [
        (["model.d_modle=64"], {}, "did you mean model.d_model"),
        ([], {"test": PAIRS}, "valid and test go with pairs"),
        ([], {"pairs": []}, "no pairs"),
        ([], {"pairs": [("a", "")]}, "empty target"),
        ([], {"pairs": [("a", "\ud800")]}, "half a character"),
    ],
)
def test_mistakes_are_value_errors_with_a_message(arguments: list[str], given: dict, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        seq2see.train(*arguments, **given)


def test_pairs_that_were_split_off_come_back_whole_though_they_hold_tabs_and_line_ends(result) -> None:
    evaluation, _ = evaluate(EvaluateOptions(ckpt=str(result.folder), split=Split.valid))
    assert len(evaluation.pairs) > 0
    assert {tuple(pair[:2]) for pair in evaluation.pairs} <= set(PAIRS)
