"""Attention weights of a model, by a pass of their own over the same weights: training never pays for them."""

from contextlib import ExitStack
from functools import partial

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
    # by kind in the order of the calls: weights (B, H, T, S), and what `value_norms` gives (B, H, S)
    weights: dict[str, list[Tensor]] = {kind: [] for kind in masks}
    lengths: dict[str, list[Tensor]] = {kind: [] for kind in masks}

    def ask(module: nn.Module, args: tuple, kwargs: dict) -> tuple[tuple, dict]:
        return args, {**kwargs, "need_weights": True}

    def keep(kind: str, module: MultiHeadAttention, args: tuple, output: tuple[Tensor, Tensor]) -> None:
        weights[kind].append(output[1])
        if norms:
            lengths[kind].append(value_norms(module, args[2]))

    with ExitStack() as stack:
        stack.enter_context(evaluation_mode(model))
        for kind in masks:
            for layer in dict.fromkeys(attention_layers(model, kind)):  # shared layers once
                asked = layer.attention.register_forward_pre_hook(ask, with_kwargs=True)
                kept = layer.attention.register_forward_hook(partial(keep, kind))
                stack.callback(asked.remove)
                stack.callback(kept.remove)
        logits = model(batch.src.to(device), src_mask.to(device), batch.tgt_in.to(device))
    maps: dict[str, NDArray] = {}
    for kind, (query_mask, key_mask) in masks.items():
        real = (query_mask[:, :, None] & key_mask[:, None, :]).numpy()[:, None, None]
        stacked = torch.stack(weights[kind], dim=1).float().cpu().numpy()  # (B, layers, H, T, S)
        maps[kind] = np.where(real, stacked, np.float32(0))
        if norms:
            added = maps[kind] * torch.stack(lengths[kind], dim=1).cpu().numpy()[:, :, :, None]
            sums = added.sum(-1, keepdims=True)
            maps[f"{kind}_norm"] = np.divide(added, sums, out=np.zeros_like(added), where=sums > 0)
    return Maps(**maps), logits


def snapshot(
    model: Transformer, batch: Batch, *, limit: LengthLimit, is_whole: bool = True
) -> tuple[Maps, list[Hypothesis]]:
    """`capture` with norms, of the references and (`*_free`) of the model's own greedy outputs, and these outputs.

    Unless it is to be whole, the maps are the weights of the references alone. Outputs are no longer than `limit` says,
    nor more than `MOST_LONGER` tokens longer than the longest reference.
    """
    longest = batch.tgt_out.shape[1] + MOST_LONGER
    limits = [min(limit.of(length), longest) for length in batch.src_mask.sum(1).tolist()]
    device = next(model.parameters()).device
    hypotheses = greedy(model, batch.src.to(device), batch.src_mask.to(device), max_lengths=limits)
    return with_outputs(model, batch, hypotheses) if is_whole else capture(model, batch), hypotheses


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
