"""Checkpoints: torch's own files, written whole or not at all, read without running any of it, checked before use.

torch takes a file with a flipped bit in a weight for a good one; the checksum that zip keeps of each entry finds it. A
file from a stranger may be small and stand for a lot: entries that unpack to more, a list that shares itself, a tensor
that repeats one number. So what is in it is bounded by what the file is, before anything is made of it.
"""

import os
import pickletools
import re
import warnings
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from seq2see._version import __version__
from seq2see.atomic_write import whole_binary_file
from seq2see.decoding.model_folder import WEIGHTS, read_folder
from seq2see.options import TrainOptions
from seq2see.options.plain import from_plain
from seq2see.options.rules import LARGEST, leaves
from seq2see.text import Tokenizer
from seq2see.transformer import Transformer

FORMAT = 3  # of what is inside: 2 turned other pairs of numbers (rope); 1 did not say who wrote it
KEY = "seq2see"  # in the checkpoint: what Lightning does not know of
PREFIX = "model."  # of the weights' names
MOST_RATIO = 10_000  # target tokens for a source token: more than pairs that can be trained on have

_DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
_COMMENT = re.compile(rb"(seq2see crc32 [0-9a-f]{8})?")  # of the zip file: earlier ones had one
_GLOBALS = re.compile(
    r"collections OrderedDict|torch\._utils _rebuild_tensor_v2|torch\._utils _rebuild_parameter|torch \w+Storage"
)
_NODES_A_BYTE = 10  # a pickle names a value that it has had already in two bytes


class UnreadableError(ValueError):
    """A file is not read as a checkpoint; the message goes on from its name."""


