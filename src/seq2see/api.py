"""From Python: training with the command line's own words, and a trained model that scores itself."""

import json
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from seq2see import decoding
from seq2see.options import OtherData, OtherText
from seq2see.runs.config import compose_options
from seq2see.runs.data import read_pairs
from seq2see.tasks.pairs import Pair
from seq2see.text import require_whole

if TYPE_CHECKING:
    from seq2see.evaluation import Evaluation
    from seq2see.runs.train import Result

Texts = Iterable[tuple[str, str]]
"""Pairs of a source and a target."""


class TranslationModel(decoding.TranslationModel):
    """A model with all that is needed to use it, and to score it: evaluation is a later room than decoding."""

    def evaluate(self, pairs: Texts | str | Path) -> "Evaluation":
        """All scores of the model on these sources and targets, and what stands behind them.

        Args:
            pairs: the pairs, or a file of them, which is read as the run's training files were.
        """
        from seq2see.evaluation import evaluate_pairs  # takes longer to import than a line to translate

        notes: list[str] = []
        if isinstance(pairs, str | Path):
            read = read_pairs(OtherData(str(pairs)), OtherText(), self.options, notes)
        else:
            read = [Pair(source, target) for source, target in pairs]
        evaluation = evaluate_pairs(self, read)
        evaluation.notes += notes
        return evaluation


def load(path: str | Sequence[str], *, average: int | None = None) -> TranslationModel:
    """A trained model from a run folder or a `.ckpt` file, or several as one, as `seq2see.decoding.load` gives it."""
    return TranslationModel(**vars(decoding.load(path, average=average)))


def train(
    *overrides: str, pairs: Texts | None = None, valid: Texts | None = None, test: Texts | None = None
) -> "Result":
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
    from seq2see.runs.train import train_run  # needs far more than a model that is loaded

    if pairs is None:
        if valid is not None or test is not None:
            raise ValueError("valid and test go with pairs: give the training pairs too, or leave all to the task")
        return train_run(compose_options("train", list(overrides)))
    given = {"train": pairs, "valid": valid, "test": test}
    with tempfile.TemporaryDirectory() as folder:
        typed = ["task=files", *overrides]
        for name, texts in given.items():
            if texts is not None:
                file = Path(folder) / f"{'pairs' if name == 'train' else name}.jsonl"
                _write(file, texts)
                typed.append(f"task.{name}={file}")
        return train_run(compose_options("train", typed), keeps_files=True)


def _write(path: Path, texts: Texts) -> None:
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for source, target in texts:
            line = json.dumps({"source": source, "target": target}, ensure_ascii=False)
            require_whole(line)
            file.write(line + "\n")
