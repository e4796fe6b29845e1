"""Studies: several runs, one table, one chart."""

import json
from dataclasses import replace
from pathlib import Path
from xml.etree import ElementTree

import pytest

from seq2see.options import LettersOptions, Position, Study, TrainOptions
from seq2see.runs.config import compose_options
from seq2see.runs.studies import claims, positions, run_study
from seq2see.runs.studies.chart import Panel, chart
from seq2see.runs.train import train_run


def small(folder: Path, study: str, *more: str) -> TrainOptions:
    sizes = ["model.d_ff=32", "model.num_encoder_layers=1", "model.num_decoder_layers=1", "data.batch_size=16"]
    return compose_options("train", [f"experiment={study}", f"run_dir={folder}", "trainer.max_steps=2", *sizes, *more])


@pytest.fixture
def few_positions(monkeypatch: pytest.MonkeyPatch) -> None:
    few = LettersOptions(kind="reverse", train_size=50, valid_size=5, test_size=5, ood_size=4, max_length=5)
    monkeypatch.setattr(positions, "TASKS", {"reverse": few})
    monkeypatch.setattr(positions, "SCHEMES", {kind: {"position": Position(kind)} for kind in ("rope", "none")})
    monkeypatch.setattr(positions, "NUM_SEEDS", 2)


def test_every_recipe_of_a_study_names_one_that_exists() -> None:
    for study in Study:
        assert compose_options("train", [f"experiment={study.value}"]).study is study


def test_positions_vary_the_scheme_the_task_and_the_seed_and_nothing_else() -> None:
    jobs = positions.jobs(TrainOptions(seed=5))
    assert len({job.name for job in jobs}) == len(jobs) == 2 * len(positions.SCHEMES) * 3
    assert {job.options.seed for job in jobs} == {5, 6, 7}
    assert {job.options.model.position for job in jobs} == set(Position)
    first = jobs[0].options
    for job in jobs:
        model = replace(
            first.model,
            **{
                name: getattr(job.options.model, name) for name in ("position", "cross_position", "randomize_positions")
            },
        )
        assert replace(first, task=job.options.task, model=model, seed=job.options.seed) == job.options


@pytest.mark.usefixtures("few_positions")
def test_a_study_leaves_its_runs_and_one_table_over_them(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    report = run_study(small(tmp_path / "study", "positions"), train_run)
    assert report.text in capsys.readouterr().out
    assert (tmp_path / "study" / "study.md").read_text(encoding="utf-8") == report.text
    numbers = json.loads((tmp_path / "study" / "study.json").read_text(encoding="utf-8"))
    assert len(numbers["reverse"]["rope"]["exact_match"]) == 2
    assert (tmp_path / "study" / "reverse-none-1" / "checkpoints" / "best.ckpt").is_file()
    assert max(map(len, report.text.splitlines())) <= 80


@pytest.mark.usefixtures("few_positions")
def test_an_interrupted_study_goes_on_and_names_what_is_not_complete(tmp_path: Path) -> None:
    options = small(tmp_path, "positions")
    run_study(options, train_run)
    whole = tmp_path / "reverse-rope-0" / "result.json"
    before = whole.stat().st_mtime_ns
    result = tmp_path / "reverse-none-0" / "result.json"
    result.write_text(result.read_text(encoding="utf-8").replace("completed", "interrupted"), encoding="utf-8")
    report = run_study(options, train_run)
    assert whole.stat().st_mtime_ns == before
    assert "left out: reverse-none-0" in report.text


def test_a_folder_of_something_else_is_refused(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("mine", encoding="utf-8")
    with pytest.raises(ValueError, match="not empty"):
        run_study(small(tmp_path, "positions"), train_run)


@pytest.mark.slow
def test_claims_shows_reach_scaling_and_heads(tmp_path: Path) -> None:
    report = run_study(small(tmp_path / "claims", "claims"), train_run)
    for word in ("Reach", "2 tokens to each side", "Scaling", "head width", "Heads", "encoder", "cross"):
        assert word in report.text
    assert report.chart is not None
    assert len(ElementTree.fromstring(report.chart).findall(".//{*}polyline")) >= 9
    assert max(map(len, report.text.splitlines())) <= 80


def test_without_the_scale_a_wide_head_is_saturated_and_its_gradient_gone() -> None:
    for width in claims.CALL_WIDTHS:
        keys, gradient = claims.one_call(width, scaled=True)
        assert keys > 35 and gradient > 0.1
    keys, gradient = claims.one_call(1024, scaled=False)
    assert keys < 1.1 and gradient < 0.001


def test_a_chart_draws_each_line_with_its_name_and_escapes_it() -> None:
    lines = {"<a> & b": [(1, 0.5), (4, 0.25), (16, float("nan"))], "c": [(1, 2.0), (16, 1.0)]}
    document = ElementTree.fromstring(chart([Panel("<title>", "x", lines, log_x=True), Panel("two", "x", {})]))
    texts = [element.text for element in document.iter() if element.tag.endswith("text")]
    assert {"<a> & b", "c", "<title>", "two"} <= set(texts)
    assert len(document.findall(".//{*}polyline")) == 2