def write_checkpoint(file: Path, content: dict[str, Any]) -> None:
    """Writes plain values and tensors; the checkpoint before stays until the new one is whole.

    Raises:
        OSError: it cannot be written; the one before is still there.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole_binary_file(file) as stream:
        try:
            torch.save(content, stream)
        except RuntimeError as error:  # torch ends its zip file after a failed write too, and fails at that
            raise (error.__context__ if isinstance(error.__context__, OSError) else error) from None


@dataclass(frozen=True)
class Content:
    """A checkpoint of this project, found to be whole."""

    file: Path  # where it was read
    values: dict[str, Any]  # all of it
    options: TrainOptions  # the run's, with nothing left open
    source_tokenizer: Tokenizer
    target_tokenizer: Tokenizer
    length_ratio: float  # this and the next of `LengthLimit`
    length_floor: int
    longest_source: int  # tokens of the longest training source, EOS included; 0: not known
    step: int  # optimiser steps done

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
        """By their names in a `Transformer`; of its shapes."""
        return {name.removeprefix(PREFIX): value for name, value in self.values["state_dict"].items()}

    def empty_model(self) -> Transformer:
        """The model that the weights are of, without them."""
        sizes = [tokenizer.vocab_size for tokenizer in self.tokenizers]
        return Transformer(self.options.model, *sizes, shared_vocabulary=bool(self.options.tokenizer.shared))


def read_content(file: Path) -> Content:
    """Reads a checkpoint, or a folder of `scripts/export.py` by its weights; nothing of it is run or imported.

    Raises:
        ValueError: it cannot be read, is damaged, not of this project or of another version, or its parts do not fit
            together; the message names the file and what to do.
    """
    try:
        if file.suffix == Path(WEIGHTS).suffix:
            about, weights = read_folder(file)
            named = {PREFIX + name: value for name, value in weights.items()}
            return _content(file, {KEY: about, "global_step": about.get("global_step"), "state_dict": named})
        with file.open("rb") as stream:
            return _content(file, read_values(stream))
    except UnreadableError as error:
        fault, cause = str(error), error
    except (OSError, ValueError) as error:  # ValueError: a name with a zero byte
        fault, cause = f"cannot be read ({getattr(error, 'strerror', None) or error})", error
    raise ValueError(f"ckpt: {file} {fault}: name a run folder, or another .ckpt file") from cause


def read_values(stream: BinaryIO) -> Any:
    """The plain values and tensors in a torch file, on the CPU.

    Reading takes no more than a few times the memory that the file has bytes.

    Raises:
        UnreadableError: it is damaged or something else, holds more than plain values, or stands for more than it is.
    """
    try:
        pickled = _pickle_of(stream)
        stream.seek(0)
        with warnings.catch_warnings(action="ignore"):  # torch's, on what it finds in strange files
            values = torch.load(stream, map_location="cpu", weights_only=True)
    except UnreadableError:
        raise
    except Exception as error:  # the libraries raise anything on what they cannot read, with advice that is not ours
        raise UnreadableError("is damaged, or is no torch file") from error
    try:
        tensors = [leaf for leaf in leaves(values, _NODES_A_BYTE * len(pickled)) if isinstance(leaf, Tensor)]
    except ValueError as error:
        raise UnreadableError(f"is no tree of plain values ({error})") from error
    for tensor in tensors:
        if tensor.nbytes > tensor.untyped_storage().nbytes():
            raise UnreadableError(f"holds a tensor {tuple(tensor.shape)} of fewer numbers than its shape has")
    return values


def _pickle_of(stream: BinaryIO) -> bytes:
    """The one entry of a whole zip file that says what the others are; it asks for nothing but what makes tensors."""
    size = stream.seek(0, os.SEEK_END)
    with zipfile.ZipFile(stream) as entries:
        stream.seek(0)
        begin = stream.read(4)
        stream.seek(-22 - len(entries.comment), os.SEEK_END)  # nothing stands before or behind it
        is_whole = (begin, stream.read(4)) == (b"PK\3\4", b"PK\5\6") and _COMMENT.fullmatch(entries.comment)
        infos = entries.infolist()
        names = {info.filename for info in infos}
        pickles = [name for name in names if name.endswith("data.pkl")]
        # torch takes an entry that is marked as a folder for one of numbers that it has not read
        is_plain = all(info.compress_type == zipfile.ZIP_STORED and not info.external_attr & 0x10 for info in infos)
        is_small = len(names) == len(infos) and sum(info.file_size for info in infos) <= size
        if not (is_whole and is_plain and is_small and len(pickles) == 1) or entries.testzip():
            raise ValueError("another kind of zip file, or a wrong checksum")
        pickled = entries.read(pickles[0])
    for opcode, name, _ in pickletools.genops(pickled):
        if opcode.name == "GLOBAL" and not _GLOBALS.fullmatch(str(name)):
            asked = str(name).replace(" ", ".")
            raise UnreadableError(f"is unsafe or of something else (it asks for {asked!r:.80})")
    return pickled


def _content(file: Path, values: Any) -> Content:
    about = values.get(KEY) if isinstance(values, dict) else None
    form, version = (about.get("format"), about.get("version")) if isinstance(about, dict) else (None, None)
    if not isinstance(form, int) or not isinstance(version, str) or not re.fullmatch(r"[\w.+-]{1,40}", version):
        raise UnreadableError("is no checkpoint of seq2see (it does not say which version made it)")
    assert isinstance(about, dict)
    by = "" if version == __version__ else f" (made by seq2see {version})"
    if form != FORMAT:
        raise UnreadableError(
            f"was made by seq2see {version}, this is {__version__}, which reads format {FORMAT} of checkpoints and not "
            f"{form} (update seq2see, use that version, or train it again)"
        )
    with _part("config", by):
        options = from_plain(TrainOptions, about.get("config"))
    with _part("tokenizer", by):
        source, state = Tokenizer.from_state(about["source_tokenizer"]), about.get("target_tokenizer")
        target = source.without_tags() if state is None else Tokenizer.from_state(state)
    ratio = _number("length_ratio", about.get("length_ratio"), float, MOST_RATIO)
    floor = _number("length_floor", about.get("length_floor", 0), int, LARGEST)  # earlier checkpoints have none
    longest = _number("longest_source", about.get("longest_source", 0), int, LARGEST)
    step = _number("global_step", values.get("global_step"), int, LARGEST)
    content = Content(file, values, options, source, target, ratio, int(floor), int(longest), int(step))
    with _part("state_dict", by):
        _check_weights(content)
    return content


@contextmanager
def _part(name: str, made_by: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:  # the libraries raise anything on values that do not fit
        reason = " ".join(str(error).split())[:200]
        raise UnreadableError(
            f"has a {name} that cannot be used ({type(error).__name__}: {reason}){made_by}"
        ) from error


def _number(name: str, value: Any, kind: type[float], most: int) -> float:
    if type(value) is not kind or not 0 <= value <= most:
        raise UnreadableError(f"has a {name} ({value!r:.40}) that is no number from 0 to {most}")
    return value


def _check_weights(content: Content) -> None:
    """The weights are those of the model that the config describes, and floating."""
    weights, shape = content.weights, content.options.model
    depth, size = (shape.num_encoder_layers or 0) + (shape.num_decoder_layers or 0), content.file.stat().st_size
    if depth > len(weights):
        raise ValueError(f"{len(weights)} weights for {depth} layers")
    with torch.device("meta"), _DrawNothing():  # shapes alone
        model = content.empty_model()
    if (numbers := sum(parameter.numel() for parameter in model.parameters())) > size:
        raise ValueError(f"a model of {numbers:,} numbers in {size:,} bytes")
    with warnings.catch_warnings(action="ignore"):  # nothing is copied
        model.load_state_dict(weights)
    if other := next((value.dtype for value in weights.values() if value.dtype not in _DTYPES), None):
        raise ValueError(f"weights of {other}")


class _DrawNothing(TorchFunctionMode):
    """Leaves out the normal numbers of an initialisation: torch imports its compiler for them on `meta`, in seconds."""

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        return kwargs["tensor"] if func is nn.init.normal_ else func(*args, **kwargs)


def require_finite(file: Path, weights: dict[str, Tensor]) -> None:
    """Refuses weights of a training that diverged.

    Raises:
        ValueError: one is not finite.
    """
    for name, value in weights.items():
        if not value.isfinite().all():
            raise ValueError(
                f"ckpt: {file} has weights that are not finite ({name}), for its training diverged: "
                "name an earlier checkpoint, or train again with a lower optim.lr"
            )


def find_checkpoint(path: str) -> Path:
    """The file that `ckpt=` means: a `.ckpt` file, a run folder (its best checkpoint), an exported one, or `latest`.

    Raises:
        ValueError: there is none.
    """
    if path == "latest" and not os.path.exists(path):
        files = Path("outputs").glob("**/checkpoints/best.ckpt")
        if newest := max(files, key=lambda file: file.stat().st_mtime, default=None):
            return newest
        raise ValueError("ckpt=latest: there is no finished run under outputs/ in this directory: name a run folder")
    found = Path(os.path.expanduser(path))
    best = found / "checkpoints" / "best.ckpt"
    for file in (found, best, found / WEIGHTS):
        if os.path.isfile(file):
            return file
    lack = "has no checkpoints/best.ckpt" if os.path.exists(found) else "does not exist"
    raise ValueError(f"ckpt: {path} {lack}: name a run folder or a .ckpt file")


def mean_weights(best: Path, count: int) -> tuple[dict[str, Tensor], Content]:
    """The mean weights of the `count` newest checkpoints that a run has kept beside its best, and the newest of them.

    Raises:
        ValueError: fewer are kept, or one cannot be used.

    Source:
        Vaswani et al. 2017, section 6.1.
    """
    kept = sorted(best.parent.glob("step-*.ckpt"))
    if not 0 < count <= len(kept):
        number, remedy = len(kept) or "no", f"ask for 1 to {len(kept)}" if kept else "train with training.keep=5"
        raise ValueError(f"average={count}: {best.parent} keeps {number} checkpoints beside best and last: {remedy}")
    content = read_content(kept[-1])
    total = {name: value.double() for name, value in content.weights.items()}
    for file in kept[-count:-1]:
        other = read_content(file)
        if other.options != content.options:
            raise ValueError(f"average: {file} and {kept[-1]} are of two runs: average those of one")
        for name, value in other.weights.items():
            total[name] += value
    return {name: (total[name] / count).to(value.dtype) for name, value in content.weights.items()}, content


def device_of(accelerator: str, *, key: str = "accelerator") -> str:
    """The torch device that an accelerator's name means; `auto` is a GPU if there is one.

    Raises:
        ValueError: there is no such device here.
    """
    gpu = "cuda" if torch.cuda.is_available() else "mps" if torch.backends.mps.is_available() else None
    if accelerator in ("auto", "gpu", gpu) and gpu is not None:
        return gpu
    if accelerator in ("auto", "cpu"):
        return "cpu"
    raise ValueError(f"{key}={accelerator} is not to be had here: use auto or cpu")
