"""Sweeps: each job in a folder of its own, what is missing done later, by several processes and by Optuna."""

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

from seq2see.commands import shell
from seq2see.commands.sweep import Work
from seq2see.runs.config import hydra_main

SCRIPT = Path(__file__).parents[2] / "scripts" / "train.py"
Overrides = Callable[..., list[str]]
OPTUNA = "hydra/sweeper=optuna", "optim.lr=tag(log,interval(1e-4,1e-2))", "hydra.sweeper.n_trials=8"


def train(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    script = [sys.executable, str(SCRIPT), "-m", *arguments]
    return subprocess.run(script, cwd=cwd, capture_output=True, text=True, encoding="utf-8", timeout=300)


def statuses(folder: Path) -> list[str]:
    return [json.loads(file.read_text())["status"] for file in sorted(folder.glob("*/result.json"))]


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Any]:
    """The options of the jobs that were done; a job only leaves a result, and one with seed=13 fails."""

    def call(_: str, options: Any) -> None:
        done.append(options)
        if options.seed == 13:
            raise ValueError("bad luck")
        folder = Path(options.run_dir)
        folder.mkdir(parents=True)
        value = 1 - abs((options.optim.lr or 0) - 0.004)
        result = {"status": "completed", "steps": 1, "seconds": 1, "test": {}}
        best = {"step": 1, "metric": "exact_match", "value": value}
        (folder / "result.json").write_text(json.dumps(result | {"best": best}))
        return type("Result", (), {"best": best})  # pyright: ignore

    done: list[Any] = []
    monkeypatch.setattr(shell, "_call", call)
    monkeypatch.setattr(shell, "listen", lambda: None)
    monkeypatch.chdir(tmp_path)
    return done


def test_what_was_varied_and_where_each_job_lies_stands_in_sweep_yaml(called: list[Any], tmp_path: Path) -> None:
    assert shell.run("train", ["-m", "seed=1,2", "task.train=a b.tsv,[c,d]", "task=files", "run_dir=it's"]) == 0
    sweep = yaml.safe_load((tmp_path / "it's" / "sweep.yaml").read_text(encoding="utf-8"))
    assert sweep["varied"] == {"seed": "1,2", "task.train": "'a b.tsv',['c','d']"} and sweep["fixed"] == {
        "task": "files"
    }
    assert [(job["number"], job["folder"], job["overrides"][0]) for job in sweep["jobs"]] == [
        (0, "0", "seed=1"), (1, "1", "seed=1"), (2, "2", "seed=2"), (3, "3", "seed=2")
    ]  # fmt: skip
    assert [options.task.train for options in called[:2]] == ["a b.tsv", ["c", "d"]]


