"""Exit codes and messages of the real commands."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from seq2see.runs import shell

SCRIPTS = Path(__file__).parents[2] / "scripts"


def command(name: str, *arguments: str, cwd: Path, stdin: str | None = None) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(SCRIPTS / f"{name}.py"), *arguments],
        cwd=cwd,
        input=stdin,
        capture_output=True,
        text=True,
        encoding="utf-8",
        env={**os.environ, "PYTHONUTF8": "0", "COLUMNS": "80"},
        timeout=240,
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["model.d_model=30", "model.num_heads=4"], "model.d_model (30) must be divisible by model.num_heads (4)"),
        (["model.position=ropee"], "model.position=ropee"),
        (["optim.lr=fast"], "optim.lr=fast"),
        (["task=files", "task.train=missing.tsv"], "missing.tsv"),
    ],
)
def test_a_users_mistake_exits_with_2_one_message_and_no_folder(
    arguments: list[str], message: str, tmp_path: Path
) -> None:
    done = command("train", *arguments, cwd=tmp_path)
    assert done.returncode == 2
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


def test_a_run_in_a_folder_of_any_name_on_a_file_of_any_name(tmp_path: Path) -> None:
    data = tmp_path / "数据 (1).tsv"
    data.write_text("".join(f"{a} {b}\t{b} {a}\n" for a in "abcdef" for b in "uvwxyz"), encoding="utf-8")
    done = command(
        "train",
        "task=files",
        f"task.train={data.name}",
        "run_dir=it's [a] run=1",
        "trainer.max_steps=4",
        "model.d_model=32",
        cwd=tmp_path,
    )
    assert done.returncode == 0, done.stderr
    run = tmp_path / "it's [a] run=1"
    assert (run / "result.json").is_file() and (run / "data" / "test.tsv").is_file()
    assert not (tmp_path / "outputs").exists()
    data.unlink()
    for name, arguments, stdin in (
        ("evaluate", (f"ckpt={run.name}",), None),
        ("translate", (f"ckpt={run.name}",), "a b\n\n\u2028x\r\nq"),
    ):
        after = command(name, *arguments, cwd=tmp_path, stdin=stdin)
        assert after.returncode == 0, after.stderr
    assert after.stdout.count("\n") == 4 and after.stdout.split("\n")[1] == ""


def test_the_output_fits_into_80_columns_and_an_ascii_console(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, short_run: Callable[..., list[str]]
) -> None:
    monkeypatch.setenv("PYTHONIOENCODING", "ascii")
    data = tmp_path / "pairs.tsv"
    data.write_text("".join(f"ä{a}{b}\t数{b}{a}\n" for a in "abcdef" for b in "uvwxyz"), encoding="utf-8")
    done = command("train", "task=files", "task.train=pairs.tsv", *short_run("run")[4:], cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
    assert max(map(len, lines)) <= 80, max(lines, key=len)
    assert "Warning" not in done.stderr


def test_interrupting_a_run_exits_with_130_and_terminating_it_with_143(tmp_path: Path) -> None:
    for number, (name, code) in {signal.SIGINT: ("int", 130), signal.SIGTERM: ("term", 143)}.items():
        process = subprocess.Popen(
            [
                sys.executable,
                str(SCRIPTS / "train.py"),
                "task=copy",
                "trainer.val_check_interval=20",
                f"run_dir={name}",
            ],
            cwd=tmp_path,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stderr is not None
        while "val loss" not in process.stderr.readline():
            assert process.poll() is None
        process.send_signal(number)
        process.communicate(timeout=180)
        assert process.returncode == code
        assert json.loads((tmp_path / name / "result.json").read_text())["status"] == "interrupted"


@pytest.mark.parametrize(
    ("name", "arguments", "places"),
    [
        ("train", ["run_dir=three", "seed=0,1"], ["three/0", "three/1"]),
        ("train", ["seed=0,1"], [None, None]),
        ("evaluate", ["ckpt=run", "output=scores", "decode.beam_size=1,4"], ["scores/0", "scores/1"]),
        ("translate", ["ckpt=run", "output=a.b/out.txt", "decode.beam_size=1,4"], ["a.b/out-0.txt", "a.b/out-1.txt"]),
        ("attention", ["ckpt=run", "output=maps.html", "kind=cross,encoder"], ["maps-0.html", "maps-1.html"]),
        ("attention", ["ckpt=run", "format=terminal", "kind=cross,encoder"], [None, None]),
        ("data", ["output=report.json", "task=copy,sort"], ["report-0.json", "report-1.json"]),
    ],
)
def test_each_job_of_a_multirun_writes_to_a_place_of_its_own(
    name: str, arguments: list[str], places: list[str | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    called = []
    monkeypatch.setattr(shell, "_call", lambda _, options: called.append(options))
    monkeypatch.setattr(shell, "listen", lambda: None)
    assert shell.run(name, ["-m", *arguments]) == 0
    assert [getattr(options, "run_dir" if name == "train" else "output") for options in called] == places


@pytest.mark.parametrize(
    ("arguments", "place"),
    [(["evaluate", "decode.beam_size=1,4"], "output=FOLDER"), (["attention", "kind=cross,encoder"], "output=FILE")],
)
def test_jobs_that_would_write_over_each_other_are_refused(
    arguments: list[str], place: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(shell, "listen", lambda: None)
    name, swept = arguments
    assert shell.run(name, ["-m", "ckpt=run", swept]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert "the jobs would write over each other" in line and line.endswith(f"add {place}")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
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


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device that is always full")
def test_a_run_is_whole_though_nobody_takes_what_it_says(tmp_path: Path, short_run: Callable[..., list[str]]) -> None:
    typed = f'"{sys.executable}" "{SCRIPTS}/train.py" "$@" <&- >/dev/full 2>/dev/full'
    overrides = short_run("run", "trainer.max_steps=2", "attention_log.enabled=false")
    done = subprocess.run(["bash", "-c", typed, "bash", *overrides], cwd=tmp_path, timeout=120)
    assert done.returncode == 0
    assert json.loads((tmp_path / "run" / "result.json").read_text())["status"] == "completed"
    assert "inspect " in (tmp_path / "run" / "train.log").read_text(encoding="utf-8")
