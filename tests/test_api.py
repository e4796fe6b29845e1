"""Everything from Python: train on pairs in memory, load, translate, score, evaluate."""

import math
from pathlib import Path

import pytest
import yaml

import seq2see
from seq2see.commands.evaluate import evaluate
from seq2see.options import EvaluateOptions, Split

SMALL = ("model.d_model=32", "model.d_ff=64", "data.batch_size=16", "attention_log.enabled=false", "logger=none")
PAIRS = [(f"a{n} b", f"b\t{n}\na") for n in range(60)]  # a tab and a line end are text


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> "seq2see.runs.train.Result":
    folder = tmp_path_factory.mktemp("api") / "it's a run"
    return seq2see.train(*SMALL, "trainer.max_steps=4", f"run_dir={folder}", pairs=PAIRS, test=PAIRS[:5])


def test_pairs_in_memory_are_trained_on_tested_and_kept_so_that_the_run_can_be_repeated(result) -> None:
    assert result.status == "completed" and result.steps == 4
    assert (result.folder / "evaluation" / "test.tsv").read_text(encoding="utf-8").count("\n") == 6
    task = yaml.safe_load((result.folder / "config.yaml").read_text(encoding="utf-8"))["task"]
    data = result.folder / "data"
    assert [task[split] for split in ("train", "valid", "test")] == [
        str(data / "pairs.jsonl"), None, str(data / "test.jsonl")
    ]  # fmt: skip
    assert seq2see.load(str(result.folder)).options.task.train == task["train"]
    kept = {}
    for split in (Split.train, Split.valid):  # those to validate on were split off
        options = EvaluateOptions(ckpt=str(result.folder), split=split, baselines=False, report=False)
        kept[split] = {tuple(pair[:2]) for pair in evaluate(options)[0].pairs}
    assert kept[Split.train] | kept[Split.valid] == set(PAIRS) and kept[Split.valid]
    assert not kept[Split.train] & kept[Split.valid]
    again = seq2see.train(f"config={result.folder / 'config.yaml'}", f"run_dir={result.folder.parent / 'again'}")
    assert again.test == result.test


def test_a_loaded_model_translates_scores_and_evaluates(result, tmp_path: Path) -> None:
    model = seq2see.load(str(result.folder))
    texts = model.translate(["a1 b", "", "a2 b"])
    assert len(texts) == 3 and texts[1] == ""
    scores = model.score(PAIRS[:7])
    assert len(scores) == 7 and all(score < 0 for score in scores)
    assert model.score([]) == []
    total = sum(math.exp(score) for score in model.score([("a1 b", text) for text in ("b", "b\t1\na", "a", "1")]))
    assert 0 < total < 1, "the probabilities of all texts sum to 1"
    for name, value in result.test.items():
        assert model.evaluate(PAIRS[:5]).scores[name] == pytest.approx(value, abs=1e-6)
    (tmp_path / "new.jsonl").write_text('{"source": "a1 b", "target": "b"}\n', encoding="utf-8")
    assert len(model.evaluate(tmp_path / "new.jsonl").pairs) == 1


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
