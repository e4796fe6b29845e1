"""The maps of one step: which there are, which of their cells may hold weight, and how they are kept in a file."""

import zipfile
import zlib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from numpy.typing import NDArray

from seq2see.maps.index import Example

KINDS: tuple[str, ...] = ("encoder", "decoder", "cross")
MOST_UNPACKED = 2**27  # bytes of a step's maps that a file of any size may unpack to
MOST_PACKED = 20  # times its size that a larger one may

Tokens = Sequence[Sequence[str]] | None
"""Of the model's own outputs, one an example; None where there are no maps of them."""


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


def lengths(name: str, examples: Sequence[Example], hypotheses: Tokens = None) -> tuple[list[int], list[int]]:
    """How many queries and keys each example has in the maps of this name, a field of `Maps`."""
    sources = [len(example.source_tokens) for example in examples]
    targets = [len(example.target_tokens) for example in examples]
    if "free" in name and hypotheses is not None:
        targets = [len(tokens) for tokens in hypotheses]
    return sources if name.startswith("encoder") else targets, targets if name.startswith("decoder") else sources


def visible(name: str, examples: Sequence[Example], hypotheses: Tokens = None) -> NDArray[np.bool_]:
    """Which cells may hold weight, (examples, query, key): not padding, not later ones."""
    queries, keys = (
        np.arange(max(numbers)) < np.array(numbers)[:, None] for numbers in lengths(name, examples, hypotheses)
    )
    cells = queries[:, :, None] & keys[:, None, :]
    return np.tril(cells) if name.startswith("decoder") else cells


def fit(maps: Maps, examples: Sequence[Example], model: Mapping[str, int], hypotheses: Tokens) -> Maps:
    """Cut to the longest example, hidden cells exactly zero.

    Raises:
        ValueError: shapes do not fit the examples and the model, or free maps come without hypotheses.
    """
    if hypotheses is None and any("free" in name for name in maps.named()):
        raise ValueError("maps of the model's own outputs (`*_free`) need hypothesis_tokens to say what they are of")
    fitted = {}
    for name, array in maps.named().items():
        cells, expected = visible(name, examples, hypotheses), _shape(name, examples, model, hypotheses)
        cut = np.asarray(array, np.float32)[..., : expected[3], : expected[4]]
        if cut.shape != expected:
            raise ValueError(
                f"{name} maps have shape {cut.shape}, the examples and the model need {expected}"
                " (examples, layers, heads, query, key)"
            )
        fitted[name] = np.where(cells[:, None, None], cut, np.float32(0))
    return Maps(**fitted)


def _shape(name: str, examples: Sequence[Example], model: Mapping[str, int], hypotheses: Tokens) -> tuple[int, ...]:
    num_layers = model["num_encoder_layers" if name.startswith("encoder") else "num_decoder_layers"]
    queries, keys = lengths(name, examples, hypotheses)
    return len(examples), num_layers, model["num_heads"], max(queries), max(keys)


def write_maps(stream: BinaryIO, maps: Maps) -> Maps:
    """Writes them in half precision, and returns them as they can be read again."""
    halves = {name: array.astype(np.float16) for name, array in maps.named().items()}
    np.savez_compressed(stream, allow_pickle=False, **halves)
    return Maps(**{name: array.astype(np.float32) for name, array in halves.items()})


def read_maps(file: Path, examples: Sequence[Example], model: Mapping[str, int], hypotheses: Tokens) -> Maps:
    """What `write_maps` wrote, of these examples and this model: nothing is unpacked that is larger than they need.

    Raises:
        ValueError: the file is not there, or damaged; the message says how.
    """
    try:
        if not file.is_file():  # a pipe would be waited for
            raise ValueError("there is no such file")
        with zipfile.ZipFile(file) as entries:
            names = {info.filename.removesuffix(".npy"): info for info in entries.infolist()}
            if sum(info.file_size for info in names.values()) > max(MOST_UNPACKED, MOST_PACKED * file.stat().st_size):
                raise ValueError("it would unpack to far more than it is")
            known = [name for name in names if name in Maps._fields]
            return Maps(
                **{name: _read(entries, names[name], _shape(name, examples, model, hypotheses)) for name in known}
            )
    except (OSError, EOFError, KeyError, TypeError, ValueError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{file}: cannot be read ({error})") from error


def _read(entries: zipfile.ZipFile, info: zipfile.ZipInfo, shape: tuple[int, ...]) -> NDArray:
    """One array of half precision; its header is believed only if it says what is expected."""
    with entries.open(info) as entry:
        if np.lib.format.read_magic(entry) != (1, 0):
            raise ValueError(f"{info.filename} is of another format")
        header = np.lib.format.read_array_header_1_0(entry)
        if header != (shape, False, np.float16):
            raise ValueError(f"{info.filename} has shape {header[0]} of {header[2]}, the index says {shape} of float16")
        return np.frombuffer(entry.read(), np.float16).reshape(shape).astype(np.float32)
