"""The maps of one step, and which of their cells may hold weight."""

from __future__ import annotations

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from seq2see.maps.index import Example

KINDS = ("encoder", "decoder", "cross")
MOST_UNPACKED = 2**27  # bytes of a step's maps that a file of any size may unpack to
MOST_PACKED = 20  # times its size that a larger one may


class Maps(NamedTuple):
    """Attention of one step, float32 (examples, layers, heads, query, key), zero at padding.

    encoder: source tokens look at source tokens, EOS included.
    decoder: what has been read so far (BOS + target) looks at itself.
    cross: row t reads tgt_in[t], predicts tgt_out[t], and looks at the source tokens.

    `*_norm` are norm-weighted: cell (t, s) is the length of the vector that key s adds to the output of query t,
    `||a[t, s] f(x_s)||` with `f(x) = (x W_v + b_v) W_o`, divided by the sum of its row. So a row sums to 1 as a row of
    weights does, unless it adds nothing at all; a key with a large weight and a short vector has little.

    `*_free` are those of the model's own greedy output, fed back in place of the reference. The encoder knows no
    difference.

    Source:
        Kobayashi et al. 2020, "Attention is Not Only a Weight: Analyzing Transformers with Vector Norms". They compare
        lengths between layers too, which shares of a row cannot.
    """

    encoder: NDArray
    decoder: NDArray
    cross: NDArray
    encoder_norm: NDArray | None = None
    decoder_norm: NDArray | None = None
    cross_norm: NDArray | None = None
    decoder_free: NDArray | None = None
    cross_free: NDArray | None = None
    decoder_free_norm: NDArray | None = None
    cross_free_norm: NDArray | None = None

    def named(self) -> dict[str, NDArray]:
        """Those that there are, by name."""
        return {name: array for name, array in self._asdict().items() if array is not None}


def fit(
    maps: Maps, examples: Sequence[Example], model: Mapping[str, int], hypotheses: Sequence[Sequence[str]] | None
) -> Maps:
    """Cut to the longest example, hidden cells exactly zero.

    Raises:
        ValueError: shapes do not fit the examples and the model, or free maps come without hypotheses.
    """
    if hypotheses is None and any("free" in name for name in maps.named()):
        raise ValueError("maps of the model's own outputs (`*_free`) need hypothesis_tokens to say what they are of")
    cells = {name: visible(name, examples, hypotheses) for name in maps.named()}
    cut = Maps(
        **{
            name: np.asarray(array, np.float32)[..., : cells[name].shape[1], : cells[name].shape[2]]
            for name, array in maps.named().items()
        }
    )
    check_shapes(cut, examples, model, hypotheses)
    return Maps(
        **{name: np.where(cells[name][:, None, None], array, np.float32(0)) for name, array in cut.named().items()}
    )


def check_shapes(
    maps: Maps, examples: Sequence[Example], model: Mapping[str, int], hypotheses: Sequence[Sequence[str]] | None
) -> None:
    """Refuse maps that are not of these examples and this model.

    Raises:
        ValueError: a shape differs.
    """
    for name, array in maps.named().items():
        expected = _shape(name, examples, model, hypotheses)
        if array.shape != expected:
            raise ValueError(
                f"{name} maps have shape {array.shape}, the examples and the model need {expected}"
                " (examples, layers, heads, query, key)"
            )


def _shape(
    name: str, examples: Sequence[Example], model: Mapping[str, int], hypotheses: Sequence[Sequence[str]] | None
) -> tuple[int, ...]:
    num_layers = model["num_encoder_layers" if name.startswith("encoder") else "num_decoder_layers"]
    queries, keys = lengths(name, examples, hypotheses)
    return len(examples), num_layers, model["num_heads"], max(queries), max(keys)


def write_maps(stream: BinaryIO, maps: Maps) -> Maps:
    """Writes them in half precision, and returns them as they can be read again."""
    halves = {name: array.astype(np.float16) for name, array in maps.named().items()}
    np.savez_compressed(stream, allow_pickle=False, **halves)
    return Maps(**{name: array.astype(np.float32) for name, array in halves.items()})


def read_maps(
    file: Path, examples: Sequence[Example], model: Mapping[str, int], hypotheses: Sequence[Sequence[str]] | None
) -> Maps:
    """What `write_maps` wrote, of these examples and this model: nothing is unpacked that is larger than they need.

    Raises:
        ValueError: the file is not there, or damaged; the message says how.
    """
    try:
        if not file.is_file():  # a pipe would be waited for
            raise ValueError("there is no such file")
        with zipfile.ZipFile(file) as entries:
            infos = entries.infolist()
            if sum(info.file_size for info in infos) > max(MOST_UNPACKED, MOST_PACKED * file.stat().st_size):
                raise ValueError("it would unpack to far more than it is")
            shapes = {
                info: _shape(info.filename.removesuffix(".npy"), examples, model, hypotheses)
                for info in infos
                if info.filename.removesuffix(".npy") in Maps._fields
            }
            return Maps(
                **{info.filename.removesuffix(".npy"): _read(entries, info, shape) for info, shape in shapes.items()}
            )
    except (OSError, EOFError, KeyError, TypeError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{file}: cannot be read ({error})") from error


def _read(entries: zipfile.ZipFile, info: zipfile.ZipInfo, shape: tuple[int, ...]) -> NDArray:
    """One array of half precision; its header is believed only if it says what is expected."""
    with entries.open(info) as entry:
        if np.lib.format.read_magic(entry) != (1, 0):
            raise ValueError(f"{info.filename} is of another format")
        there, is_fortran, dtype = np.lib.format.read_array_header_1_0(entry)
        if (there, is_fortran, dtype) != (shape, False, np.float16):
            raise ValueError(f"{info.filename} has shape {there} of {dtype}, the index says {shape} of float16")
        return np.frombuffer(entry.read(), np.float16).reshape(shape).astype(np.float32)


def visible(
    name: str, examples: Sequence[Example], hypotheses: Sequence[Sequence[str]] | None = None
) -> NDArray[np.bool_]:
    """Which cells may hold weight, (examples, query, key): not padding, not later ones.

    Args:
        name: a field of `Maps`.
        examples: the pairs.
        hypotheses: tokens of the model's own outputs, for `*_free`.
    """
    queries, keys = (_real(side) for side in lengths(name, examples, hypotheses))
    cells = queries[:, :, None] & keys[:, None, :]
    return np.tril(cells) if name.startswith("decoder") else cells


def lengths(
    name: str, examples: Sequence[Example], hypotheses: Sequence[Sequence[str]] | None = None
) -> tuple[list[int], list[int]]:
    """How many queries and keys each example has in these maps; arguments as in `visible`."""
    sources = [len(example.source_tokens) for example in examples]
    targets = [len(example.target_tokens) for example in examples]
    if "free" in name and hypotheses is not None:
        targets = [len(tokens) for tokens in hypotheses]
    return sources if name.startswith("encoder") else targets, targets if name.startswith("decoder") else sources


def _real(lengths: Sequence[int]) -> NDArray[np.bool_]:
    return np.arange(max(lengths)) < np.asarray(lengths)[:, None]
