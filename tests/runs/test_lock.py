"""One process at a time writes a run: with real processes, and real kills."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from seq2see.decoding import load
from seq2see.evaluation import evaluate_pairs
from seq2see.runs.folder import alone_in, write_evaluation
from seq2see.tasks import Pair

ROOT = Path(__file__).parents[2]
pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")


def test_of_two_processes_one_goes_on_and_the_other_is_told_who_does(tmp_path: Path, small_run: Path) -> None:
    folder = tmp_path / "run"
    shutil.copytree(small_run, folder)
    (folder / ".lock").touch()  # as one that was killed leaves it
    command = [sys.executable, str(ROOT / "scripts" / "train.py"), f"resume={folder}", "trainer.max_steps=100"]
    command += ["trainer.val_check_interval=50", "logger=csv"]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) for _ in range(2)]
    said = [process.communicate(timeout=120)[1] for process in both]

    assert sorted(process.returncode for process in both) == [0, 2], said
    loser = next(number for number, process in enumerate(both) if process.returncode == 2)
    winner = both[1 - loser]
    assert f"{folder} is being written by process {winner.pid} on " in said[loser]
    assert "wait until it has ended, or stop it" in said[loser] and "Traceback" not in said[loser]
    assert not (folder / ".lock").exists()
    steps = [line.split(",")[0] for line in (folder / "metrics.csv").read_text().splitlines()]
    assert len(steps) == len(set(steps))
    samples = [json.loads(line) for line in (folder / "samples.jsonl").read_text().splitlines()]
    assert len(samples) == len({(sample["step"], sample["source"]) for sample in samples})


def test_the_lock_is_free_as_soon_as_its_holder_is_killed_though_its_children_live(tmp_path: Path) -> None:
    holder = (
        "import os, sys, time, pathlib\n"
        "from seq2see.runs.folder import alone_in\n"
        "with alone_in(pathlib.Path(sys.argv[1])):\n"
        "    child = os.fork()\n"
        "    if child: print(child, flush=True)\n"
        "    time.sleep(60)\n"
    )
    process = subprocess.Popen([sys.executable, "-c", holder, str(tmp_path)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    child = int(process.stdout.readline())
    try:
        with pytest.raises(ValueError, match=f"is being written by process {process.pid} on .* since "):
            with alone_in(tmp_path):
                pass
        process.kill()
        process.wait()
        os.kill(child, 0)  # lives
        with alone_in(tmp_path):
            pass
        assert list(tmp_path.iterdir()) == []
    finally:
        os.kill(child, signal.SIGKILL)
        process.stdout.close()


def test_scores_are_not_written_while_another_process_writes_them(small_run: Path, tmp_path: Path) -> None:
    evaluation = evaluate_pairs(load(str(small_run)), [Pair("a b", "a b")])
    with alone_in(tmp_path), pytest.raises(ValueError, match="is being written by process"):
        write_evaluation(evaluation, tmp_path, "test")
    assert list(tmp_path.iterdir()) == []
    assert write_evaluation(evaluation, tmp_path, "test")


def test_a_folder_that_takes_no_lock_is_written_without_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def unable(self: object) -> None:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr("filelock.FileLock.acquire", unable)
    with alone_in(tmp_path):
        (tmp_path / "written").touch()
    assert [path.name for path in tmp_path.iterdir()] == ["written"]
