"""What is in a checkpoint, read without running anything of it and checked before anything is made of it."""

import math
import os
import warnings
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

import seq2see
from seq2see.options import TrainOptions
from seq2see.options.rules import LARGEST
from seq2see.runs.config import from_plain
from seq2see.text import Tokenizer
from seq2see.training.checkpoint_file import DamagedError, NoChecksumError, load_checkpoint, load_unchecked
from seq2see.transformer import Transformer

FORMAT = 3  # 2 turned other pairs of numbers (rope); 1 had no checksum and did not say which version wrote it
KEY = "seq2see"  # in the checkpoint: what Lightning does not know of
PREFIX = "model."  # of the weights' names

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
    values = _load(file)
    about = _about(file, values)
    made_by = "" if about["version"] == seq2see.__version__ else f" (made by seq2see {about['version']})"
    try:
        content = _parts(file, values, about)
        _check_weights(content)
    except _Wrong as wrong:
        raise ValueError(f"ckpt: {file} {wrong}{made_by}: {_RESTORE}") from wrong
    return content


class _Wrong(Exception):
    """A part of a checkpoint is not what it should be."""


def _load(file: Path) -> Any:
    try:
        stream = file.open("rb")
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        reason = error.strerror if isinstance(error, OSError) else error
        raise ValueError(f"ckpt: {file} cannot be read ({reason}): {_ANOTHER}") from error
    with stream, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch's, on what it finds in strange files
        try:
            return load_checkpoint(stream)
        except DamagedError as error:
            raise ValueError(f"ckpt: {file} {_identified(stream, error)}") from error
        except Exception as error:  # torch raises anything on what it does not want to read
            raise ValueError(
                f"ckpt: {file} cannot be read as plain values and tensors ({_first_line(error)}): {_ANOTHER}"
            ) from error


def _identified(stream: BinaryIO, damage: DamagedError) -> str:
    """What a file is that is not as `write_checkpoint` writes it, and what to do."""
    if not isinstance(damage, NoChecksumError):
        return f"is damaged ({damage}): {_RESTORE}"
    if not stream.seek(0, os.SEEK_END):
        return f"is empty: {_RESTORE}"
    stream.seek(0)
    begin = stream.read(4096)
    if begin.startswith(b"PK\3\4"):
        return _identified_zip(stream)
    if begin.startswith(b"\x80"):
        return f"is a Python pickle, which can run code when it is read, and no checkpoint of seq2see: {_ANOTHER}"
    is_text = b"\0" not in begin and begin.decode("utf-8", "ignore").encode("utf-8")[:-3] == begin[:-3]
    return f"is {'a text file' if is_text else 'something else'} and no checkpoint of seq2see: {_ANOTHER}"


def _identified_zip(stream: BinaryIO) -> str:
    if not zipfile.is_zipfile(stream):
        return f"is damaged, its end is missing: {_RESTORE}"
    try:
        values = load_unchecked(stream)
    except Exception as error:
        return f"is a damaged, unsafe or other file and no checkpoint of seq2see ({_first_line(error)}): {_ANOTHER}"
    if isinstance(values, dict) and KEY in values:
        return f"has no checksum: its end is damaged, or an older seq2see made it; {_RESTORE}, or train it again"
    return f"{_identified_values(values)}: {_ANOTHER}"


def _identified_values(values: Any) -> str:
    if isinstance(values, dict) and "pytorch-lightning_version" in values:
        return "is a Lightning checkpoint of another project"
    if isinstance(values, Mapping) and values and all(isinstance(value, Tensor) for value in values.values()):
        return "holds weights alone (a state_dict of PyTorch), without the configuration and tokenizers of seq2see"
    return "is a torch file of something else than a seq2see checkpoint"


