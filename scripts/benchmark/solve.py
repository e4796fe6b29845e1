"""How long it takes to solve a task, from the command to the test scores."""

import itertools
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np

from benchmark.figure import Figure
from seq2see.options import BenchmarkOptions

TRAIN = "import sys; from seq2see.commands.shell import run; sys.exit(run('train', sys.argv[1:]))"


class Task(NamedTuple):
    """A run to time.

    Args:
        name: in the table.
        overrides: of the run; `{folder}` is where the words of `_write_words` lie.
        seeds: how many; all are counted.
    """

    name: str
    overrides: tuple[str, ...]
    seeds: int


TRANSDUCTION = (
    "task=files", "task.train={folder}/train.tsv", "task.valid={folder}/valid.tsv", "task.test={folder}/test.tsv",
    "tokenizer.target=word",
    "data.batch_size=100", "model.d_model=64", "model.d_ff=256", "model.num_encoder_layers=4",
    "model.num_decoder_layers=4", "trainer.max_steps=400",
)  # fmt: skip
WORDS = {"train": 800, "valid": 100, "test": 100}
SPELLING = {
    "th": "þ", "ph": "f", "sh": "ʃ", "ch": "tʃ", "ng": "ŋ", "ee": "iː", "oo": "uː", "c": "k", "x": "ks", "y": "j"
}  # fmt: skip
TASKS = (
    Task("reverse", ("experiment=reverse",), 10),
    Task(
        "reverse, sinusoidal positions",
        ("experiment=reverse", "model.position=sinusoidal", "trainer.max_steps=1000"),
        1,
    ),
    Task("default: English-German", (), 1),
    Task("transduction, 800 pairs, 400 updates", TRANSDUCTION, 1),
)


def figures(options: BenchmarkOptions) -> Iterator[Figure]:
    """Seconds of a new process, and the exact match that it reaches: median and range of the seeds."""
    del options  # each run is long enough to be its own round
    for task in TASKS:
        runs = [_run([*task.overrides, f"seed={seed}"]) for seed in range(task.seeds)]
        seconds, scores = zip(*runs, strict=True)
        note = f"exact match {_range(scores, '.3f')}" + (f"; {_range(seconds, '.0f')} s" if len(runs) > 1 else "")
        yield Figure("solve", task.name, median(seconds), "s", note=note)


def _range(values: Sequence[float], form: str) -> str:
    if len(values) == 1:
        return format(values[0], form)
    return f"{median(values):{form}} ({min(values):{form}} to {max(values):{form}}, {len(values)} seeds)"


def _run(overrides: Sequence[str]) -> tuple[float, float]:
    """Seconds, and exact match on the test pairs."""
    with tempfile.TemporaryDirectory() as folder:
        _write_words(Path(folder))
        begin = time.perf_counter()
        result = result_of([text.format(folder=folder) for text in overrides], Path(folder) / "run")
        return time.perf_counter() - begin, result["test"]["exact_match"]


def result_of(overrides: Sequence[str], run: Path) -> dict[str, Any]:
    """Trains in a process of its own; what its `result.json` says."""
    subprocess.run(
        [sys.executable, "-c", TRAIN, *overrides, f"run_dir={run}"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=True,
    )
    return json.loads((run / "result.json").read_text(encoding="utf-8"))


def _write_words(folder: Path) -> None:
    """Made-up words and their sounds by rules of spelling: as many as small grapheme-to-phoneme sets have."""
    random = np.random.default_rng(0)
    syllables = [
        a + b for a in ("", *"bcdfghklmnprstvxy", "th", "ph", "sh", "ch") for b in (*"aeiou", "ee", "oo", "an", "ing")
    ]
    words: dict[str, str] = {}
    while len(words) < sum(WORDS.values()):
        word = "".join(random.choice(syllables, random.integers(2, 6)))
        parts: list[str] = re.findall("|".join((*SPELLING, ".")), word)
        words[word] = " ".join(SPELLING.get(part, part) for part in parts)
    lines = iter(words.items())
    for split, count in WORDS.items():
        text = "".join(f"{word}\t{sounds}\n" for word, sounds in itertools.islice(lines, count))
        (folder / f"{split}.tsv").write_text(text, encoding="utf-8")
