"""From a checkpoint to a trained model: read without running anything of it, checked before anything is made of it."""

import os
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from seq2see._version import __version__
from seq2see.decoding.checkpoint_file import FORMAT, UnreadableError, load_checkpoint
from seq2see.decoding.limit import LengthLimit, bounded
from seq2see.decoding.trained import Trained
from seq2see.options import TrainOptions
from seq2see.options.plain import from_plain
from seq2see.text import Tokenizer
from seq2see.transformer import Transformer

KEY = "seq2see"  # in the checkpoint: what Lightning does not know of
PREFIX = "model."  # of the weights' names


@dataclass(frozen=True)
class Content:
    """A checkpoint of this project, found to be whole.

    Args:
        file: where it was read.
        values: all of it.
        options: the run's, with nothing left open.
        source_tokenizer: of the sources.
        target_tokenizer: of the targets.
        shared: whether one vocabulary serves both.
        length_ratio: of `LengthLimit`.
        length_floor: of `LengthLimit`.
        step: optimiser steps done.
    """

    file: Path
    values: dict[str, Any]
    options: TrainOptions
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    shared: bool
    length_ratio: float
    length_floor: int
    step: int

    @property
    def about(self) -> dict[str, Any]:
        """What it says beside the weights."""
        return self.values[KEY]

    @property
    def tokenizers(self) -> tuple[Tokenizer, Tokenizer]:
        """Of the sources and of the targets."""
        return self.source_tokenizer, self.target_tokenizer

    @property
    def weights(self) -> dict[str, Tensor]:
        """By their names in a `Transformer`; of its shapes, and finite."""
        return {name.removeprefix(PREFIX): value for name, value in self.values["state_dict"].items()}

    def empty_model(self) -> Transformer:
        """The model that the weights are of, without them."""
        return Transformer(
            self.options.model,
            self.source_tokenizer.vocab_size,
            self.target_tokenizer.vocab_size,
            shared_vocabulary=self.shared,
        )


def read_content(file: Path) -> Content:
    """Reads a checkpoint.

    Raises:
        ValueError: it cannot be read, is damaged, not of this project or of another version, or its parts do not fit
            together; the message names the file and what to do.
    """
    try:
        values, has_checksum = load_checkpoint(file)
        about = values.get(KEY) if isinstance(values, dict) else None
        if not isinstance(about, dict) or not isinstance(about.get("format"), int) or "version" not in about:
            raise UnreadableError("is no checkpoint of seq2see")
        if about["format"] == FORMAT:
            content = _content(file, values, about)
    except UnreadableError as error:
        raise ValueError(
            f"ckpt: {file} {error}: name another one, such as last.ckpt of a run, or its folder"
        ) from error
    if about["format"] != FORMAT:
        remedy = "update seq2see" if about["format"] > FORMAT else "use that version, or train it again"
        raise ValueError(
            f"ckpt: {file} was made by seq2see {about['version']}, this is {__version__}, and reads format {FORMAT} of "
            f"checkpoints, not {about['format']}: {remedy}"
        )
    if not has_checksum:
        print(f"ckpt: {file} has no checksum (it was saved again): damage to it may go unseen", file=sys.stderr)
    return content


def _content(file: Path, values: dict[str, Any], about: dict[str, Any]) -> Content:
    """The parts of a checkpoint, which fit together."""
    try:
        options = from_plain(TrainOptions, about["config"])
        source = Tokenizer.from_state(about["source_tokenizer"])
        shared = about.get("target_tokenizer") is None
        target = source.without_tags() if shared else Tokenizer.from_state(about["target_tokenizer"])
        floor = int(about.get("length_floor", 0))  # earlier checkpoints have none
        content = Content(
            file, values, options, source, target, shared, float(about["length_ratio"]), floor, values["global_step"]
        )
        with torch.device("meta"), _DrawNothing():  # shapes alone
            expected = {name: value.shape for name, value in content.empty_model().state_dict().items()}
        if {name: value.shape for name, value in content.weights.items()} != expected:
            raise ValueError("its weights are not those of its config")
    except Exception as error:  # the libraries raise anything on values that do not fit
        made_by = "" if about["version"] == __version__ else f" (made by seq2see {about['version']})"
        reason = " ".join(str(error).split())[:200] or type(error).__name__
        raise UnreadableError(f"cannot be used ({reason}){made_by}") from error
    return content


class _DrawNothing(TorchFunctionMode):
    """Leaves out the normal numbers of an initialisation: torch imports its compiler for them on `meta`, in seconds."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        return kwargs["tensor"] if func is nn.init.normal_ else func(*args, **kwargs)


def find_checkpoint(path: str) -> Path:
    """The file that `ckpt=` means: a `.ckpt` file, a run folder (its best checkpoint), or `latest`.

    Raises:
        ValueError: there is none.
    """
    if path == "latest" and not os.path.exists(path):
        files = Path("outputs").glob("**/checkpoints/best.ckpt")
        if newest := max(files, key=lambda file: file.stat().st_mtime, default=None):
            return newest
        raise ValueError("ckpt=latest: there is no finished run under outputs/ in this directory: name a run folder")
    found = Path(os.path.expanduser(path))
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
