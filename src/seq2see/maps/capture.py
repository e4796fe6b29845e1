"""Attention weights of a model, by a pass of their own over the same weights: training never pays for them."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, cast

import numpy as np
import torch
from torch import Tensor, nn

from seq2see.attention import AttentionLayer, MultiHeadAttention, repeat_kv
from seq2see.data import Batch
from seq2see.data.encoded import shifted
from seq2see.decoding import Hypothesis, LengthLimit, evaluation_mode, greedy
from seq2see.decoding.hypothesis import next_log_probs
from seq2see.maps.arrays import Maps
from seq2see.text import EOS, PAD
from seq2see.transformer import Transformer

MOST_LONGER = 4  # tokens: a model that has not learned to stop writes on and on, which takes long and shows nothing


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
        encoder, memory = _encoder_maps(model, batch, norms=norms)
        decoder, _ = _decoder_maps(model, batch, memory, norms=norms)
        return Maps(**encoder, **decoder)


def snapshot(model: Transformer, batch: Batch, *, limit: LengthLimit) -> Snapshot:
    """`capture` with norms, and the same once more with the model's own greedy outputs fed in place of the references.

    Args:
        model: as in `capture`.
        batch: B pairs.
        limit: how long an output may get; nor is it more than `MOST_LONGER` tokens longer than the longest reference.
    """
    with evaluation_mode(model):
        encoder, memory = _encoder_maps(model, batch, norms=True)
        decoder, states = _decoder_maps(model, batch, memory, norms=True)
        hypotheses = _outputs(model, batch, states, limit)
        free, _ = _decoder_maps(model, fed_back(batch, hypotheses), memory, norms=True)
    renamed = {
        name.replace("_norm", "_free_norm") if name.endswith("_norm") else f"{name}_free": values
        for name, values in free.items()
    }
    return Snapshot(Maps(**encoder, **decoder, **renamed), hypotheses)


def fed_back(batch: Batch, hypotheses: list[Hypothesis]) -> Batch:
    """The batch with what the model said as its targets; EOS only where it was said."""
    rows = [torch.tensor([*said.ids, *[EOS] * said.ended], dtype=torch.int64) for said in hypotheses]
    tgt_out = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)
    return shifted(batch.ids.numpy(), batch.src.numpy(), batch.src_mask.numpy(), tgt_out.numpy())


def _outputs(model: Transformer, batch: Batch, states: Tensor, limit: LengthLimit) -> list[Hypothesis]:
    """What `greedy` gives, with less work: the output is the reference if each of its tokens is the most probable one.

    Args:
        model: in evaluation mode.
        batch: B pairs; each reference ends in EOS.
        states: what `decode_states` made of its references, (B, T, D).
        limit: how long an output may get.
    """
    log_probs = next_log_probs(model.output_proj(states))
    tgt_out, longest = batch.tgt_out.to(states.device), batch.tgt_out.shape[1] + MOST_LONGER
    limits = [min(limit.of(length), longest) for length in batch.src_mask.sum(1).tolist()]
    real = tgt_out != PAD
    scores = log_probs.gather(2, tgt_out[:, :, None])[:, :, 0].masked_fill(~real, 0).sum(1).tolist()
    is_right = ((log_probs.argmax(-1) == tgt_out) | ~real).all(1).tolist()
    hypotheses = [
        Hypothesis(row[: row.index(EOS)], score, True) for row, score in zip(tgt_out.tolist(), scores, strict=True)
    ]
    others = [row for row, said in enumerate(hypotheses) if not is_right[row] or len(said.ids) >= limits[row]]
    if others:
        src, src_mask = (part[others].to(states.device) for part in (batch.src, batch.src_mask))
        found = greedy(model, src, src_mask, max_lengths=[limits[row] for row in others])
        for row, said in zip(others, found, strict=True):
            hypotheses[row] = said
    return hypotheses


def _encoder_maps(model: Transformer, batch: Batch, *, norms: bool) -> tuple[dict[str, np.ndarray], Tensor]:
    """The encoder's maps by name, and what it has made of the source: memory (B, S, D)."""
    device = next(model.parameters()).device
    with collected(model.encoder_layers, "self_attention", norms=norms) as found:
        memory = model.encode(batch.src.to(device), batch.src_mask.to(device))
    return _named("encoder", found, batch.src_mask, batch.src_mask), memory


def _decoder_maps(
    model: Transformer, batch: Batch, memory: Tensor, *, norms: bool
) -> tuple[dict[str, np.ndarray], Tensor]:
    """The decoder's self and cross maps by name, and its states before the output projection (B, T, D)."""
    with (
        collected(model.decoder_layers, "self_attention", norms=norms) as decoder,
        collected(model.decoder_layers, "cross_attention", norms=norms) as cross,
    ):
        states = model.decode_states(batch.tgt_in.to(memory.device), memory, batch.src_mask.to(memory.device))
    tgt_mask = batch.tgt_out != PAD
    maps = _named("decoder", decoder, tgt_mask, tgt_mask) | _named("cross", cross, tgt_mask, batch.src_mask)
    return maps, states


Collected = list[tuple[Tensor, Tensor | None]]
"""In the order of the calls: weights (B, H, T, S), and the norm of what each key would give each head (B, H, S)."""


@contextmanager
def collected(layers: nn.ModuleList, name: str, *, norms: bool) -> Iterator[Collected]:
    """What the attention of this name does in each layer while this lasts; without `norms`, weights alone."""
    found: Collected = []

    def ask(module: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        return args, {**kwargs, "need_weights": True}

    def keep(module: MultiHeadAttention, args: tuple, output: tuple[Tensor, Tensor]) -> None:
        found.append((output[1], value_norms(module, args[2]) if norms else None))

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
    values = attention.v_proj(value).unflatten(-1, (attention.num_kv_heads, -1)).transpose(1, 2).float()
    values = repeat_kv(values, attention.num_heads)  # (B, H, S, K)
    out = attention.out_proj.weight.float().unflatten(1, (attention.num_heads, -1))  # (D, H, K)
    products = torch.einsum("dhk,dhl->hkl", out, out)  # |v W|^2 = v (W W^T) v^T, without vectors of width D
    return ((values @ products) * values).sum(-1).clamp(min=0).sqrt()


def _named(kind: str, found: Collected, query_mask: Tensor, key_mask: Tensor) -> dict[str, np.ndarray]:
    """Layers stacked (B, layers, H, query, key), without padding; norms, if there are any, as shares of their row."""
    real = (query_mask[:, :, None] & key_mask[:, None, :]).numpy()[:, None, None]
    weights = torch.stack([layer for layer, _ in found], dim=1).float().cpu().numpy()
    maps = {kind: np.where(real, weights, np.float32(0))}
    lengths = [length for _, length in found if length is not None]
    if lengths:
        added = weights * torch.stack(lengths, dim=1).cpu().numpy()[:, :, :, None]
        maps[f"{kind}_norm"] = row_shares(np.where(real, added, np.float32(0)))
    return maps


def row_shares(lengths: np.ndarray) -> np.ndarray:
    """Each row divided by its sum; rows of zeros stay so."""
    sums = lengths.sum(-1, keepdims=True)
    return np.divide(lengths, sums, out=np.zeros_like(lengths), where=sums > 0)
