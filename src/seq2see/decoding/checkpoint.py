"""From a checkpoint to a trained model: read without running anything of it, checked before anything is made of it."""

import os
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from seq2see._version import __version__
from seq2see.decoding.checkpoint_file import FORMAT, DamagedError, UnreadableError, load_checkpoint
from seq2see.decoding.limit import LengthLimit, bounded
from seq2see.decoding.trained import Trained
from seq2see.options import TrainOptions
from seq2see.options.plain import from_plain
from seq2see.options.rules import LARGEST
from seq2see.text import Tokenizer
from seq2see.transformer import Transformer

KEY = "seq2see"  # in the checkpoint: what Lightning does not know of
PREFIX = "model."  # of the weights' names
MOST_RATIO = 10_000  # target tokens for a source token: more than pairs that can be trained on have

_DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
_ANOTHER = "name a run folder or a .ckpt file of one"
_RESTORE = "name another one of the run, such as last.ckpt, or restore this one from a copy"


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
        values = _load(file)
        content = _parts(file, values, _about(file, values))
        _check_weights(content)
    except UnreadableError as error:
        remedy = _RESTORE if isinstance(error, DamagedError) else _ANOTHER
        raise ValueError(f"ckpt: {file} {error}: {remedy}") from error
    return content


def _load(file: Path) -> Any:
    try:
        with file.open("rb") as stream:
            values, has_checksum = load_checkpoint(stream)
    except UnreadableError:
        raise
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        reason = error.strerror if isinstance(error, OSError) else error
        raise UnreadableError(f"cannot be read ({reason})") from error
    if not has_checksum:
        print(f"ckpt: {file} has no checksum (it was saved again): damage to it may go unseen", file=sys.stderr)
    return values


def _about(file: Path, values: Any) -> dict[str, Any]:
    """What a checkpoint says beside its weights, if it is one that this version reads."""
    about = values.get(KEY) if isinstance(values, dict) else None
    form, version = (about.get("format"), about.get("version")) if isinstance(about, dict) else (None, None)
    if not isinstance(form, int) or not isinstance(version, str) or not re.fullmatch(r"[\w.+-]{1,40}", version):
        raise UnreadableError("is no checkpoint of seq2see (it does not say which version made it)")
    if form != FORMAT:
        remedy = "update seq2see" if form > FORMAT else "use that version, or train it again"
        raise ValueError(
            f"ckpt: {file} was made by seq2see {version}, this is {__version__}, and reads format {FORMAT} "
            f"of checkpoints, not {form}: {remedy}"
        )
    assert isinstance(about, dict)
    return about


def _parts(file: Path, values: dict[str, Any], about: dict[str, Any]) -> Content:
    try:
        options = from_plain(TrainOptions, about.get("config"))
    except Exception as error:  # the libraries raise anything on values that do not fit
        made_by = "" if about["version"] == __version__ else f" (made by seq2see {about['version']})"
        raise DamagedError(f"has a config that cannot be used ({_first_line(error)}){made_by}") from error
    source = _tokenizer("source_tokenizer", about.get("source_tokenizer"))
    shared = about.get("target_tokenizer") is None
    target = source.without_tags() if shared else _tokenizer("target_tokenizer", about["target_tokenizer"])
    ratio, step, weights = about.get("length_ratio"), values.get("global_step"), values.get("state_dict")
    if not isinstance(ratio, float) or not 0 <= ratio <= MOST_RATIO:
        raise DamagedError(f"has a length_ratio ({ratio!r:.40}) that is not a number from 0 to {MOST_RATIO}")
    floor = about.get("length_floor", 0)  # earlier checkpoints have none
    if type(floor) is not int or not 0 <= floor <= LARGEST:
        raise DamagedError(f"has a length_floor ({floor!r:.40}) that is not a number of tokens")
    if not isinstance(step, int) or isinstance(step, bool) or step < 0:
        raise DamagedError(f"has a global_step ({step!r:.40}) that is not a number of steps")
    if not isinstance(weights, dict) or not all(isinstance(name, str) for name in weights):
        raise DamagedError("has a state_dict that does not give weights by their names")
    return Content(file, values, options, source, target, shared, ratio, floor, step)


def _tokenizer(name: str, state: Any) -> Tokenizer:
    try:
        return Tokenizer.from_state(state)
    except Exception as error:  # the `tokenizers` library raises anything on symbols that do not fit together
        raise DamagedError(f"has a {name} that is none ({type(error).__name__}: {_first_line(error)})") from error


def _check_weights(content: Content) -> None:
    """The weights are those of the model that the config describes, and numbers."""
    found = content.values["state_dict"]
    depth = (content.options.model.num_encoder_layers or 0) + (content.options.model.num_decoder_layers or 0)
    if depth > len(found):
        raise DamagedError(f"has {len(found)} weights for {depth} layers")
    with torch.device("meta"), _DrawNothing():  # shapes alone
        model = content.empty_model()
    expected = {PREFIX + name: value for name, value in model.state_dict().items()}
    size = content.file.stat().st_size
    if (numbers := sum(parameter.numel() for parameter in model.parameters())) > size:
        raise DamagedError(f"describes a model of {numbers:,} numbers, and has {size:,} bytes")
    for name, value in found.items():
        if not isinstance(value, Tensor) or value.dtype not in _DTYPES:
            raise DamagedError(f"has no weights but {getattr(value, 'dtype', type(value).__name__)} under {name!r:.80}")
        if name not in expected:
            raise DamagedError(f"has weights {name!r:.80}, which a model of its config has not")
        if value.shape != expected[name].shape:
            shapes = tuple(value.shape), tuple(expected[name].shape)
            raise DamagedError(f"has {name} of shape {shapes[0]}, where its config and tokenizers ask for {shapes[1]}")
    if missing := [name for name in expected if name not in found]:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise DamagedError(f"lacks the weights {missing[0]}{more}")


class _DrawNothing(TorchFunctionMode):
    """Leaves out the normal numbers of an initialisation: torch imports its compiler for them on `meta`, in seconds."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        return kwargs["tensor"] if func is nn.init.normal_ else func(*args, **kwargs)


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__


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