def test_a_repeated_sweep_does_only_what_is_missing_and_prints_the_best(
    called: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    typed = ["-m", "seed=3,13,4", "optim.lr=1e-3", "run_dir=x"]
    assert shell.run("train", typed) == 1
    assert shell.run("train", typed) == 2
    assert "x holds a sweep already: add resume=auto" in capsys.readouterr().err
    shutil.rmtree("x/2")
    called.clear()
    assert shell.run("train", [*typed, "resume=auto"]) == 1
    out, err = capsys.readouterr()
    assert [options.run_dir for options in called] == ["x/1", "x/2"]
    assert "job 0 is complete: x/0\n" in err and "1 failed      seed=13: bad luck\n" in out
    assert "python scripts/train.py config=x/" in out and max(map(len, out.splitlines())) <= 80
    assert shell.run("train", ["-m", "seed=3,13,4", "optim.lr=2e-3", "run_dir=x", "resume=auto"]) == 2
    assert "x holds a sweep with optim.lr=1e-3, and this one has optim.lr=2e-3" in capsys.readouterr().err


def test_a_folder_with_other_things_and_one_that_none_is_around_are_refused(
    called: list[Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "x" / "1").mkdir(parents=True)
    (tmp_path / "x" / "1" / "mine.txt").touch()
    assert shell.run("train", ["-m", "seed=1,2", "run_dir=x"]) == 2
    assert "x/1 is not empty" in capsys.readouterr().err
    assert shell.run("train", ["-m", "seed=1,2", "run_dir=${seed}"]) == 2
    assert "the jobs of a sweep lie in one folder" in capsys.readouterr().err and not called


def test_optuna_does_so_many_trials_in_all_and_the_failed_one_is_told(
    called: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    pytest.importorskip("optuna")
    typed = ["-m", *OPTUNA, "model.d_model=choice(32,30)", "model.num_heads=4", "run_dir=x"]
    typed += ["training.select=exact_match", "hydra.sweeper.n_trials=4"]
    assert shell.run("train", typed) == 1
    out = capsys.readouterr().out
    assert 0 < len(called) < 4
    assert f"{len(called)} of 4 jobs completed" in out and "failed" in out
    rates = [options.optim.lr for options in called]
    assert len(set(rates)) == len(rates) and all(1e-4 <= rate <= 1e-2 for rate in rates)
    done = len(called)
    assert shell.run("train", [*typed[:-1], "hydra.sweeper.n_trials=6", "resume=auto"]) == 1
    assert "of 6 jobs completed" in capsys.readouterr().out and done < len(called) <= done + 2
    assert len({options.optim.lr for options in called}) == len(called)  # none is proposed again
    assert shell.run("train", [*typed, "resume=auto", "hydra.sweeper.sampler=luck"]) == 2
    assert "hydra.sweeper.sampler (luck) must be tpe or random" in capsys.readouterr().err


def test_the_jobs_of_another_sweeper_are_kept_apart_too(called: list[Any], tmp_path: Path) -> None:
    work = Work("train", shell._call)
    hydra_main("train", work, ["seed=1,2", "run_dir=x", "hydra/sweeper=basic", "--multirun"])
    assert [options.run_dir for options in called] == ["x/0", "x/1"]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("hydra/sweeper=optuna seed=1", "hydra/sweeper=optuna looks for the best training"),
        ("hydra/sweeper=optuna optim.lr=tag(log,interval(0,1))", "no value can be chosen from this"),
        ("hydra/sweeper=optuna optim.lr=interval(1e-4,1e-2) seed=-1", "seed (-1) must be"),
        ("hydra/sweeper=optuna optim.lr=interval(1e-4,1e-2) hydra.sweeper.n_trials=0", "n_trials (0) must be positive"),
        ("optim.lr=interval(1e-4,1e-2)", "does not support sweep type"),
        ("hydra/launcher=slum seed=1,2", "there is no such hydra/launcher; choose one of basic"),
    ],
)
def test_a_sweep_that_cannot_be_is_refused_with_one_message(
    typed: str, message: str, called: list[Any], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert shell.run("train", ["-m", "run_dir=x", *typed.split()]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line and not called and list(tmp_path.iterdir()) == []


def test_without_the_extra_sweeps_run_one_after_the_other_and_what_is_missing_is_named(tmp_path: Path) -> None:
    code = """
import sys
class Nothing:
    def find_spec(self, name, *_):
        if name.split(".")[0] == "hydra_plugins":
            raise ModuleNotFoundError(name)
sys.meta_path.insert(0, Nothing())
sys.modules["optuna"] = None
from seq2see.commands import shell
from seq2see.commands.sweep import Work
from seq2see.runs.config import hydra_main
shell._call = lambda command, options: None
for typed in sys.argv[1:]:
    print(shell.run("train", ["-m", "seed=1,2", "run_dir=x", *typed.split()]))
"""
    typed = ["hydra/launcher=joblib", "hydra/launcher=submitit_slurm", "hydra/sweeper=optuna", ""]
    done = subprocess.run([sys.executable, "-c", code, *typed], cwd=tmp_path, capture_output=True, text=True)
    assert [line for line in done.stdout.splitlines() if line in ("0", "1", "2")] == ["2", "2", "2", "0"], done.stderr
    messages = [f"train: {text}: its package is not installed: pip install 'seq2see[sweep]'" for text in typed[:3]]
    assert done.stderr.splitlines()[:3] == messages


@pytest.mark.slow
@pytest.mark.parametrize("launcher", [["joblib", "hydra.launcher.n_jobs=2"], ["submitit_local"]])
def test_jobs_in_other_processes_write_whole_runs_and_a_failed_one_is_listed(
    launcher: list[str], tmp_path: Path, short_run: Overrides
) -> None:
    pytest.importorskip("submitit")
    launcher = [f"hydra/launcher={launcher[0]}", *launcher[1:]]
    done = train(*launcher, *short_run("x"), "seed=0,1", "init=null,nowhere.ckpt", cwd=tmp_path)
    assert done.returncode == 2 and len(done.stderr.splitlines()) == 1
    done = train(*launcher, *short_run("x"), "seed=0,1", "optim.lr=1e-3,1e9", "optim.warmup_steps=0", cwd=tmp_path)
    assert done.returncode == 1 and "2 of 4 jobs completed" in done.stdout, done.stderr
    assert statuses(tmp_path / "x") == ["completed", "failed"] * 2 and "Traceback" not in done.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"x"}
    assert all(name in {"0", "1", "2", "3", "sweep.yaml", ".submitit"} for name in os.listdir(tmp_path / "x"))


@pytest.mark.slow
def test_a_sweep_that_is_interrupted_is_listed_and_goes_on_with_what_is_missing(
    tmp_path: Path, short_run: Overrides
) -> None:
    typed = [*short_run("x", "trainer.max_steps=60"), "seed=0,1,2"]
    script = [sys.executable, str(SCRIPT), "-m", *typed]
    process = subprocess.Popen(script, cwd=tmp_path, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    while "job 1:" not in process.stderr.readline():
        assert process.poll() is None
    while "val loss" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=120)
    assert process.returncode == 130 and "1 of 3 jobs completed" in out and "1 interrupted" in out
    done = train(*typed, "resume=auto", cwd=tmp_path)
    assert done.returncode == 0 and "3 of 3 jobs completed" in done.stdout, done.stderr
    assert "job 0 is complete: x/0\n" in done.stderr and "job 0:" not in done.stderr


@pytest.mark.slow
def test_a_study_that_is_killed_goes_on_to_the_trials_that_it_would_have_done(
    tmp_path: Path, short_run: Overrides
) -> None:
    pytest.importorskip("optuna")
    whole, killed = ([*OPTUNA, *short_run(folder, "trainer.max_steps=18")] for folder in ("whole", "killed"))
    assert train(*whole, cwd=tmp_path).returncode == 0
    script = [sys.executable, str(SCRIPT), "-m", *killed]
    process = subprocess.Popen(script, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    while "job 3:" not in process.stderr.readline():
        assert process.poll() is None
    process.kill()
    process.communicate()
    done = train(*killed, "resume=auto", cwd=tmp_path)
    assert done.returncode == 0 and "8 of 8 jobs completed" in done.stdout, done.stderr
    assert [f"job {number} is complete" in done.stderr for number in range(4)] == [True, True, True, False]
    sweeps = [yaml.safe_load((tmp_path / name / "sweep.yaml").read_text())["jobs"] for name in ("whole", "killed")]
    assert sweeps[0] == sweeps[1] and len(sweeps[0]) == 8
