"""Text is UTF-8 whatever the system's own encoding is, and a console that has fewer characters loses no run."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXTS = ["наука и жизнь", "der alte Straßenbahnführer", "数据 和 模型", "so 😀 naïve", "ελλάδα"]
SHORT = ["model.d_model=32", "trainer.max_steps=3", "data.batch_size=16", "attention_log.num_examples=2"]

# Imports every module, then runs the commands; a file of text that one of ours opens without an encoding is an error.
CHILD = """
import importlib, json, pkgutil, runpy, sys, warnings
warnings.filterwarnings("error", category=EncodingWarning, module=r"(seq2see(\\..*)?|__main__)$")
import seq2see
for module in pkgutil.walk_packages(seq2see.__path__, "seq2see."):
    importlib.import_module(module.name)
for script, *arguments in json.loads(sys.argv[1]):
    sys.argv = [script, *arguments]
    try:
        runpy.run_path(script, run_name="__main__")
    except SystemExit as end:
        assert not end.code, (script, end.code)
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A working directory with a file of pairs and one of sources that GBK cannot hold."""
    lines = [json.dumps({"source": text[place:], "target": text}) for text in TEXTS for place in range(5)]
    (tmp_path / "пары.jsonl").write_text("\n".join(lines), encoding="utf-8")
    (tmp_path / "in.txt").write_text("\n".join(TEXTS), encoding="utf-8")
    return tmp_path


def finished(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[bytes]:
    answer = subprocess.run(
        [sys.executable, *arguments], cwd=folder, env={**os.environ, **environment}, capture_output=True, timeout=600
    )
    assert answer.returncode == 0, answer.stderr.decode("utf-8", "replace")
    return answer


def test_our_code_names_the_encoding_of_every_text_file():
    finished(ROOT, "-m", "ruff", "check", "--preview", "--select", "PLW1514", "src", "scripts")


@pytest.mark.slow
def test_no_command_needs_the_encoding_of_the_system_or_of_the_console(folder: Path) -> None:
    commands = [
        ["train.py", "task=files", "task.train=пары.jsonl", "run_dir=run", *SHORT],
        ["evaluate.py", "ckpt=run"],
        ["translate.py", "ckpt=run", "input=in.txt", "output=out.txt"],
        ["attention.py", "ckpt=run", "input=in.txt", "output=maps.html"],
        ["compare.py", "run"],
    ]
    commands = [[str(ROOT / "scripts" / script), *arguments] for script, *arguments in commands]

    answer = finished(folder, "-X", "warn_default_encoding", "-c", CHILD, json.dumps(commands), PYTHONIOENCODING="gbk")

    answer.stdout.decode("gbk")
    answer.stderr.decode("gbk")
    assert (folder / "out.txt").read_bytes().count(b"\n") == len(TEXTS)
    samples = (folder / "run" / "samples.jsonl").read_text(encoding="utf-8").strip().split("\n")
    assert {json.loads(sample)["reference"] for sample in samples} <= set(TEXTS)
