"""What a head is worth: how the loss leans on it, and what happens without it.

A map says where a head reads from, not whether anything depends on it. These measures do: both change what the heads
put into the output, on the same pairs that the maps are of. The attention modules know nothing of it: a hook stands
before their output projection, where the heads' contexts lie side by side.
"""

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seq2see.attention import AttentionLayer
from seq2see.data import Batch
from seq2see.maps.arrays import KINDS
from seq2see.maps.table import HeadEffects
from seq2see.text import BOS, PAD
from seq2see.transformer import Transformer

MOST_NUMBERS = 2**22  # of the widest layer in one forward pass: 16 megabytes


def head_effects(model: Transformer, batch: Batch) -> HeadEffects:
    """Importance and ablation of every head, teacher-forced, in evaluation mode.

    One pass with gradients, and as many rows of a pass without as there are heads times pairs.

    Args:
        model: on any device; its mode, gradients and the random state are as before afterwards.
        batch: the pairs, few.

    Source:
        Michel, Levy and Neubig 2019, "Are Sixteen Heads Really Better than One?": importance is the mean over pairs of
        |d loss / d mask| (equation 2, not normalised by layer), ablation the model without the head (section 3.2).
        The loss of a pair is its mean over tokens, and that of several the mean over pairs.
    """
    training = model.training
    model.eval()
    try:
        with torch.inference_mode(False):
            importance = _importance(model, batch)
        with torch.inference_mode():
            losses, exact = _without_each(model, batch)
    finally:
        model.train(training)
    return HeadEffects(
        importance,
        {kind: losses[kind] - losses["all"] for kind in KINDS},
        {kind: exact[kind] - exact["all"] for kind in KINDS},
    )


def _importance(model: Transformer, batch: Batch) -> dict[str, np.ndarray]:
    device = next(model.parameters()).device
    shape = (len(batch.src), cast(int, model.options.num_heads))
    masks = {
        kind: [torch.ones(shape, device=device, requires_grad=True) for _ in _layers(model, kind)] for kind in KINDS
    }
    every = [mask for kind in KINDS for mask in masks[kind]]
    with torch.enable_grad(), _heads_scaled(model, masks):
        loss, _ = _scores(model, batch)
        gradients = iter(torch.autograd.grad(loss.sum(), every))
    return {kind: np.stack([next(gradients).abs().mean(0).cpu().numpy() for _ in masks[kind]]) for kind in KINDS}


def _without_each(model: Transformer, batch: Batch) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Mean loss and share of exact matches, by kind (layers, heads), and with all heads."""
    num_heads = cast(int, model.options.num_heads)
    heads = [
        (kind, layer, head) for kind in KINDS for layer in range(len(_layers(model, kind))) for head in range(num_heads)
    ]
    values = np.zeros((2, len(heads)))
    loss, exact = _scores(model, batch)
    losses: dict[str, np.ndarray] = {"all": loss.mean().cpu().numpy()}
    matches: dict[str, np.ndarray] = {"all": exact.double().mean().cpu().numpy()}
    widest = max(model.d_model, model.output_proj.out_features)
    at_once = max(1, MOST_NUMBERS // (batch.src.numel() * model.d_model + batch.tgt_in.numel() * widest))
    for start in range(0, len(heads), at_once):
        some = heads[start : start + at_once]
        found = _with_some_off(model, batch, some)
        values[:, start : start + len(some)] = [
            part.view(len(some), -1).double().mean(1).cpu().numpy() for part in found
        ]
    start = 0
    for kind in KINDS:
        end = start + len(_layers(model, kind)) * num_heads
        losses[kind], matches[kind] = values[:, start:end].reshape(2, -1, num_heads)
        start = end
    return losses, matches


def _with_some_off(model: Transformer, batch: Batch, heads: list[tuple[str, int, int]]) -> tuple[Tensor, Tensor]:
    """Loss and exactness of each pair (heads x B), the first B without the first of these heads, and so on."""
    device = next(model.parameters()).device
    size = len(batch.src)
    repeated = Batch(*(part.repeat(len(heads), *[1] * (part.ndim - 1)) for part in batch))
    masks = {
        kind: [torch.ones(len(heads) * size, model.options.num_heads or 1, device=device) for _ in _layers(model, kind)]
        for kind in KINDS
    }
    for place, (kind, layer, head) in enumerate(heads):
        masks[kind][layer][place * size : (place + 1) * size, head] = 0
    with _heads_scaled(model, masks):
        return _scores(model, repeated)


def _scores(model: Transformer, batch: Batch) -> tuple[Tensor, Tensor]:
    """For each pair its loss, nats a token (B,), and whether greedy decoding would give exactly its target, bool (B,).

    It would exactly if every token of the target is the most probable one after those before it: so one forced pass
    tells, without decoding.
    """
    device = next(model.parameters()).device
    tgt_out = batch.tgt_out.to(device)
    logits = model(batch.src.to(device), batch.src_mask.to(device), batch.tgt_in.to(device)).float()
    real = tgt_out != PAD
    losses = F.cross_entropy(logits.transpose(1, 2), tgt_out, ignore_index=PAD, reduction="none")
    with torch.no_grad():
        possible = logits.detach().index_fill(-1, torch.tensor([PAD, BOS], device=device), float("-inf"))
        exact = ((possible.argmax(-1) == tgt_out) | ~real).all(1)
    return losses.sum(1) / real.sum(1), exact


def _layers(model: Transformer, kind: str) -> list[AttentionLayer]:
    """A kind's attention at each depth; the same one several times where layers are shared."""
    name = "cross_attention" if kind == "cross" else "self_attention"
    return [getattr(layer, name) for layer in (model.encoder_layers if kind == "encoder" else model.decoder_layers)]


@contextmanager
def _heads_scaled(model: Transformer, masks: dict[str, list[Tensor]]) -> Iterator[None]:
    """Multiplies what each head gives by its mask (B, H), for each kind and depth, in one forward pass."""
    with ExitStack() as stack:
        for kind, of_layers in masks.items():
            depths: dict[nn.Module, Iterator[Tensor]] = {}
            layers = _layers(model, kind)
            for layer in dict.fromkeys(layers):  # a shared layer meets the masks of its depths one after the other
                depths[layer] = iter([mask for other, mask in zip(layers, of_layers, strict=True) if other is layer])

                def scale(
                    module: nn.Module, args: tuple[Tensor], own: Iterator[Tensor] = depths[layer]
                ) -> tuple[Tensor]:
                    mask = next(own)
                    contexts = args[0].unflatten(-1, (mask.shape[1], -1))  # (B, T, H, K)
                    return ((contexts * mask[:, None, :, None].to(contexts.dtype)).flatten(2),)

                stack.callback(layer.attention.out_proj.register_forward_pre_hook(scale).remove)
        yield
