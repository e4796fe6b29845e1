"""Exit codes, messages, flags and multiruns of the real commands."""

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

from seq2see.commands import shell

SCRIPTS = Path(__file__).parents[2] / "scripts"
FULL = pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")


def command(name: str, *arguments: str, cwd: Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    script = [sys.executable, str(SCRIPTS / f"{name}.py"), *arguments]
    environment = {**os.environ, "PYTHONUTF8": "0", "COLUMNS": "80"}
    return subprocess.run(
        script, cwd=cwd, input=stdin, capture_output=True, text=True, encoding="utf-8", env=environment, timeout=240
    )


@pytest.fixture
def called(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The options of the jobs that were done, in the place of doing them."""
    options: list[Any] = []
    monkeypatch.setattr(shell, "_call", lambda _, job: options.append(job))
    monkeypatch.setattr(shell, "listen", lambda: None)
    return options


@pytest.mark.parametrize("typed", ["model.d_model=30 model.num_heads=4", "task=files task.train=missing.tsv"])
def test_a_users_mistake_exits_with_2_one_message_and_no_folder(typed: str, tmp_path: Path) -> None:
    done = command("train", *typed.split(), cwd=tmp_path)
    assert done.returncode == 2
    message = "missing.tsv" if "missing" in typed else "model.d_model (30) must be divisible by model.num_heads (4)"
    assert message in done.stderr and "Traceback" not in done.stderr and len(done.stderr.splitlines()) == 1
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", sorted(path.stem for path in SCRIPTS.glob("*.py")))
def test_help_shows_examples_first_and_loads_neither_torch_nor_hydra(name: str, tmp_path: Path) -> None:
    code = (
        f"import sys, runpy; sys.argv = ['{name}.py', '--help']\n"
        f"try: runpy.run_path({str(SCRIPTS / f'{name}.py')!r}, run_name='__main__')\n"
        "except SystemExit as end: assert end.code == 0\n"
        "assert not {'torch', 'hydra', 'lightning'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.index("Examples:") < done.stdout.index("python scripts/")
    assert max(map(len, done.stdout.splitlines())) <= 100


def test_hydras_own_flags_show_the_configuration_and_do_nothing(
    called: list[Any], capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own" / "task").mkdir(parents=True)
    (tmp_path / "own" / "task" / "ours.yaml").write_text("defaults:\n  - files\ntrain: pairs.tsv\n", encoding="utf-8")
    for typed, shown in (
        ("--cfg job model=tiny seed=3", "seed: 3\n"),
        ("seed=3 -c job -p seed", "3\n"),
        ("--config-dir own task=ours --cfg job --package task", "train: pairs.tsv"),
        ("--shell-completion install=bash", "complete"),
    ):
        assert shell.run("train", typed.split()) == 0
        assert shown in capsys.readouterr().out, typed
    assert "train_schema" in command("train", "--info", "defaults", cwd=tmp_path).stdout
    assert not called and [path.name for path in tmp_path.iterdir()] == ["own"]
    assert shell.run("train", ["task=copy", "run_dir=x/${hydra:runtime.choices.task}"]) == 0
    assert called[0].run_dir == "x/copy"


@pytest.mark.parametrize(
    ("typed", "places"),
    [
        ("train run_dir=three seed=range(2)", ["three/0", "three/1"]),
        ("evaluate ckpt=run output=scores decode.beam_size=1,4", ["scores/0", "scores/1"]),
        ("translate ckpt=run output=a.b/out.txt decode.beam_size=1,4", ["a.b/out-0.txt", "a.b/out-1.txt"]),
        ("attention ckpt=run output=maps.html kind=cross,encoder", ["maps-0.html", "maps-1.html"]),
        ("attention ckpt=run format=terminal kind=cross,encoder", [None, None]),
        ("data output=report.json task=glob(s*)", ["report-0.json", "report-1.json"]),
    ],
)
def test_each_job_of_a_multirun_writes_to_a_place_of_its_own(
    typed: str, places: list[str | None], called: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    name, *arguments = typed.split()
    assert shell.run(name, ["-m", *arguments]) == 0
    assert [getattr(options, "run_dir" if name == "train" else "output") for options in called] == places
    assert [path.name for path in tmp_path.rglob("*")] == (["three", "sweep.yaml"] if name == "train" else [])


def test_paths_and_what_a_run_begins_with_are_varied_too(
    called: list[Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert shell.run("train", ["-m", "task=files", "task.train=a b.tsv,[c.src,c.tgt],'d,e'", "run_dir=x/${seed}"]) == 0
    assert [options.task.train for options in called] == ["a b.tsv", ["c.src", "c.tgt"], "d,e"]
    assert called[2].run_dir == "x/0/2"
    for kind in ("copy", "sort"):
        Path(f"{kind}.yaml").write_text(f"task: {{kind: {kind}, max_length: 7}}\nseed: 1\n", encoding="utf-8")
    assert shell.run("train", ["-m", "config=copy.yaml,sort.yaml", "seed=2,3"]) == 0
    assert [(job.task.kind, job.task.max_length, job.seed) for job in called[3:]] == [
        ("copy", 7, 2), ("copy", 7, 3), ("sort", 7, 2), ("sort", 7, 3)
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (
            "evaluate ckpt=run decode.beam_size=1,4",
            "would write over each other, or over a run's own scores: add output=",
        ),
        (
            "attention ckpt=run kind=cross,encoder",
            "would write over each other, or over a run's own scores: add output=",
        ),
        ("train seed=1,-1", "seed (-1) must be 0 to"),
        ("train seed=0,${oc.env:NOT_THERE}", "Environment variable 'NOT_THERE' not found"),
    ],
)
def test_jobs_that_cannot_be_done_are_refused_before_the_first_one(
    typed: str, message: str, called: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    name, *arguments = typed.split()
    assert shell.run(name, ["-m", *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line and not called


def test_a_job_that_fails_does_not_stop_the_others_and_the_whole_exits_1(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    monkeypatch.chdir(tmp_path)
    done: list[int] = []

    def call(_: str, options: Any) -> None:
        if options.seed == 1:
            raise ValueError("bad luck")
        done.append(options.seed)

    monkeypatch.setattr(shell, "_call", call)
    monkeypatch.setattr(shell, "listen", lambda: None)
    assert shell.run("train", ["-m", "seed=0,1,2"]) == 1
    out, messages = capsys.readouterr()
    assert done == [0, 2] and "job 1 failed: bad luck\n" in messages and "Traceback" not in messages
    assert messages.endswith("train: 1 of 3 jobs failed\n") and "1 failed      seed=1: bad luck\n" in out
    (folder,) = (tmp_path / "outputs" / "sweep").iterdir()
    assert [path.name for path in folder.iterdir()] == ["sweep.yaml"]


def test_the_latest_run_is_named(small_run: Path, tmp_path: Path) -> None:
    shutil.copytree(small_run, tmp_path / "outputs" / "copy")
    done = command("translate", "ckpt=latest", cwd=tmp_path, stdin="a b\n")
    assert done.returncode == 0 and done.stderr.startswith("ckpt=latest: outputs/copy\n"), done.stderr


def test_a_run_in_a_folder_of_any_name_on_a_file_of_any_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    data = tmp_path / "数据 (1).tsv"
    data.write_text("".join(f"ä{a} {b}\t{b} 数{a}\n" for a in "abcdef" for b in "uvwxyz"), encoding="utf-8")
    typed = f"task.train={data.name}", "run_dir=it's [=]", "trainer.max_steps=4", "model.d_model=32"
    done = command("train", "task=files", *typed, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
    assert max(map(len, lines)) <= 80 and "Warning" not in done.stderr, max(lines, key=len)
    run = tmp_path / "it's [=]"
    assert (run / "result.json").is_file() and (run / "data" / "test.tsv").is_file()
    assert {path.name for path in tmp_path.iterdir()} == {data.name, run.name}
    data.unlink()
    assert command("evaluate", f"ckpt={run.name}", cwd=tmp_path).returncode == 0
    after = command("translate", f"ckpt={run.name}", cwd=tmp_path, stdin="a b\n\n\u2028x\r\nq")
    assert after.returncode == 0, after.stderr
    assert after.stdout.count("\n") == 4 and after.stdout.split("\n")[1] == ""


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_interrupting_a_run_exits_with_130_and_terminating_it_with_143(
    number: signal.Signals, code: int, tmp_path: Path, short_run: Callable[..., list[str]]
) -> None:
    script = [sys.executable, str(SCRIPTS / "train.py"), *short_run("run", "trainer.max_steps=9999")]
    process = subprocess.Popen(script, cwd=tmp_path, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    while "val loss" not in process.stderr.readline():
        assert process.poll() is None
    process.send_signal(number)
    process.communicate(timeout=180)
    assert process.returncode == code
    assert json.loads((tmp_path / "run" / "result.json").read_text())["status"] == "interrupted"


@FULL
def test_a_stream_that_is_closed_full_or_read_no_longer_is_told_in_one_line(small_run: Path, tmp_path: Path) -> None:
    (tmp_path / "in.txt").write_text("a b\n" * 3, encoding="utf-8")
    written = "its output cannot be written"
    for line, code, message in (
        ("train.py --help | true", 0, ""),
        ("train.py --help >/dev/full", 1, f"train: {written} (No space left on device)\n"),
        ("compare.py RUN >&-", 1, f"compare: {written} (Bad file descriptor)\n"),
        ("translate.py ckpt=RUN input=in.txt >/dev/full", 1, f"translate: {written} (No space left on device)\n"),
        ("translate.py ckpt=RUN <&-", 2, "translate: input: standard input cannot be read (Bad file descriptor)\n"),
        ("translate.py ckpt=RUN input=in.txt output=out.txt <&- >&- 2>&-", 0, ""),
    ):
        typed = f'set -o pipefail; "{sys.executable}" "{SCRIPTS}"/{line.replace("RUN", f"{small_run}")}'
        done = subprocess.run(["bash", "-c", typed], cwd=tmp_path, capture_output=True, text=True, timeout=120)
        assert (done.returncode, done.stderr) == (code, message), line
    assert (tmp_path / "out.txt").read_text(encoding="utf-8").count("\n") == 3


@FULL
def test_a_run_is_whole_though_nobody_takes_what_it_says(tmp_path: Path, short_run: Callable[..., list[str]]) -> None:
    typed = f'"{sys.executable}" "{SCRIPTS}/train.py" "$@" <&- >/dev/full 2>/dev/full'
    overrides = short_run("run", "trainer.max_steps=2", "attention_log.enabled=false")
    done = subprocess.run(["bash", "-c", typed, "bash", *overrides], cwd=tmp_path, timeout=120)
    assert done.returncode == 0
    assert json.loads((tmp_path / "run" / "result.json").read_text())["status"] == "completed"
    assert "inspect " in (tmp_path / "run" / "train.log").read_text(encoding="utf-8")
