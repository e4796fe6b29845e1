"""Checkpoints: self-contained, written whole or not at all, and loaded without running anything that is inside."""

import os
from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import starmap
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

import seq2see
from seq2see.data import EncodedPairs, scoring_loader
from seq2see.decoding import LengthLimit, teacher_forced
from seq2see.options import DecodeOptions, OtherData, OtherText, Position, TrainOptions
from seq2see.runs.checkpoint_content import FORMAT, Content, read_content
from seq2see.runs.config import to_plain
from seq2see.runs.data import read_pairs
from seq2see.runs.folder import newest_run
from seq2see.tasks.pairs import Pair
from seq2see.text import Tokenizer
from seq2see.transformer import Transformer

if TYPE_CHECKING:
    from seq2see.runs.evaluate import Evaluation


@dataclass
class Trained:
    """A model with all that is needed to use it.

    Args:
        options: the run's, with nothing left open.
        source_tokenizer: of the sources.
        target_tokenizer: of the targets.
        length_limit: how long a translation may get.
        model: the weights.
        step: optimiser steps that made them.
        path: the checkpoint's file, if it came from one.
    """

    options: TrainOptions
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    length_limit: LengthLimit
    model: Transformer
    step: int = 0
    path: Path | None = None

    @property
    def run(self) -> Path | None:
        """The run folder that the checkpoint lies in, if it does."""
        folder = self.path.parent.parent if self.path is not None else None
        return folder if folder is not None and (folder / "config.yaml").is_file() else None

    def translate(self, lines: Iterable[str]) -> list[str]:
        """The best translation of each line, in their order; a blank one for a blank one."""
        from seq2see.runs.translate import translated  # imports this module

        return list(translated(self, lines))

    def score(self, pairs: Iterable[tuple[str, str]]) -> list[float]:
        """For each source and target the log-probability of the whole target, nats."""
        encoded = EncodedPairs.from_pairs(starmap(Pair, pairs), self.source_tokenizer, self.target_tokenizer)
        return teacher_forced(self.model, scoring_loader(encoded)).totals

    def evaluate(self, pairs: Iterable[tuple[str, str]] | str | Path) -> "Evaluation":
        """All scores of the model on these sources and targets, and what stands behind them.

        Args:
            pairs: the pairs, or a file of them, which is read as the run's training files were.
        """
        from seq2see.runs.evaluate import evaluate_pairs  # imports this module

        if not isinstance(pairs, str | Path):
            return evaluate_pairs(self, [Pair(source, target) for source, target in pairs])
        notes: list[str] = []
        evaluation = evaluate_pairs(self, read_pairs(OtherData(str(pairs)), OtherText(), self.options, notes))
        evaluation.notes += notes
        return evaluation

    def decode_as(self, decode: DecodeOptions) -> None:
        """Sets the decoding keys that are given, over those of the run."""
        given = {name: value for name, value in vars(decode).items() if value is not None}
        self.options = replace(self.options, decode=replace(self.options.decode, **given))
        self.length_limit = bounded(self.length_limit, self.options)

    def describe(self) -> dict[str, Any]:
        """What a checkpoint says beside its weights, in plain values."""
        shared = bool(self.options.tokenizer.shared)
        return {
            "format": FORMAT,
            "version": seq2see.__version__,
            "config": to_plain(self.options),
            "source_tokenizer": self.source_tokenizer.state(),
            "target_tokenizer": None if shared else self.target_tokenizer.state(),
            "length_ratio": self.length_limit.ratio,
            "length_floor": self.length_limit.floor,
        }


def find_checkpoint(path: str) -> Path:
    """The file that `ckpt=` means: a `.ckpt` file, a run folder (its best checkpoint), or `latest`.

    Raises:
        ValueError: there is none.
    """
    found = newest_run() if path == "latest" and not os.path.exists(path) else Path(os.path.expanduser(path))
    if os.path.isfile(found):
        return found
    if not os.path.exists(found):
        raise ValueError(f"ckpt: {path} does not exist: name a run folder or a .ckpt file")
    best = found / "checkpoints" / "best.ckpt"
    if not best.is_file():
        raise ValueError(f"ckpt: {path} has no checkpoints/best.ckpt: name a run folder or a .ckpt file")
    return best


