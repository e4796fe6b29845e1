"""Runs beside each other, one after the other, in folders that cannot be written, and in folders that were moved."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from seq2see.commands.evaluate import evaluate
from seq2see.options import EvaluateOptions

TRAIN = [sys.executable, str(Path(__file__).parents[2] / "scripts" / "train.py")]
SHORT = [
    "task=copy", "task.train_size=100", "task.valid_size=10", "task.test_size=10", "task.ood_size=0",
    "model.d_model=16", "model.d_ff=16", "trainer.max_steps=12", "attention_log.num_examples=2", "logger=csv",
]  # fmt: skip
NOBODY = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"]
READS_ALL = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]  # Python may lie in root's own home


def is_whole(folder: Path) -> bool:
    with (folder / "metrics.csv").open(encoding="utf-8", newline="") as file:
        last = [row["step"] for row in csv.DictReader(file)][-1]
    return last == "12" and json.loads((folder / "result.json").read_text())["status"] == "completed"


@pytest.mark.slow
def test_four_runs_that_start_in_the_same_second_have_four_folders(tmp_path: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    runs = [
        subprocess.Popen([*TRAIN, *SHORT, f"seed={seed}"], cwd=tmp_path, env=environment, stderr=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL)
        for seed in range(4)
    ]  # fmt: skip
    assert [run.wait(timeout=240) for run in runs] == [0] * 4
    folders = list((tmp_path / "outputs" / "copy").iterdir())
    assert len(folders) == 4 and all(map(is_whole, folders))


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("setpriv") is None or os.geteuid() != 0, reason="nobody here may become another user")
def test_a_folder_that_cannot_be_written_is_refused_before_training(tmp_path: Path) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o755)
    for parent in (tmp_path, *tmp_path.parents[:3]):
        parent.chmod(parent.stat().st_mode | 0o055)
    done = subprocess.run(
        [*NOBODY, *READS_ALL, *TRAIN, *SHORT, f"run_dir={closed / 'run'}"], cwd="/", capture_output=True, text=True
    )
    assert done.returncode == 2, done.stderr
    assert "cannot be made (Permission denied)" in done.stderr and "Traceback" not in done.stderr
    assert list(closed.iterdir()) == []


def test_a_run_folder_that_was_copied_evaluates_there(small_run: Path, tmp_path: Path) -> None:
    moved = tmp_path / "it's = [here]"
    shutil.copytree(small_run, moved)
    evaluation, _ = evaluate(EvaluateOptions(ckpt=str(moved), baselines=False, report=False))
    assert evaluation.scores == json.loads((small_run / "result.json").read_text(encoding="utf-8"))["test"]
