"""A model as a page holds it, and what is lost on the way: weights of fewer bits, as text.

A matrix travels as whole numbers with a scale for each row, or as float32; vectors are always float32. The eight
highest bits of every number are deflated. An earlier stage is told from the trained model: a row is a multiple of the
row there, and of what differs from that only the sign and the mean size travel. What follows from positions alone
(angles, buckets, slopes) is computed here and travels too: so it is the same to the bit.
"""

import math
import zlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seq2see.data import Batch
from seq2see.decoding import evaluation_mode
from seq2see.options.plain import to_plain
from seq2see.text import PAD
from seq2see.transformer import (
    AlibiPositions,
    PositionScheme,
    RelativePositions,
    RotaryPositions,
    SinusoidalPositions,
    Transformer,
)
from seq2see.transformer.positions import frequencies

PROBED, FEWEST, MOST = 14, 2, 22  # bits with which losses are compared; that a matrix of the trained model may get
DRAWN = 16  # bits of a number that does not travel
NO_TEXT = (0, 10, 13, ord("<"))  # what a page would change, the end of a line, what may end an element


class Held(NamedTuple):
    """A tensor as it travels."""

    name: str
    bits: int  # of each number
    numbers: NDArray  # uint32 (rows, columns); with 32 bits they are the weights
    scale: NDArray | None = None  # of each row, uint16 (rows, 1)
    along: NDArray | None = None  # how much of the trained model's row is in the row, uint16 (rows, 1)
    trained: NDArray | None = None  # that model's rows

    @property
    def travels(self) -> list[tuple[NDArray, int]]:
        """Arrays and the bits of their numbers."""
        shorts = [(short, 16) for short in (self.along, self.scale) if short is not None]
        return [*shorts, (self.numbers, self.bits)] if self.bits else shorts

    @property
    def values(self) -> NDArray:
        """What the page makes of it, float32 (rows, columns)."""
        if self.scale is None:
            return self.numbers.view(np.float32)
        values = (self.numbers - _middle(self.bits)) * _long(self.scale).astype(np.float64)
        if self.along is not None and self.trained is not None:
            values += _long(self.along).astype(np.float64) * self.trained
        return values.astype(np.float32)


def hold(
    model: Transformer,
    bits: int | Mapping[str, int],
    *,
    trained: Transformer | None = None,
) -> list[Held]:
    """The model's tensors as they will travel.

    Args:
        model: what is to be shown.
        bits: for each number of a matrix: 32; 1 to 22; 0: none travel, but others are drawn that are as large. One for
            all matrices, or by the name of each.
        trained: a model that the page already has and this one is like.
    """
    held, num_drawn = [], 0
    for name, tensor in model.named_parameters():
        if tensor.ndim == 1:
            own = 32 if trained is None else 8
        else:
            own = bits if isinstance(bits, int) else bits.get(name, 32)
        rows = _rows(tensor)
        if own == 32:
            held.append(Held(name, own, rows.view(np.uint32)))
        elif own == 0:
            held.append(_drawn(name, rows, num_drawn))
            num_drawn += rows.size
        else:
            base = None if trained is None else _rows(trained.get_parameter(name))
            held.append(_whole(name, rows, own, base))
    return held


def pack(model: Transformer, held: Sequence[Held]) -> dict[str, Any]:
    """The model as plain values for JSON, and two texts for the page beside it."""
    names: dict[Tensor, list[str]] = {}  # a tensor may have several: shared layers, tied embeddings
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(parameter, []).append(name)
    arrays = [array for one in held for array in one.travels]
    deflate = zlib.compressobj(9, strategy=zlib.Z_HUFFMAN_ONLY)
    return {
        "options": to_plain(model.options),
        "positions": {
            "encoder": _position_values(model.encoder_positions),
            "decoder": _position_values(model.decoder_positions),
            "cross": _position_values(model.cross_positions),
        },
        "tensors": [{"names": own, "shape": [*tensor.shape]} for tensor, own in names.items()],
        "bits": [one.bits for one in held],
        "high": _text(deflate.compress(b"".join(_high_bits(*array) for array in arrays)) + deflate.flush()),
        "low": _text(b"".join(_low_bits(*array) for array in arrays)),
    }


def rounded(model: Transformer, held: Sequence[Held]) -> Transformer:
    """The model that the page computes with."""
    result = deepcopy(model)
    with torch.no_grad():
        for one in held:
            parameter = result.get_parameter(one.name)
            parameter.copy_(torch.from_numpy(one.values).view(parameter.shape))
    return result


def allotted(model: Transformer, batches: Sequence[Batch]) -> Callable[[float], dict[str, int]]:
    """From the mean number of bits to those of each matrix with which a number of one loses as much as of any other.

    What is lost is how far the scores of a next token move (root mean square) when one matrix alone is rounded.
    """
    sizes = {name: tensor.numel() for name, tensor in model.named_parameters() if tensor.ndim > 1}
    more = {}
    for name, size in sizes.items():
        lost, _ = logit_differences(model, rounded(model, hold(model, {name: PROBED})), batches)
        more[name] = math.log2(max(lost, 1e-30) / math.sqrt(size))
    mean = sum(sizes[name] * more[name] for name in sizes) / sum(sizes.values())
    return lambda bits: {name: min(max(round(bits + more[name] - mean), FEWEST), MOST) for name in sizes}


