"""A finished run's files, and the runs of a sweep."""

import json
import shutil
from pathlib import Path

import pytest

from seq2see.runs.finished import finished_runs, read_run


@pytest.fixture
def sweep(small_run: Path, tmp_path: Path) -> Path:
    """A folder with the jobs 0, 2 and 10, and something else."""
    for number in (0, 2, 10):
        shutil.copytree(small_run, tmp_path / str(number))
    (tmp_path / "notes").mkdir()
    return tmp_path


def test_a_sweep_is_its_runs_in_the_order_of_their_numbers(sweep: Path) -> None:
    runs, notes = finished_runs([sweep])
    assert [run.name for run in runs] == ["0", "2", "10"] and not notes


def test_a_run_that_is_named_twice_counts_once(sweep: Path) -> None:
    runs, _ = finished_runs([sweep / "2", sweep, str(sweep / "2")])
    assert [run.name for run in runs] == ["2", "0", "10"]


def test_what_is_not_completed_is_left_out_of_a_sweep_and_refused_alone(sweep: Path) -> None:
    result = json.loads((sweep / "2" / "result.json").read_text(encoding="utf-8"))
    (sweep / "2" / "result.json").write_text(json.dumps(result | {"status": "failed"}), encoding="utf-8")
    (sweep / "10" / "result.json").unlink()
    runs, notes = finished_runs([sweep])
    assert [run.name for run in runs] == ["0"]
    assert ["2: this run is failed" in notes[0], "10: not a run folder" in notes[1]] == [True, True]
    with pytest.raises(ValueError, match="this run is failed"):
        finished_runs([sweep / "2"])
    (sweep / "0" / "config.yaml").write_text("[", encoding="utf-8")
    with pytest.raises(ValueError, match="none of the 3 runs in it is completed"):
        finished_runs([sweep])


def test_metrics_are_columns_with_none_where_there_is_no_number(small_run: Path, tmp_path: Path) -> None:
    shutil.copytree(small_run, tmp_path / "run")
    run = read_run(tmp_path / "run")
    metrics = run.metrics()
    assert metrics["step"][-1] == 12 and metrics["val/loss"][-1] is not None
    assert len({len(column) for column in metrics.values()}) == 1
    file = tmp_path / "run" / "metrics.csv"
    file.write_text("step,val/loss\n1,\n2,nan\n3,0.5\n", encoding="utf-8")
    assert run.metrics() == {"step": [1, 2, 3], "val/loss": [None, None, 0.5]}
    file.write_text("step,val/loss\n1,x\n", encoding="utf-8")
    with pytest.raises(ValueError, match="metrics.csv: is damaged"):
        run.metrics()
    file.unlink()
    assert run.metrics() == {}


def test_items_are_the_test_sources_with_all_their_targets(small_run: Path, tmp_path: Path) -> None:
    shutil.copytree(small_run, tmp_path / "run")
    run = read_run(tmp_path / "run")
    assert len(run.items()) == 30
    file = tmp_path / "run" / "evaluation" / "test.tsv"
    head = "source\treference\thypothesis\tscore\n"
    file.write_text(head + "a\tb\tx\t-1\nc\td\ty\t-1\na\te\tx\t-1\na\tb\tx\t-1\n", encoding="utf-8")
    assert run.items() == [("a", ["b", "e"], "x"), ("c", ["d"], "y")]
    file.write_text(head + "a\tb\tx\t-1\na\tb\tx\t-1\n", encoding="utf-8")
    assert run.items() == [("a", ["b"], "x")] * 2
    file.write_text(head + "a\n", encoding="utf-8")
    with pytest.raises(ValueError, match="test.tsv: is damaged"):
        run.items()


def test_seconds_follow_from_the_speed_between_the_rows_and_the_cost_of_the_whole(
    small_run: Path, tmp_path: Path
) -> None:
    shutil.copytree(small_run, tmp_path / "run")
    result, file = json.loads((small_run / "result.json").read_text(encoding="utf-8")), tmp_path / "run" / "metrics.csv"
    cost = {"step_flops": 6.0, "flops_per_second": 4.0, "peak_memory": None}  # 1.5 seconds a step
    (tmp_path / "run" / "result.json").write_text(json.dumps(result | {"cost": cost}), encoding="utf-8")
    file.write_text("step,train/tokens_per_second,val/loss\n2,100,\n3,,1\n4,50,\n8,,2\n", encoding="utf-8")
    run = read_run(tmp_path / "run")
    # 2 steps at 100, and 6 at 50: 14 parts of 12 seconds
    assert run.seconds() == pytest.approx([12 * part / 14 for part in (2, 4, 6, 14)])
    assert run.cost() == {"step_flops": 6.0, "flops_per_second": 4.0}
    (tmp_path / "run" / "result.json").write_text(json.dumps(result | {"cost": {}}), encoding="utf-8")
    assert read_run(tmp_path / "run").seconds() == [None] * 4
