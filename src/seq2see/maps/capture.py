"""Attention weights of a model, by a pass of their own over the same weights: training never pays for them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import numpy as np
from torch import Tensor, nn

from seq2see.attention import AttentionLayer
from seq2see.data import Batch
from seq2see.decoding import evaluation_mode
from seq2see.maps.store import Maps
from seq2see.text import PAD
from seq2see.transformer import Transformer


def capture(model: Transformer, batch: Batch) -> Maps:
    """Every layer's and head's weights on these pairs, teacher-forced, in evaluation mode, by the explicit path.

    Args:
        model: on any device; its mode and the random state are as before afterwards.
        batch: B pairs; what stands in `tgt_in` and `tgt_out` is what the decoder reads and predicts.

    Returns:
        float32 (B, layers, H, query, key); zero where a query or key is padding.
    """
    device = next(model.parameters()).device
    src, src_mask, tgt_in = batch.src.to(device), batch.src_mask.to(device), batch.tgt_in.to(device)
    with (
        evaluation_mode(model),
        _collected(model.encoder_layers, "self_attention") as encoder,
        _collected(model.decoder_layers, "self_attention") as decoder,
        _collected(model.decoder_layers, "cross_attention") as cross,
    ):
        model(src, src_mask, tgt_in)
    tgt_mask = batch.tgt_out != PAD
    return Maps(
        _stack(encoder, batch.src_mask, batch.src_mask),
        _stack(decoder, tgt_mask, tgt_mask),
        _stack(cross, tgt_mask, batch.src_mask),
    )


@contextmanager
def _collected(layers: nn.ModuleList, name: str) -> Iterator[list[Tensor]]:
    """The weights (B, H, T, S) of the attention of this name in each layer, in the order of the calls."""
    weights: list[Tensor] = []

    def ask(module: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        return args, {**kwargs, "need_weights": True}

    def keep(module: nn.Module, args: tuple, output: tuple[Tensor, Tensor]) -> None:
        weights.append(output[1])

    handles = []
    for layer in dict.fromkeys(layers):  # shared layers once
        module = cast(AttentionLayer, getattr(layer, name)).attention
        handles += [module.register_forward_pre_hook(ask, with_kwargs=True), module.register_forward_hook(keep)]
    try:
        yield weights
    finally:
        for handle in handles:
            handle.remove()


def _stack(weights: list[Tensor], query_mask: Tensor, key_mask: Tensor) -> np.ndarray:
    stacked = np.stack([layer.float().cpu().numpy() for layer in weights], axis=1)  # (B, layers, H, query, key)
    real = query_mask.numpy()[:, :, None] & key_mask.numpy()[:, None, :]
    return np.where(real[:, None, None], stacked, np.float32(0))