def _about(file: Path, values: Any) -> dict[str, Any]:
    """What a checkpoint says beside its weights, if it is one that this version reads."""
    about = values.get(KEY) if isinstance(values, dict) else None
    if not isinstance(about, dict):
        raise ValueError(f"ckpt: {file} {_identified_values(values)}: {_ANOTHER}")
    form, version = about.get("format"), about.get("version")
    if not isinstance(version, str) or not isinstance(form, int):
        raise ValueError(f"ckpt: {file} does not say which seq2see made it: {_ANOTHER}")
    if form != FORMAT:
        remedy = "update seq2see" if form > FORMAT else "use that version, or train it again"
        raise ValueError(
            f"ckpt: {file} was made by seq2see {version}, this is {seq2see.__version__}, and reads format {FORMAT} "
            f"of checkpoints, not {form}: {remedy}"
        )
    return about


def _parts(file: Path, values: dict[str, Any], about: dict[str, Any]) -> Content:
    try:
        options = from_plain(TrainOptions, about.get("config"))
    except ValueError as error:
        raise _Wrong(f"has a config that cannot be used ({_first_line(error)})") from error
    source = _tokenizer("source_tokenizer", about.get("source_tokenizer"))
    shared = about.get("target_tokenizer") is None
    target = source.without_tags() if shared else _tokenizer("target_tokenizer", about["target_tokenizer"])
    ratio, step, weights = about.get("length_ratio"), values.get("global_step"), values.get("state_dict")
    if not isinstance(ratio, float) or not 0 <= ratio < math.inf:
        raise _Wrong(f"has a length_ratio ({ratio!r:.40}) that is not a number of at least 0")
    floor = about.get("length_floor", 0)  # earlier checkpoints have none
    if type(floor) is not int or not 0 <= floor <= LARGEST:
        raise _Wrong(f"has a length_floor ({floor!r:.40}) that is not a number of tokens")
    if not isinstance(step, int) or isinstance(step, bool) or step < 0:
        raise _Wrong(f"has a global_step ({step!r:.40}) that is not a number of steps")
    if not isinstance(weights, dict) or not all(isinstance(name, str) for name in weights):
        raise _Wrong("has a state_dict that does not give weights by their names")
    return Content(file, values, options, source, target, shared, ratio, floor, step)


def _tokenizer(name: str, state: Any) -> Tokenizer:
    try:
        return Tokenizer.from_state(state)
    except Exception as error:  # the `tokenizers` library raises anything on symbols that do not fit together
        raise _Wrong(f"has a {name} that is none ({type(error).__name__}: {_first_line(error)})") from error


def _check_weights(content: Content) -> None:
    """The weights are those of the model that the config describes, and numbers."""
    found = content.values["state_dict"]
    depth = (content.options.model.num_encoder_layers or 0) + (content.options.model.num_decoder_layers or 0)
    if depth > len(found):
        raise _Wrong(f"has {len(found)} weights for {depth} layers")
    with torch.device("meta"), _DrawNothing():  # shapes alone
        expected = {PREFIX + name: value for name, value in content.empty_model().state_dict().items()}
    for name, value in found.items():
        if not isinstance(value, Tensor) or value.layout != torch.strided or value.device.type != "cpu":
            raise _Wrong(f"has no weights but {type(value).__name__} under {name!r:.80}")
        if name not in expected:
            raise _Wrong(f"has weights {name!r:.80}, which a model of its config has not")
        if value.shape != expected[name].shape:
            shapes = tuple(value.shape), tuple(expected[name].shape)
            raise _Wrong(f"has {name} of shape {shapes[0]}, where its config and tokenizers ask for {shapes[1]}")
        if not value.is_floating_point():
            raise _Wrong(f"has {name} of {value.dtype}, which are no weights")
    if missing := [name for name in expected if name not in found]:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise _Wrong(f"lacks the weights {missing[0]}{more}")


class _DrawNothing(TorchFunctionMode):
    """Leaves out the normal numbers of an initialisation: torch imports its compiler for them on `meta`, in seconds."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        return kwargs["tensor"] if func is nn.init.normal_ else func(*args, **kwargs)


def _first_line(error: Exception) -> str:
    return " ".join(str(error).split())[:200] or type(error).__name__
