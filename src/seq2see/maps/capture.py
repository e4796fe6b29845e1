"""Attention weights of a model, by a pass of their own over the same weights: training never pays for them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn

from seq2see.attention import AttentionLayer, MultiHeadAttention
from seq2see.data import Batch
from seq2see.data.encoded import shifted
from seq2see.decoding import Hypothesis, LengthLimit, evaluation_mode, greedy
from seq2see.maps.store import Maps
from seq2see.text import EOS, PAD
from seq2see.transformer import Transformer


class Snapshot(NamedTuple):
    """What a model attends to, and what it says.

    Args:
        maps: of the references, and of the hypotheses (`*_free`), with norms.
        hypotheses: the model's own outputs, one a pair.
    """

    maps: Maps
    hypotheses: list[Hypothesis]


def capture(model: Transformer, batch: Batch, *, norms: bool = False) -> Maps:
    """Every layer's and head's weights on these pairs, teacher-forced, in evaluation mode, by the explicit path.

    Args:
        model: on any device; its mode and the random state are as before afterwards.
        batch: B pairs; what stands in `tgt_in` and `tgt_out` is what the decoder reads and predicts.
        norms: also the norm-weighted maps `encoder_norm`, `decoder_norm`, `cross_norm`, see `Maps`.

    Returns:
        float32 (B, layers, H, query, key); zero where a query or key is padding.

    Source:
        The norms: Kobayashi et al. 2020, "Attention is Not Only a Weight: Analyzing Transformers with Vector Norms".
    """
    with evaluation_mode(model):
        encoder, memory = _encoder_maps(model, batch)
        return Maps(**_named(encoder | _decoder_maps(model, batch, memory), norms=norms))


def snapshot(model: Transformer, batch: Batch, *, limit: LengthLimit) -> Snapshot:
    """`capture` with norms, and the same once more with the model's own greedy outputs fed in place of the references.

    Args:
        model: as in `capture`.
        batch: B pairs.
        limit: how long an output may get.
    """
    with evaluation_mode(model):
        encoder, memory = _encoder_maps(model, batch)
        maps = _named(encoder | _decoder_maps(model, batch, memory), norms=True)
        src, src_mask = batch.src.to(memory.device), batch.src_mask.to(memory.device)
        limits = [limit.of(length) for length in batch.src_mask.sum(1).tolist()]
        hypotheses = greedy(model, src, src_mask, max_lengths=limits)
        free = _named(_decoder_maps(model, fed_back(batch, hypotheses), memory), norms=True)
    for name, values in free.items():
        maps[name.replace("_norm", "_free_norm") if name.endswith("_norm") else f"{name}_free"] = values
    return Snapshot(Maps(**maps), hypotheses)


def fed_back(batch: Batch, hypotheses: list[Hypothesis]) -> Batch:
    """The batch with what the model said as its targets; EOS only where it was said."""
    rows = [torch.tensor([*said.ids, *[EOS] * said.ended], dtype=torch.int64) for said in hypotheses]
    tgt_out = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)
    return shifted(batch.ids.numpy(), batch.src.numpy(), batch.src_mask.numpy(), tgt_out.numpy())


Found = dict[str, tuple[list[np.ndarray], list[np.ndarray], np.ndarray]]
"""For each kind: weights and norms of each layer (B, H, query, key), and the real cells (B, query, key)."""


def _encoder_maps(model: Transformer, batch: Batch) -> tuple[Found, Tensor]:
    device = next(model.parameters()).device
    with _collected(model.encoder_layers, "self_attention") as found:
        memory = model.encode(batch.src.to(device), batch.src_mask.to(device))
    return {"encoder": (*_arrays(found), _cells(batch.src_mask, batch.src_mask))}, memory


def _decoder_maps(model: Transformer, batch: Batch, memory: Tensor) -> Found:
    with (
        _collected(model.decoder_layers, "self_attention") as decoder,
        _collected(model.decoder_layers, "cross_attention") as cross,
    ):
        model.decode_states(batch.tgt_in.to(memory.device), memory, batch.src_mask.to(memory.device))
    tgt_mask = batch.tgt_out != PAD
    return {
        "decoder": (*_arrays(decoder), _cells(tgt_mask, tgt_mask)),
        "cross": (*_arrays(cross), _cells(tgt_mask, batch.src_mask)),
    }


Collected = list[tuple[Tensor, Tensor]]
"""In the order of the calls: weights (B, H, T, S), and the norm of what each key would give each head (B, H, S)."""


@contextmanager
def _collected(layers: nn.ModuleList, name: str) -> Iterator[Collected]:
    """What the attention of this name does in each layer."""
    found: Collected = []

    def ask(module: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        return args, {**kwargs, "need_weights": True}

    def keep(module: MultiHeadAttention, args: tuple, output: tuple[Tensor, Tensor]) -> None:
        found.append((output[1], value_norms(module, args[2])))

    handles = []
    for layer in dict.fromkeys(layers):  # shared layers once
        module = cast(AttentionLayer, getattr(layer, name)).attention
        handles += [module.register_forward_pre_hook(ask, with_kwargs=True), module.register_forward_hook(keep)]
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def value_norms(attention: MultiHeadAttention, value: Tensor) -> Tensor:
    """The length of `f(x) = (x W_v + b_v) W_o` for each key and head: what a weight of 1 would add to the output.

    Args:
        attention: the module.
        value: its values (B, S, D).

    Returns:
        float32 (B, H, S). The output's own bias belongs to no key and is left out, as in the source.

    Source:
        Kobayashi et al. 2020, equations 2 to 5.
    """
    values = attention.v_proj(value).unflatten(-1, (attention.num_heads, -1)).transpose(1, 2).float()  # (B, H, S, K)
    out = attention.out_proj.weight.float().unflatten(1, (attention.num_heads, -1))  # (D, H, K)
    products = torch.einsum("dhk,dhl->hkl", out, out)  # |v W|^2 = v (W W^T) v^T, without vectors of width D
    return ((values @ products) * values).sum(-1).clamp(min=0).sqrt()


def _arrays(found: Collected) -> tuple[list[np.ndarray], list[np.ndarray]]:
    weights = [layer.float().cpu().numpy() for layer, _ in found]
    norms = [lengths.cpu().numpy()[:, :, None, :] for _, lengths in found]
    return weights, [layer * length for layer, length in zip(weights, norms, strict=True)]


def _cells(query_mask: Tensor, key_mask: Tensor) -> np.ndarray:
    return query_mask.numpy()[:, :, None] & key_mask.numpy()[:, None, :]


def _named(found: Found, *, norms: bool) -> dict[str, np.ndarray]:
    """Layers stacked (B, layers, H, query, key), without padding; norms as shares of their row."""
    maps = {}
    for kind, (weights, lengths, real) in found.items():
        maps[kind] = np.where(real[:, None, None], np.stack(weights, axis=1), np.float32(0))
        if norms:
            maps[f"{kind}_norm"] = row_shares(np.where(real[:, None, None], np.stack(lengths, axis=1), np.float32(0)))
    return maps


def row_shares(lengths: np.ndarray) -> np.ndarray:
    """Each row divided by its sum; rows of zeros stay so."""
    sums = lengths.sum(-1, keepdims=True)
    return np.divide(lengths, sums, out=np.zeros_like(lengths), where=sums > 0)
