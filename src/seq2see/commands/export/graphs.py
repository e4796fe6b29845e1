"""A model as two ONNX graphs: the encoder, and a step of the decoder that hands its cache on."""

import logging
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from copy import deepcopy
from pathlib import Path

import torch
from onnxruntime import quantization
from torch import Tensor, nn
from torch.export import Dim

from seq2see.attention import MultiHeadAttention
from seq2see.attention.single import DotScore
from seq2see.transformer import Transformer


class Encoder(nn.Module):
    """From the source (B, S) to what every step asks of it: for each layer of the decoder keys and values."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(self, src: Tensor, src_mask: Tensor) -> list[Tensor]:
        """Keys and values of the source in turn (B, key and value heads, S, K), two for each layer."""
        cache = self.model.new_cache()
        self.model.decode(src[:, :1], self.model.encode(src, src_mask), src_mask, cache)  # no graph keeps the rest
        return [tensor for _, of_source in cache.layers for tensor in (of_source.key, of_source.value)]  # type: ignore


class DecoderStep(nn.Module):
    """From the last token (B, 1) and the state to the scores of the next one and the new state."""

    def __init__(self, model: Transformer) -> None:
        super().__init__()
        self.model = model

    def forward(
        self, ids: Tensor, src_mask: Tensor, cross: Sequence[Tensor], past: Sequence[Tensor]
    ) -> tuple[Tensor, list[Tensor]]:
        """Logits (B, V), and keys and values of the target (B, heads, T + 1, K) in the order of `past` (T)."""
        cache = self.model.new_cache()
        cache.length = past[0].shape[2]
        for depth, (of_target, of_source) in enumerate(cache.layers):
            of_source.key, of_source.value = cross[2 * depth : 2 * depth + 2]
            of_target.key, of_target.value = past[2 * depth : 2 * depth + 2]
        logits = self.model.decode(ids, cross[0], src_mask, cache)  # the memory is not looked at
        return logits[:, 0], [tensor for own, _ in cache.layers for tensor in (own.key, own.value)]  # type: ignore


class _PlainScore(DotScore):
    """The same numbers by products that ONNX has, where `DotScore` itself lets torch's fused kernel in."""


def write_graphs(folder: Path, model: Transformer, *, int8: bool) -> None:
    """Writes `encoder.onnx` and `decoder.onnx`, for any batch and lengths.

    Args:
        folder: it exists.
        model: in evaluation mode, on the CPU.
        int8: matrices as 8-bit integers with a scale for each column; what they are multiplied by is rounded as it
            comes.
    """
    model = deepcopy(model)
    for module in model.modules():
        if isinstance(module, MultiHeadAttention) and type(module.score) is DotScore:
            module.score = _PlainScore(scaled=module.score.scaled)
    batch, source = Dim("batch"), Dim("source", max=model.encoder_positions.max_length)
    most = model.decoder_positions.max_length
    past = Dim("past", max=None if most is None else most - 1)
    src, src_mask = torch.ones(2, 3, dtype=torch.int64), torch.ones(2, 3, dtype=torch.bool)
    encoder = Encoder(model).eval()
    cross = encoder(src, src_mask)
    names = [f"{depth}.{part}" for depth in range(len(model.decoder_layers)) for part in ("key", "value")]
    cross_names = [f"cross.{name}" for name in names]
    sizes = {0: batch, 1: source}
    _write(
        folder / "encoder.onnx", encoder, (src, src_mask), (sizes, sizes), ["src", "src_mask"], cross_names, int8=int8
    )
    _write(
        folder / "decoder.onnx",
        DecoderStep(model).eval(),
        (src[:, :1], src_mask, cross, [tensor[:, :, :2] for tensor in cross]),
        ({0: batch}, sizes, [{0: batch, 2: source} for _ in cross], [{0: batch, 2: past} for _ in cross]),
        ["ids", "src_mask", *cross_names, *(f"past.{name}" for name in names)],
        ["logits", *(f"present.{name}" for name in names)],
        int8=int8,
    )


def _write(
    file: Path, module: nn.Module, inputs: tuple, sizes: tuple, takes: list[str], gives: list[str], *, int8: bool
) -> None:
    with _quiet(), torch.no_grad():
        program = torch.onnx.export(
            module, inputs, input_names=takes, output_names=gives, dynamic_shapes=sizes, dynamo=True, verbose=False
        )
        assert program is not None
        if int8:
            quantization.quantize_dynamic(program.model_proto, file, per_channel=True)
        else:
            program.save(file)


@contextmanager
def _quiet() -> Iterator[None]:
    """Without what the exporters say to each other."""
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(action="ignore"):
            yield
    finally:
        logging.disable(logging.NOTSET)
