"""A model as a page holds it, and what is lost on the way: weights of fewer bits, as text.

A matrix travels as whole numbers with a scale for each row, or as float32; vectors are always float32. What follows
from positions alone (angles, buckets, slopes) is computed here and travels too: so it is the same to the bit.
"""

from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any

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

# Bits more or less than others: what is lost in an embedding every layer builds on, what in the weights of attention
# a softmax may make larger. So each loses about as much: on the default run half of what equal ones lose, in its room.
EMBEDDING, ATTENTION, FEED_FORWARD = 2, 1, -1
# Those that JSON in a page does not escape: two of them hold 13 bits
CHARACTERS = np.array([code for code in range(32, 127) if chr(code) not in '"<>\\'], np.uint8)


def pack(model: Transformer, bits: int) -> dict[str, Any]:
    """The model as plain values for JSON, with so many bits for each number of a matrix: 32, or 3 to 22."""
    names: dict[Tensor, list[str]] = {}  # a tensor may have several: shared layers, tied embeddings
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(parameter, []).append(name)
    bits_of = _bits(model, bits)
    planes = b"".join(_planes(*array) for tensor in names for array in _numbers(tensor, bits_of[tensor]))
    return {
        "options": to_plain(model.options),
        "positions": {
            "encoder": _position_values(model.encoder_positions),
            "decoder": _position_values(model.decoder_positions),
            "cross": _position_values(model.cross_positions),
        },
        "tensors": [{"names": own, "shape": [*tensor.shape], "bits": bits_of[tensor]} for tensor, own in names.items()],
        "data": _text(planes),
    }


def rounded(model: Transformer, bits: int) -> Transformer:
    """The model that the page computes with."""
    model = deepcopy(model)
    with torch.no_grad():
        for parameter, own in _bits(model, bits).items():
            (values, _), *whole = _numbers(parameter, own)
            for numbers, _ in whole:  # of which these values are the scales
                values = (numbers.astype(np.float32) - np.float32(2 ** (own - 1))) * values
            parameter.copy_(torch.from_numpy(values).view(parameter.shape))
    return model


def largest_logit_difference(model: Transformer, other: Transformer, batches: Iterable[Batch]) -> float:
    """Between two models' scores of each next token of these pairs, teacher-forced."""
    largest = 0.0
    with evaluation_mode(model), evaluation_mode(other):
        for batch in batches:
            given = (batch.src, batch.src_mask, batch.tgt_in)
            difference = (model(*given) - other(*given)).abs()[batch.tgt_out != PAD]
            largest = max(largest, float(difference.max()))
    return largest


def _bits(model: Transformer, bits: int) -> dict[Tensor, int]:
    """How many each number of a tensor gets."""
    found = {}
    for name, tensor in model.named_parameters():
        more = FEED_FORWARD * (".feed_forward." in name) + ATTENTION * (".attention." in name)
        more += EMBEDDING * name.endswith(("embedding.weight", "positions.table.weight"))
        found[tensor] = 32 if bits == 32 or tensor.ndim == 1 else bits + more
    return found


def _numbers(tensor: Tensor, bits: int) -> list[tuple[NDArray, int]]:
    """The arrays in which a tensor travels, and their bits: as it is, or a scale for each row and whole numbers."""
    values = tensor.detach().cpu().float().numpy()
    if bits == 32:
        return [(values, 32)]
    rows, middle = values.reshape(-1, values.shape[-1]), 2 ** (bits - 1)
    scales = np.abs(rows).max(-1, keepdims=True) / np.float32(middle - 1)  # (rows, 1)
    whole = np.divide(rows, scales, out=np.zeros_like(rows), where=scales > 0)
    return [(scales, 32), ((np.rint(whole) + middle).astype(np.uint32), bits)]


def _planes(array: NDArray, bits: int) -> bytes:
    """The lowest bits of all numbers, then the second lowest, and so on, eight in a byte."""
    numbers = array.view(np.uint32).reshape(-1)
    planes = [np.packbits((numbers >> bit & 1).astype(np.uint8), bitorder="little") for bit in range(bits)]
    return np.concatenate(planes).tobytes()


def _text(planes: bytes) -> str:
    """Thirteen bits in two characters."""
    bits = np.unpackbits(np.frombuffer(planes, np.uint8), bitorder="little")
    bits = np.pad(bits, (0, -len(bits) % 13)).reshape(-1, 13)
    numbers = sum(bits[:, place].astype(np.uint16) << place for place in range(13))
    return CHARACTERS[np.stack(np.divmod(numbers, len(CHARACTERS)), -1)].tobytes().decode("ascii")


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
