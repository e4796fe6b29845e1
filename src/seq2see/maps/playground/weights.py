"""A model as a page holds it, and what is lost on the way: weights of fewer bits, deflated, as base64.

A matrix travels as whole numbers of 16 or 8 bits with a scale for each row, or as float32; vectors are always float32.
The first, second, ... bytes of a tensor's numbers stand together, which deflates better. What follows from positions
alone (angles, buckets, slopes) is computed here and travels too: so it is the same to the bit.
"""

import base64
import zlib
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

INTEGERS = {8: np.dtype("<i1"), 16: np.dtype("<i2")}
FLOAT = np.dtype("<f4")


def pack(model: Transformer, bits: int) -> dict[str, Any]:
    """The model as plain values for JSON, with matrices of 8, 16 or 32 bits a number."""
    names: dict[Tensor, list[str]] = {}  # a tensor may have several: shared layers, tied embeddings
    for name, parameter in model.named_parameters(remove_duplicate=False):
        names.setdefault(parameter, []).append(name)
    pieces = [piece for tensor in names for piece in _pieces(tensor, bits)]
    planes = b"".join(piece.reshape(-1, 1).view(np.uint8).T.tobytes() for piece in pieces)
    return {
        "bits": bits,
        "options": to_plain(model.options),
        "positions": {
            "encoder": _position_values(model.encoder_positions),
            "decoder": _position_values(model.decoder_positions),
            "cross": _position_values(model.cross_positions),
        },
        "tensors": [{"names": own, "shape": list(tensor.shape)} for tensor, own in names.items()],
        "data": base64.b64encode(zlib.compress(planes, 9)).decode("ascii"),
    }


def rounded(model: Transformer, bits: int) -> Transformer:
    """The model that the page computes with."""
    model = deepcopy(model)
    with torch.no_grad():
        for parameter in model.parameters():
            *scales, numbers = _pieces(parameter, bits)
            values = numbers.astype(FLOAT).reshape(-1, numbers.shape[-1]) * (scales[0] if scales else FLOAT.type(1))
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


def _pieces(tensor: Tensor, bits: int) -> list[NDArray]:
    """The arrays in which a tensor travels: for a matrix of whole numbers a scale for each row (rows, 1), and these."""
    values = tensor.detach().cpu().float().numpy()
    if bits == 32 or values.ndim == 1:
        return [values.astype(FLOAT)]
    rows = values.reshape(-1, values.shape[-1])
    most = 2 ** (bits - 1) - 1
    scales = (np.abs(rows).max(-1, keepdims=True) / most).astype(FLOAT)
    whole = np.divide(rows, scales, out=np.zeros_like(rows), where=scales > 0)
    return [scales, np.rint(whole).clip(-most, most).astype(INTEGERS[bits])]


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