def load(path: str, *, average: int | None = None) -> Trained:
    """A trained model from a `.ckpt` file or a run folder, on the CPU; only plain values and tensors are read.

    Args:
        path: what `find_checkpoint` takes.
        average: instead of the best checkpoint the mean of the run's so many newest kept ones (`training.keep`).

    Raises:
        ValueError: there is no checkpoint, it is damaged, or not one of this project; its weights are not finite; or
            fewer than `average` are kept.
    """
    file = find_checkpoint(path)
    if average is None:
        content = read_content(file)
        weights = content.weights
    else:
        weights, content = _mean_of(_kept(file, average))
    require_finite(content.file, weights)
    model = content.empty_model()
    model.load_state_dict(weights)
    options = content.options
    limit = bounded(LengthLimit(content.length_ratio, floor=content.length_floor), options)
    source, target = content.source_tokenizer, content.target_tokenizer
    return Trained(options, source, target, limit, model.eval(), content.step, file)


def read_checkpoint(file: Path) -> dict[str, Any]:
    """All that is in a checkpoint, for training to go on from.

    Raises:
        ValueError: as `read_content` does.
    """
    return read_content(file).values


def bounded(limit: LengthLimit, options: TrainOptions) -> LengthLimit:
    """The limit with what was asked for, up or down, and no more than a learned table has positions."""
    is_learned = options.model.position is Position.learned
    return replace(limit, asked=options.decode.max_length, cap=options.model.max_positions if is_learned else None)


def require_finite(file: Path, weights: dict[str, torch.Tensor]) -> None:
    """Refuses weights of a training that diverged.

    Raises:
        ValueError: one is not finite.
    """
    for name, value in weights.items():
        if value.numel() and not all(bound.isfinite() for bound in torch.aminmax(value)):
            raise ValueError(
                f"ckpt: {file} has weights that are not finite ({name}), for its training diverged: "
                "name an earlier checkpoint, or train again with a lower optim.lr"
            )


def _kept(best: Path, count: int) -> list[Path]:
    """The newest checkpoints that a run has kept."""
    kept = sorted(best.parent.glob("step-*.ckpt"))
    if not 0 < count <= len(kept):
        raise ValueError(
            f"average={count}: {best.parent} keeps {len(kept)} checkpoints beside best and last: ask for 1 to "
            f"{len(kept)}" + ("" if kept else ", after training with training.keep=5")
        )
    return kept[-count:]


def _mean_of(files: list[Path]) -> tuple[dict[str, torch.Tensor], Content]:
    """The mean weights of several checkpoints of one run (Vaswani et al. 2017, section 6.1), and the newest of them."""
    content = read_content(files[-1])
    total = {name: value.double() for name, value in content.weights.items()}
    for file in files[:-1]:
        other = read_content(file)
        if other.options != content.options:
            raise ValueError(f"average: {file} and {files[-1]} are of two runs: average those of one")
        for name, value in other.weights.items():
            total[name] += value.double()
    return {name: (total[name] / len(files)).to(value.dtype) for name, value in content.weights.items()}, content


def device_of(accelerator: str, *, key: str = "accelerator") -> str:
    """The torch device that an accelerator's name means; `auto` is a GPU if there is one.

    Raises:
        ValueError: there is no such device here.
    """
    gpu = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else None
    if accelerator == "auto":
        return gpu or "cpu"
    if gpu is not None and accelerator in ("gpu", gpu):
        return gpu
    if accelerator == "cpu":
        return "cpu"
    raise ValueError(f"{key}={accelerator} is not to be had here: use auto or cpu")
