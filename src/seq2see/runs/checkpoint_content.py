"""What is in a checkpoint, read without running anything of it and checked before anything is made of it."""

import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

import seq2see
from seq2see.options import TrainOptions
from seq2see.options.rules import LARGEST
from seq2see.runs.config import from_plain
from seq2see.text import Tokenizer
from seq2see.training.checkpoint_file import DamagedError, UnreadableError, load_checkpoint
from seq2see.transformer import Transformer

FORMAT = 3  # 2 turned other pairs of numbers (rope); 1 had no checksum and did not say which version wrote it
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
            f"ckpt: {file} was made by seq2see {version}, this is {seq2see.__version__}, and reads format {FORMAT} "
            f"of checkpoints, not {form}: {remedy}"
        )
    assert isinstance(about, dict)
    return about


def _parts(file: Path, values: dict[str, Any], about: dict[str, Any]) -> Content:
    try:
        options = from_plain(TrainOptions, about.get("config"))
    except Exception as error:  # the libraries raise anything on values that do not fit
        made_by = "" if about["version"] == seq2see.__version__ else f" (made by seq2see {about['version']})"
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