def logit_differences(model: Transformer, other: Transformer, batches: Iterable[Batch]) -> tuple[float, float]:
    """Between two models' scores of each next token of these pairs, teacher-forced: root mean square, and largest."""
    largest = total = count = 0.0
    with evaluation_mode(model), evaluation_mode(other):
        for batch in batches:
            given = (batch.src, batch.src_mask, batch.tgt_in)
            difference = (model(*given) - other(*given)).abs()[batch.tgt_out != PAD]
            largest = max(largest, float(difference.max()))
            total += float(difference.square().sum())
            count += difference.numel()
    return math.sqrt(total / count), largest


def _rows(tensor: Tensor) -> NDArray:
    values = tensor.detach().cpu().float().numpy()
    return values.reshape(-1, values.shape[-1])


def _whole(name: str, rows: NDArray, bits: int, trained: NDArray | None) -> Held:
    along = None
    if trained is not None:
        overlap, size = ((one * trained).sum(-1, keepdims=True) for one in (rows, trained))
        along = _short(np.divide(overlap, size, out=np.zeros_like(size), where=size > 0))
        rows = rows - _long(along) * trained
    reach = _size(rows) if bits == 1 else np.abs(rows).max(-1, keepdims=True)
    scale = _short(reach / _middle(bits))
    numbers = np.divide(rows, _long(scale), out=np.zeros_like(rows), where=scale > 0) + _middle(bits)
    return Held(name, bits, np.clip(np.rint(numbers), 0, 2**bits - 1).astype(np.uint32), scale, along, trained)


def _drawn(name: str, rows: NDArray, first: int) -> Held:
    """Numbers as if drawn evenly, the same ones wherever they are: their places, from `first` on, well mixed."""
    numbers = np.arange(first, first + rows.size, dtype=np.uint32)
    for shift, factor in ((16, 0x85EBCA6B), (13, 0xC2B2AE35), (16, 1)):  # as MurmurHash3 ends
        numbers = (numbers ^ numbers >> shift) * np.uint32(factor)
    scale = _short(_size(rows) * np.float32(math.sqrt(3)) / _middle(0))
    return Held(name, 0, (numbers >> (32 - DRAWN)).reshape(rows.shape), scale)


def _size(rows: NDArray) -> NDArray:
    """The root mean square of each row."""
    return np.sqrt(np.square(rows).mean(-1, keepdims=True))


def _middle(bits: int) -> np.float32:
    """What is zero among the whole numbers of so many bits."""
    return np.float32((2 ** (bits or DRAWN) - 1) / 2)


def _short(values: NDArray) -> NDArray:
    """The first half of float32 numbers, no smaller than they were."""
    return (values.view(np.uint32) + 0xFFFF >> 16).astype(np.uint16)


def _long(short: NDArray) -> NDArray:
    return (short.astype(np.uint32) << 16).view(np.float32)


def _num_low(bits: int) -> int:
    """How many bits of a number are not deflated: the highest eight are, if there are so many."""
    return bits - 8 if bits >= 8 else bits


def _high_bits(array: NDArray, bits: int) -> bytes:
    return (array >> bits - 8).astype(np.uint8).tobytes() if bits >= 8 else b""


def _low_bits(array: NDArray, bits: int) -> bytes:
    """The lowest of all numbers, then the second lowest, and so on, eight in a byte."""
    numbers = array.reshape(-1)
    planes = [np.packbits((numbers >> bit & 1).astype(np.uint8), bitorder="little") for bit in range(_num_low(bits))]
    return b"".join(plane.tobytes() for plane in planes)


def _text(data: bytes) -> str:
    """Seven bits in a character."""
    bits = np.unpackbits(np.frombuffer(data, np.uint8), bitorder="little")
    codes = np.packbits(np.pad(bits, (0, -len(bits) % 7)).reshape(-1, 7), axis=1, bitorder="little")
    return np.where(np.isin(codes, NO_TEXT), codes + 128, codes).astype(np.uint8).tobytes().decode("latin-1")


def _position_values(scheme: PositionScheme) -> Mapping[str, list]:
    match scheme:
        case RotaryPositions():
            return {"frequencies": frequencies(scheme.width, torch.float32).tolist()}
        case SinusoidalPositions():
            return {"waves": frequencies(scheme.d_model, torch.float32).tolist()}
        case RelativePositions():
            far = scheme.MAX_DISTANCE
            return {"buckets": scheme.bucket(torch.arange(-far, far + 1)).tolist()}
        case AlibiPositions():
            return {"slopes": scheme.slopes}
    return {}
