"""Runs that are killed, stopped by signals or by a full disk: what they leave, and that they go on exactly."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2see.decoding import read_content
from seq2see.runs.config import compose_options
from seq2see.runs.train import train_run
from seq2see.training.module import TrainingModule

pytestmark = [pytest.mark.slow, pytest.mark.skipif(os.name != "posix", reason="signals of POSIX")]

ROOT = Path(__file__).parents[2]
KILLS = 30
TRAIN = [sys.executable, str(ROOT / "scripts" / "train.py")]
OPTIONS = [
    "task=copy", "task.train_size=300", "task.valid_size=20", "task.test_size=10", "task.ood_size=0",
    "model.d_model=32", "model.d_ff=64", "data.batch_size=32", "trainer.max_steps=200", "trainer.val_check_interval=20",
    "attention_log.num_examples=3", "model.dropout=0.1", "logger=csv", "model.num_encoder_layers=1",
    "model.num_decoder_layers=1",
]  # fmt: skip

FORKS = get_context("forkserver")  # imports once, and forks from then on
FORKS.set_forkserver_preload(["seq2see.runs.fit", "seq2see.runs.train"])


def train(folder: Path, overrides: list[str]) -> None:
    """Trains, and writes down the pairs of each step."""
    training_step = TrainingModule.training_step

    def recording(self: TrainingModule, batch: Any, batch_idx: int) -> Any:
        with folder.with_name(folder.name + ".ids").open("a") as file:
            file.write(json.dumps([self.global_step, batch.ids.tolist()]) + "\n")
        return training_step(self, batch, batch_idx)

    TrainingModule.training_step = recording
    train_run(compose_options("train", [*overrides, f"run_dir={folder}"]))


def train_apart(folder: Path, *more: str, seconds: float | None = None) -> int | None:
    """Trains in a process of its own, which is killed after so many seconds; its exit code."""
    process = FORKS.Process(target=train, args=(folder, [*OPTIONS, *more]))
    process.start()
    process.join(seconds)
    process.kill()
    process.join()
    return process.exitcode


def weights(folder: Path) -> dict[str, torch.Tensor]:
    """Of both checkpoints."""
    return {
        f"{name} {weight}": value
        for name in ("last.ckpt", "best.ckpt")
        for weight, value in read_content(folder / "checkpoints" / name).values["state_dict"].items()
    }


def rows(folder: Path) -> list[str]:
    lines = (folder / "metrics.csv").read_text(encoding="utf-8").splitlines()
    column = lines[0].split(",").index("train/tokens_per_second")
    return [",".join(part for place, part in enumerate(line.split(",")) if place != column) for line in lines]


def ids(folder: Path) -> dict[int, list[int]]:
    """The pairs of each step; of one that was done twice, the last time."""
    lines = folder.with_name(folder.name + ".ids").read_text().splitlines()
    return {step: pairs for step, pairs in map(json.loads, lines)}


def test_killed_at_many_moments_and_resumed_each_time_it_equals_the_straight_run(tmp_path: Path) -> None:
    straight = tmp_path / "straight"
    train_apart(straight.with_name("warm"), "trainer.max_steps=1")
    begin = time.monotonic()
    assert train_apart(straight) == 0
    seconds = time.monotonic() - begin
    whole, logged, seen = weights(straight), rows(straight), ids(straight)
    moments, kills, begun = random.Random(0), 0, 0
    while kills < KILLS:
        folder = tmp_path / f"run{begun}"
        begun += 1
        while kills < KILLS:
            code = train_apart(folder, "resume=auto", seconds=moments.uniform(0.05, 0.35) * seconds)
            if code != -signal.SIGKILL:
                assert code == 0, "a run that is not killed in time ends well"
                break
            kills += 1
            if (folder / "checkpoints" / "last.ckpt").exists():
                read_content(folder / "checkpoints" / "last.ckpt")  # whole
        assert train_apart(folder, "resume=auto") == 0
        assert json.loads((folder / "result.json").read_text())["status"] == "completed"
        assert all(torch.equal(value, whole[name]) for name, value in weights(folder).items())
        assert rows(folder) == logged and ids(folder) == seen
        assert not list(folder.glob("**/.*.part"))


Started = Callable[..., subprocess.Popen[str]]


@pytest.fixture
def started() -> Iterator[Started]:
    """A run as a command, which has come to a certain point: `started(folder, *overrides, until=condition)`."""
    runs: list[subprocess.Popen[str]] = []

    def start(folder: Path, *more: str, until: Callable[[], bool]) -> subprocess.Popen[str]:
        command = [*TRAIN, *OPTIONS, "trainer.max_steps=100000", f"run_dir={folder}", *more]
        run = subprocess.Popen(
            ["env", "--default-signal=INT", *command],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )
        runs.append(run)
        deadline = time.monotonic() + 120
        while not until():
            assert run.poll() is None, run.communicate()[1]
            assert time.monotonic() < deadline
            time.sleep(0.02)
        return run

    yield start
    for run in runs:
        if run.poll() is None:
            run.kill()
        run.communicate()


def children_of(pid: int) -> list[int]:
    return [
        int(part) for part in subprocess.run(["pgrep", "-P", str(pid)], capture_output=True, text=True).stdout.split()
    ]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("workers", [0, 2])
def test_a_signal_stops_after_the_step_and_leaves_what_is_to_go_on_from(
    tmp_path: Path, started: Started, number: signal.Signals, workers: int
) -> None:
    folder = tmp_path / "run"
    run = started(folder, f"data.num_workers={workers}", until=lambda: (folder / "checkpoints" / "best.ckpt").exists())
    children = children_of(run.pid)
    run.send_signal(number)
    out, err = run.communicate(timeout=60)
    assert run.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[number]
    assert "Traceback" not in err and "interrupted at step" in err and "resume=" in err
    assert json.loads((folder / "result.json").read_text())["status"] == "interrupted"
    assert not (folder / "evaluation").exists()
    step = read_content(folder / "checkpoints" / "last.ckpt").step
    assert step >= 20 and json.loads((folder / "result.json").read_text())["steps"] == step
    time.sleep(0 if not workers else 6)
    assert [child for child in children if alive(child)] == []


def test_a_second_signal_ends_at_once(tmp_path: Path, started: Started) -> None:
    folder = tmp_path / "run"
    run = started(folder, until=lambda: (folder / "checkpoints" / "best.ckpt").exists())
    run.send_signal(signal.SIGINT)
    run.send_signal(signal.SIGINT)
    assert run.wait(timeout=10) in (130, -signal.SIGINT)
    read_content(folder / "checkpoints" / "last.ckpt")


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_while_starting_leaves_no_trace_of_a_run(
    tmp_path: Path, started: Started, number: signal.Signals
) -> None:
    folder = tmp_path / "run"
    begin = time.monotonic()
    run = started(folder, until=lambda: time.monotonic() - begin > 1.0)
    run.send_signal(number)
    err = run.communicate(timeout=60)[1]
    assert run.returncode == {signal.SIGINT: 130, signal.SIGTERM: 143}[number], err
    assert "Traceback" not in err
    assert not folder.exists() or json.loads((folder / "result.json").read_text())["status"] == "interrupted"


@pytest.mark.skipif(shutil.which("mount") is None or os.geteuid() != 0, reason="needs a disk of its own to fill")
def test_a_full_disk_ends_the_run_with_a_message_and_the_last_checkpoint_stays_whole(
    tmp_path: Path, started: Started
) -> None:
    disk = tmp_path / "disk"
    disk.mkdir()
    if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=6m", "tmpfs", str(disk)], capture_output=True).returncode:
        pytest.skip("this system mounts nothing")
    folder = disk / "run"
    try:
        run = started(folder, until=lambda: (folder / "checkpoints" / "best.ckpt").exists())
        with suppress(OSError), (disk / "filler").open("wb", buffering=0) as filler:
            while True:
                filler.write(b"0" * 4096)
        err = run.communicate(timeout=60)[1]
        assert run.returncode == 1
        assert "No space left" in err and "resume=" in err and "Traceback" not in err
        read_content(folder / "checkpoints" / "last.ckpt")
        (disk / "filler").unlink(missing_ok=True)
        subprocess.run(["mount", "-o", "remount,size=40m", str(disk)], check=True)
        again = subprocess.run([*TRAIN, f"resume={folder}", "trainer.max_steps=2000"], capture_output=True, text=True)
        assert again.returncode == 0, again.stderr
    finally:
        subprocess.run(["umount", "-l", str(disk)], check=False)
