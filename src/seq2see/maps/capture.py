"""Attention weights of a model, by a pass of their own over the same weights: training never pays for them."""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from seq2see.attention import AttentionLayer, MultiHeadAttention, repeat_kv
from seq2see.data import Batch
from seq2see.data.encoded import shifted
from seq2see.decoding import Hypothesis, LengthLimit, evaluation_mode, greedy
from seq2see.maps.arrays import Maps
from seq2see.text import EOS, PAD
from seq2see.transformer import Transformer

MOST_LONGER = 4  # tokens: a model that has not learned to stop writes on and on, which takes long and shows nothing


def capture(model: Transformer, batch: Batch, *, norms: bool = False) -> Maps:
    """Every layer's and head's weights on these pairs, teacher-forced, in evaluation mode, by the explicit path.

    Args:
        model: on any device; its mode and the random state are as before afterwards.
        batch: B pairs; what stands in `tgt_in` and `tgt_out` is what the decoder reads and predicts.
        norms: also the norm-weighted maps `encoder_norm`, `decoder_norm`, `cross_norm`, see `Maps`.

    Returns:
        float32 (B, layers, H, query, key); zero where a query or key is padding.
    """
    return capture_with_logits(model, batch, norms=norms)[0]


def capture_with_logits(model: Transformer, batch: Batch, *, norms: bool = False) -> tuple[Maps, Tensor]:
    """What `capture` gives, and the scores of each next target token (B, T, V), of one pass."""
    device = next(model.parameters()).device
    src_mask, tgt_mask = batch.src_mask, batch.tgt_out != PAD
    masks = {"encoder": (src_mask, src_mask), "decoder": (tgt_mask, tgt_mask), "cross": (tgt_mask, src_mask)}
    with ExitStack() as stack:
        stack.enter_context(evaluation_mode(model))
        found = {kind: stack.enter_context(collected(model, kind, norms=norms)) for kind in masks}
        logits = model(batch.src.to(device), src_mask.to(device), batch.tgt_in.to(device))
    named: dict[str, NDArray] = {}
    for kind, (query_mask, key_mask) in masks.items():
        named |= _named(kind, found[kind], query_mask, key_mask)
    return Maps(**named), logits


def snapshot(model: Transformer, batch: Batch, *, limit: LengthLimit) -> tuple[Maps, list[Hypothesis]]:
    """`capture` with norms, of the references and (`*_free`) of the model's own greedy outputs, and these outputs.

    They are no longer than `limit` says, nor more than `MOST_LONGER` tokens longer than the longest reference.
    """
    longest = batch.tgt_out.shape[1] + MOST_LONGER
    limits = [min(limit.of(length), longest) for length in batch.src_mask.sum(1).tolist()]
    device = next(model.parameters()).device
    hypotheses = greedy(model, batch.src.to(device), batch.src_mask.to(device), max_lengths=limits)
    return with_outputs(model, batch, hypotheses), hypotheses


def with_outputs(model: Transformer, batch: Batch, hypotheses: list[Hypothesis]) -> Maps:
    """`capture` with norms, and beside it (`*_free`) the maps of what the model said."""
    said = capture(model, fed_back(batch, hypotheses), norms=True).named()
    free = {f"{kind}_free{more}": said[f"{kind}{more}"] for kind in ("decoder", "cross") for more in ("", "_norm")}
    return capture(model, batch, norms=True)._replace(**free)


def fed_back(batch: Batch, hypotheses: list[Hypothesis]) -> Batch:
    """The batch with what the model said as its targets; EOS only where it was said."""
    rows = [torch.tensor([*said.ids, *[EOS] * said.ended], dtype=torch.int64) for said in hypotheses]
    tgt_out = nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD)
    return shifted(batch.ids.numpy(), batch.src.numpy(), batch.src_mask.numpy(), tgt_out.numpy())


def attention_layers(model: Transformer, kind: str) -> list[AttentionLayer]:
    """A kind's attention at each depth; the same one several times where layers are shared."""
    name = "cross_attention" if kind == "cross" else "self_attention"
    return [getattr(layer, name) for layer in (model.encoder_layers if kind == "encoder" else model.decoder_layers)]


Collected = list[tuple[Tensor, Tensor | None]]
"""In the order of the calls: weights (B, H, T, S), and the norm of what each key would give each head (B, H, S)."""


@contextmanager
def collected(model: Transformer, kind: str, *, norms: bool) -> Iterator[Collected]:
    """What attention of this kind does in each layer while this lasts; without `norms`, weights alone."""
    found: Collected = []

    def ask(module: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        return args, {**kwargs, "need_weights": True}

    def keep(module: MultiHeadAttention, args: tuple, output: tuple[Tensor, Tensor]) -> None:
        found.append((output[1], value_norms(module, args[2]) if norms else None))

    handles = []
    for layer in dict.fromkeys(attention_layers(model, kind)):  # shared layers once
        handles.append(layer.attention.register_forward_pre_hook(ask, with_kwargs=True))
        handles.append(layer.attention.register_forward_hook(keep))
    try:
        yield found
    finally:
        for handle in handles:
            handle.remove()


def value_norms(attention: MultiHeadAttention, value: Tensor) -> Tensor:
    """The length of `f(x) = (x W_v + b_v) W_o` for each key and head: what a weight of 1 would add to the output.

    Of values (B, S, D) float32 (B, H, S). The output's own bias belongs to no key and is left out, as in the source:
    Kobayashi et al. 2020, equations 2 to 5.
    """
    values = attention.v_proj(value).unflatten(-1, (attention.num_kv_heads, -1)).transpose(1, 2).float()
    values = repeat_kv(values, attention.num_heads)  # (B, H, S, K)
    out = attention.out_proj.weight.float().unflatten(1, (attention.num_heads, -1))  # (D, H, K)
    products = torch.einsum("dhk,dhl->hkl", out, out)  # |v W|^2 = v (W W^T) v^T, without vectors of width D
    return ((values @ products) * values).sum(-1).clamp(min=0).sqrt()


def _named(kind: str, found: Collected, query_mask: Tensor, key_mask: Tensor) -> dict[str, NDArray]:
    """Layers stacked (B, layers, H, query, key), without padding; norms, if there are any, as shares of their row."""
    real = (query_mask[:, :, None] & key_mask[:, None, :]).numpy()[:, None, None]
    weights = torch.stack([layer for layer, _ in found], dim=1).float().cpu().numpy()
    maps = {kind: np.where(real, weights, np.float32(0))}
    lengths = [length for _, length in found if length is not None]
    if lengths:
        added = maps[kind] * torch.stack(lengths, dim=1).cpu().numpy()[:, :, :, None]
        sums = added.sum(-1, keepdims=True)
        maps[f"{kind}_norm"] = np.divide(added, sums, out=np.zeros_like(added), where=sums > 0)
    return maps
