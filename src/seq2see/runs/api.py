"""Training from Python, with the command line's own words."""

import json
import tempfile
from collections.abc import Iterable
from pathlib import Path

from seq2see.runs.config import config_folder
from seq2see.runs.overrides import quoted, read_overrides
from seq2see.runs.shell import options_of
from seq2see.runs.train import Result, train_run
from seq2see.text import require_whole

Texts = Iterable[tuple[str, str]]
"""Pairs of a source and a target."""


def train(*overrides: str, pairs: Texts | None = None, valid: Texts | None = None, test: Texts | None = None) -> Result:
    """Trains, tests and writes a run folder, as `scripts/train.py` does.

    Args:
        overrides: `key=value`, as on the command line: `train("task=reverse", "trainer.max_steps=100")`.
        pairs: train on these instead of a task's; sizes and tokenizers follow from them. The run keeps them in `data/`.
        valid: pairs to validate on; None: split off the training pairs.
        test: pairs to test on; None: split off the training pairs.

    Returns:
        What `result.json` says, and the run's `folder`, which `seq2see.load` takes.

    Raises:
        ValueError: an override, a rule among them, or a pair is wrong.
    """
    if pairs is None:
        if valid is not None or test is not None:
            raise ValueError("valid and test go with pairs: give the training pairs too, or leave all to the task")
        return train_run(options_of("train", read_overrides("train", list(overrides), config_folder())))
    given = {"pairs": pairs, "valid": valid, "test": test}
    with tempfile.TemporaryDirectory() as folder:
        files = [
            f"task.{name.replace('pairs', 'train')}={quoted(str(_write(Path(folder) / f'{name}.jsonl', texts)))}"
            for name, texts in given.items()
            if texts is not None
        ]
        typed = read_overrides("train", ["task=files", *overrides], config_folder())
        return train_run(options_of("train", [*typed, *files]), keeps_files=True)


def _write(path: Path, texts: Texts) -> Path:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for source, target in texts:
            line = json.dumps({"source": source, "target": target}, ensure_ascii=False)
            require_whole(line)
            file.write(line + "\n")
    return path
