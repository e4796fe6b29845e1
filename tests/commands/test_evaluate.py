"""What an evaluation says and writes, and that it is what others would compute from its files."""

import csv
import gzip
import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

import seq2see
import seq2see.evaluation as evaluation_room
from seq2see.commands import evaluate as module
from seq2see.commands.evaluate import command, evaluate, evaluate_several
from seq2see.decoding import TranslationModel, load
from seq2see.evaluation import Evaluation, evaluate_pairs
from seq2see.options import EvaluateOptions, OtherData, Split
from seq2see.runs.config import compose_options
from seq2see.runs.data import pairs_of
from seq2see.runs.train import train_run
from seq2see.tasks import Pair


@pytest.fixture(scope="module")
def trained(small_run: Path) -> TranslationModel:
    """The model of the small run; not to be changed."""
    return load(str(small_run))


@pytest.fixture(scope="module")
def evaluated(small_run: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Evaluation, list[Path]]:
    """What evaluating the small run gives and writes."""
    return evaluate(EvaluateOptions(ckpt=str(small_run), output=str(tmp_path_factory.mktemp("scores"))))


@pytest.fixture(scope="module")
def several_targets(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose sources have two targets each, with odd white space, and that takes an error rate to choose."""
    folder = tmp_path_factory.mktemp("several")
    words = ["a b", "b a", "a a b", "b b", "a b b a", "b a a"]
    lines = [f"{text}\t{text} {other}\n{text}\t{other}  {text}\u00a0\n" for text in words for other in "ab"]
    (folder / "pairs.tsv").write_text("".join(lines), encoding="utf-8")
    files = [f"task.{name}={folder / 'pairs.tsv'}" for name in ("train", "valid", "test")]
    overrides = [
        "task=files", *files, "tokenizer.source=word", "tokenizer.target=word", "model.d_model=16", "model.d_ff=32",
        "model.num_heads=2", "optim.warmup_steps=1", "optim.lr=1e-2", "trainer.max_steps=30",
        "trainer.val_check_interval=10", "training.select=cer", "attention_log.enabled=false", f"run_dir={folder}/run",
    ]  # fmt: skip
    train_run(compose_options("train", overrides))
    return folder / "run"


def rows_of(path: Path) -> list[list[str]]:
    heading, *lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n")
    assert heading.split("\t") == ["source", "reference", "hypothesis", "score"]
    return [line.split("\t") for line in lines]


def assert_sacrebleu_says_the_same(scores: dict[str, float], file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """By the recipe of the README, which takes several targets of a source into account."""
    readme = (Path(evaluation_room.__file__).parent / "README.md").read_text(encoding="utf-8")
    found: dict[str, float] = {}
    monkeypatch.chdir(file.parent)
    exec(readme.split("```python\n")[1].split("```")[0].replace("test.tsv", file.name), found)
    assert {name: found[name] for name in ("bleu", "chrf")} == {name: scores[name] for name in ("bleu", "chrf")}


def test_scores_are_sacrebleus_own_on_the_file_that_was_written(
    small_run: Path, several_targets: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for run in (small_run, several_targets):
        report = json.loads((run / "evaluation" / "test.json").read_text(encoding="utf-8"))
        assert_sacrebleu_says_the_same(report["scores"], run / "evaluation" / "test.tsv", monkeypatch)
    assert report["sources"] < report["pairs"]
    rows = rows_of(small_run / "evaluation" / "test.tsv")
    scores = json.loads((small_run / "evaluation" / "test.json").read_text(encoding="utf-8"))["scores"]
    assert scores["exact_match"] == sum(row[1] == row[2] for row in rows) / len(rows)


def test_what_is_scored_is_what_is_written_also_with_tabs_and_line_ends_in_a_text(
    trained: TranslationModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pairs = [Pair("a b c", "a\tb\r\nc d"), Pair("d", "\u2028d \u0085"), Pair("e f", "Ärger <pad> e f")]
    evaluation = evaluate_pairs(trained, pairs)
    _, file = evaluation.write(tmp_path, "new")
    assert [row[1] for row in rows_of(file)] == evaluation.references == ["a b c d", "d", pairs[2].target]
    assert_sacrebleu_says_the_same(evaluation.scores, file, monkeypatch)
    monkeypatch.setattr(trained.target_tokenizer, "decode", lambda ids: "a\tb\n")  # as a char model may
    monkeypatch.setattr(trained.target_tokenizer, "writable", lambda text: text)
    evaluation = evaluate_pairs(trained, [Pair("a b", "a\tb\n")])
    assert rows_of(evaluation.write(tmp_path, "tab")[1])[0][1:3] == ["a b ", "a b "]
    assert evaluation.scores["exact_match"] == 1.0


def test_a_source_with_several_targets_is_translated_once_and_scored_against_all(
    trained: TranslationModel, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = evaluate_pairs(trained, [Pair("a b c", "x")]).texts[0]
    pairs = [Pair("a b c", "b b b b b b b b"), Pair("d e f", "d e f g"), Pair("a b c", text)]
    evaluation = evaluate_pairs(trained, pairs)
    assert evaluation.details["pairs"] == 3 and evaluation.details["sources"] == 2 == len(evaluation.counts)
    assert evaluation.texts[0] == evaluation.texts[2] == text and evaluation.scores["exact_match"] >= 0.5
    _, file = evaluation.write(tmp_path, "new")
    assert len(rows_of(file)) == 3 and "nrefs:var" in evaluation.details["signatures"]["bleu"]
    assert_sacrebleu_says_the_same(evaluation.scores, file, monkeypatch)
    alone = [evaluate_pairs(trained, [pair]).counts.columns["loss"] for pair in pairs]
    assert evaluation.scores["loss"] == pytest.approx(sum(alone)[0, 0] / sum(alone)[0, 1], rel=1e-4)
    evaluation = evaluate_pairs(trained, [pairs[0], pairs[1], pairs[0]])  # twice the same is no second target
    assert evaluation.details["sources"] == 3 and "nrefs:1" in evaluation.details["signatures"]["bleu"]


def test_an_evaluation_explains_itself_in_plain_values(evaluated: tuple[Evaluation, list[Path]]) -> None:
    evaluation, files = evaluated
    report, rows = json.loads(files[0].read_text(encoding="utf-8")), rows_of(files[1])
    assert report["scores"] == evaluation.scores
    assert list(report["scores"]) == [
        "loss", "perplexity", "token_accuracy", "target_log_prob", "exact_match", "bleu", "chrf", "cer", "wer", "ser",
        "alignment_error_rate",
    ]  # fmt: skip
    for name, (low, high) in report["intervals"].items():
        assert low <= report["scores"][name] <= high
    for bins in (report["by_source_length"], report["by_target_length"]):
        assert sum(one["sentences"] for one in bins) == 30
    kinds = report["errors"]["kinds"].values()
    assert report["errors"]["wrong"] == sum(kind["outputs"] for kind in kinds)
    assert all(rows[line - 2][1] != rows[line - 2][2] for kind in kinds for line in kind["lines"])
    assert report["confidence"]["curve"][-1]["exact_match"] == report["scores"]["exact_match"]
    assert report["bleu_tokenizer"]["name"] == "13a"
    baselines = report["baselines"]
    assert baselines["copy"]["exact_match"] == 1.0  # the task is to copy
    assert baselines["nearest"]["ser"] < baselines["most_frequent"]["ser"]
    assert baselines["searched"] == baselines["training_pairs"] == 300


def validations(run: Path) -> dict[int, dict[str, float]]:
    with (run / "metrics.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["val/loss"]]
    return {int(row["step"]): {n[4:]: float(value) for n, value in row.items() if n[:4] == "val/"} for row in rows}


def test_a_validation_gives_the_numbers_of_an_evaluation_to_the_last_digit_and_chooses_by_them(
    small_run: Path, several_targets: Path, tmp_path: Path
) -> None:
    for run in (small_run, several_targets):
        options = EvaluateOptions(ckpt=str(run), split=Split.valid, output=str(tmp_path), baselines=False)
        evaluation, _ = evaluate(options)
        evaluation.scores.pop("alignment_error_rate", None)
        assert validations(run)[evaluation.details["step"]] == evaluation.scores
    assert "nrefs:var" in evaluation.details["signatures"]["bleu"]
    best = json.loads((several_targets / "result.json").read_text(encoding="utf-8"))["best"]
    rates = {step: (scores["cer"], scores["loss"]) for step, scores in validations(several_targets).items()}
    assert best["metric"] == "cer" and best["step"] == min(rates, key=lambda step: rates[step])


def test_white_space_that_a_word_model_cannot_write_is_no_error(trained: TranslationModel) -> None:
    text = evaluate_pairs(trained, [Pair("a b c", "x")]).texts[0]
    spaced = f"\u00a0{text.replace(' ', '  ')} "
    evaluation = evaluate_pairs(trained, [Pair("a b c", spaced), Pair("d e", "unknown")], train=[Pair("a b c", spaced)])
    assert evaluation.scores["exact_match"] == 0.5 == evaluation.details["baselines"]["nearest"]["exact_match"]
    errors, both = evaluation.details["errors"], evaluation.details["forced_and_free"]
    assert [kind["lines"] for kind in errors["kinds"].values() if kind["outputs"]] == [[3]] and errors["wrong"] == 1
    assert both["exact_match"] == {"forced": 0.5, "free": 0.5, "gap": 0}  # they agree for greedy outputs
    tokens = both["token_accuracy"]
    assert tokens["forced"] == evaluation.scores["token_accuracy"]
    assert tokens["gap"] == pytest.approx(tokens["forced"] - tokens["free"])


def test_a_score_is_what_the_loss_is_made_of(
    trained: TranslationModel, evaluated: tuple[Evaluation, list[Path]]
) -> None:
    evaluation, _ = evaluated
    scores = trained.score([pair[:2] for pair in evaluation.pairs])
    total, tokens = evaluation.counts.columns["loss"].sum(0)
    assert sum(scores) == pytest.approx(-evaluation.scores["loss"] * tokens, rel=1e-12) and total == -sum(scores)
    assert evaluation.scores["target_log_prob"] == pytest.approx(sum(scores) / len(evaluation.pairs), rel=1e-12)
    found = zip(evaluation.pairs, evaluation.texts, evaluation.hypotheses, strict=True)
    ended = [(pair.source, text, own.score) for pair, text, own in found if own.ended]
    assert trained.score([one[:2] for one in ended]) == pytest.approx([score for *_, score in ended], abs=1e-4)


def other_data(run: Path, folder: Path, *lines: str, name: str = "new.tsv") -> EvaluateOptions:
    (folder / name).write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    task = OtherData(str(folder / name))
    return EvaluateOptions(ckpt=str(run), output=str(folder / "scores"), baselines=False, task=task)


def test_the_files_have_the_name_of_the_split_or_of_the_other_data_but_never_that_of_the_runs_own_scores(
    small_run: Path, tmp_path: Path
) -> None:
    options = EvaluateOptions(ckpt=str(small_run), output=str(tmp_path), split=Split.ood, baselines=False)
    evaluation, files = evaluate(options)
    assert [file.name for file in files] == ["ood.json", "ood.tsv", "ood.html"]
    assert "12 to 24 letters" in evaluation.notes[-1]
    _, files = evaluate(other_data(small_run, tmp_path, "a b\ta b", name="test.tsv"))
    assert [file.name for file in files] == ["other-test.json", "other-test.tsv", "other-test.html"]


WORDS = [(f"a{n} b", f"b a{n}") for n in range(40)]


def csv_with_swapped_columns(name: str, pairs: list[tuple[str, str]]) -> str:
    Path(f"{name}.csv").write_text("sv,en\n\n" + "\n\n".join(f"{target},{source}" for source, target in pairs))
    return f"{name}.csv"


def parallel_gz(name: str, pairs: list[tuple[str, str]]) -> str:
    for side, suffix in enumerate(("src", "tgt")):
        lines = "".join(f"{pair[side]}\n" for pair in [*pairs[:7], ("", ""), *pairs[7:]])
        Path(f"{name}.{suffix}.gz").write_bytes(gzip.compress(lines.encode("utf-8")))
    return f"[{name}.src.gz,{name}.tgt.gz]"


@pytest.mark.parametrize(
    ("write", "keys", "blank"),
    [
        (csv_with_swapped_columns, ["task.source=en", "task.target=sv"], "new.csv: 7 blank lines skipped"),
        (parallel_gz, [], "new.src.gz and new.tgt.gz: 1 blank line skipped"),
    ],
)
def test_another_file_of_the_training_files_shape_is_scored_with_no_more_typed_than_its_name(
    write: Callable[[str, list[tuple[str, str]]], str],
    keys: list[str],
    blank: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    train, new = write("train", WORDS), write("new", WORDS[:7])
    tiny = ["model.d_model=16", "model.d_ff=16", "trainer.max_steps=2", "attention_log.enabled=false", "logger=none"]
    train_run(compose_options("train", ["task=files", f"task.train={train}", *keys, "run_dir=../run", *tiny]))
    capsys.readouterr()
    command(compose_options("evaluate", ["../run", f"task.test={new}", "output=../scores", "report=false"]))
    report = json.loads((tmp_path / "scores" / "new.json").read_text())
    assert report["pairs"] == 7 and blank in report["notes"]
    shown = capsys.readouterr().out
    assert shown.startswith("new: 7 pairs, ") and blank in " ".join(shown.split())
    assert [(row[0], row[1]) for row in rows_of(tmp_path / "scores" / "new.tsv")] == WORDS[:7]
    if write is csv_with_swapped_columns:
        assert seq2see.load("../run").evaluate("new.csv").scores == pytest.approx(report["scores"])
    monkeypatch.chdir(tmp_path)  # the paths of its training files are whole
    for split, number in (("train", 32), ("test", 4)):
        typed = ["ckpt=run", "report=false", "baselines=false", f"split={split}"]
        assert len(evaluate(compose_options("evaluate", typed))[0].pairs) == number
    Path("here", train.strip("[").split(",")[0]).unlink()
    evaluation, _ = evaluate(compose_options("evaluate", ["ckpt=run", "report=false"]))
    assert "baselines" not in evaluation.details and "the training pairs are not at hand" in evaluation.notes[-1]


def test_a_run_that_cannot_be_written_to_still_gives_its_scores(small_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    shutil.copytree(small_run, run, ignore=shutil.ignore_patterns("evaluation", "attention*", "tensorboard"))
    (run / "evaluation").write_text("in the way", encoding="utf-8")
    evaluation, files = evaluate(EvaluateOptions(ckpt=str(run), baselines=False))
    assert evaluation.scores and files == []
    assert evaluation.notes[-1].startswith("nothing written: ") and "set output=FOLDER" in evaluation.notes[-1]
    for ckpt in (str(run), [str(run), str(run)]):
        with pytest.raises(ValueError, match="output: .* cannot be written .*set output to another folder"):
            command(EvaluateOptions(ckpt=ckpt, output=str(run / "evaluation"), baselines=False))


@pytest.mark.parametrize(
    ("ckpt", "message"),
    [(None, "ckpt is missing"), ([], "ckpt is missing"), (["nowhere", "else"], "ckpt: nowhere does not exist")],
)
def test_a_missing_checkpoint_is_refused(ckpt: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        command(EvaluateOptions(ckpt=ckpt))


def test_several_checkpoints_are_compared_on_the_same_pairs_and_say_how_a_file_was_read(
    small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    both = [str(small_run), str(small_run / "checkpoints" / "last.ckpt")]
    evaluations, comparison, files = evaluate_several(EvaluateOptions(ckpt=both, output=str(tmp_path)))
    assert comparison["checkpoints"] == both and comparison["pairs"] == 30
    assert comparison["scores"]["bleu"] == [evaluation.scores["bleu"] for evaluation in evaluations]
    shown = {file.relative_to(tmp_path).as_posix() for file in files}
    assert shown == {"1/test.json", "1/test.tsv", "2/test.json", "2/test.tsv", "test.json"}
    assert json.loads((tmp_path / "test.json").read_text(encoding="utf-8")) == comparison
    options = other_data(small_run, tmp_path, "a b\ta b", "", "c\tc")
    options.ckpt, options.output = [both[0], both[0]], None
    evaluations, comparison, files = evaluate_several(options)
    assert files == [] and all(test["p"] == 1.0 for test in comparison["against_first"][0].values())
    assert comparison["pairs"] == 2 and comparison["notes"] == [f"{tmp_path / 'new.tsv'}: 1 blank line skipped"]
    assert comparison["notes"][0] in evaluations[1].notes
    sizes = iter([30, 29])
    monkeypatch.setattr(module, "pairs_of", lambda *args, run, notes: pairs_of(*args, run=run)[: next(sizes)])
    with pytest.raises(ValueError, match="other pairs .*29 pairs instead of 30.*set task.test=FILE"):
        evaluate_several(EvaluateOptions(ckpt=both))


def test_what_is_shown_fits_into_80_columns_and_is_said_once(
    small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    command(EvaluateOptions(ckpt=str(small_run), output="scores"))
    options = other_data(small_run, tmp_path, "a b\ta b", "", "c\tc")
    options.ckpt, options.output = [str(small_run / "checkpoints" / "last.ckpt"), str(small_run)], None
    command(options)
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines if str(tmp_path.parent) not in line and str(small_run) not in line)
    for part in (
        "95 % interval", "nearest", "teacher-forced", "most confident", "  attention flag", "tok:13a", "2 - 1",
        "scores/test.tsv", "scores/test.html", "nothing written",
    ):  # fmt: skip
        assert any(part in line for line in lines), part
    assert " ".join(" ".join(lines).split()).count("1 blank line skipped") == 1


@pytest.mark.slow
def test_a_trained_copy_model_is_right_told_and_free(tmp_path: Path) -> None:
    run = tmp_path / "copy"
    train_run(compose_options("train", ["task=copy", "attention_log.enabled=false", f"run_dir={run}"]))
    evaluation, _ = evaluate(EvaluateOptions(ckpt=str(run), baselines=False))
    for row in evaluation.details["forced_and_free"].values():
        assert row["forced"] >= 0.99 and row["free"] >= 0.99
