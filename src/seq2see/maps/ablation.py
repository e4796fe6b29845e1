"""What a head is worth: how the loss leans on it, and what happens without it.

A map says where a head reads from, not whether anything depends on it. These measures do: both change what the heads
put into the output, on the same pairs that the maps are of. The attention modules know nothing of it: a hook stands
before their output projection, where the heads' contexts lie side by side.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seq2see.data import Batch
from seq2see.maps.arrays import KINDS
from seq2see.maps.capture import attention_layers
from seq2see.maps.measures import HeadEffects
from seq2see.text import BOS, PAD
from seq2see.transformer import Transformer


def head_effects(model: Transformer, batch: Batch) -> HeadEffects:
    """Importance and ablation of every head, teacher-forced, in evaluation mode: one pass with gradients, one a head.

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
        with torch.inference_mode(False), torch.enable_grad():
            masks = _masks(model, len(batch.src))
            every = [mask.requires_grad_() for kind in KINDS for mask in masks[kind]]
            gradients = iter(torch.autograd.grad(_scores(model, batch, masks)[0].sum(), every))
        importance = {
            kind: np.stack([next(gradients).abs().mean(0).cpu().numpy() for _ in masks[kind]]) for kind in KINDS
        }
        with torch.inference_mode():
            masks, losses, matches = _masks(model, 1), {}, {}
            whole_loss, whole_match = (part.double().mean() for part in _scores(model, batch, masks))
            for kind in KINDS:
                losses[kind], matches[kind] = np.zeros((2, len(masks[kind]), masks[kind][0].shape[1]))
                for layer, head in np.ndindex(losses[kind].shape):
                    masks[kind][layer][:, head] = 0
                    loss, match = _scores(model, batch, masks)
                    masks[kind][layer][:, head] = 1
                    losses[kind][layer, head] = loss.double().mean() - whole_loss
                    matches[kind][layer, head] = match.double().mean() - whole_match
        return HeadEffects(importance, losses, matches)
    finally:
        model.train(training)


Masks = dict[str, list[Tensor]]
"""For each kind and depth how much of each head goes on, (B, H), or (1, H) for all pairs."""


def _masks(model: Transformer, size: int) -> Masks:
    shape, device = (size, model.options.num_heads or 0), next(model.parameters()).device
    return {kind: [torch.ones(shape, device=device) for _ in attention_layers(model, kind)] for kind in KINDS}


def _scores(model: Transformer, batch: Batch, masks: Masks) -> tuple[Tensor, Tensor]:
    """For each pair its loss, nats a token (B,), and whether greedy decoding would give its target exactly, bool (B,).

    It would exactly if every token of the target is the most probable one after those before it: so one forced pass
    tells, without decoding.
    """
    device = next(model.parameters()).device
    tgt_out = batch.tgt_out.to(device)

    def scale(kind: str, depth: int, contexts: Tensor) -> Tensor:
        return contexts * masks[kind][depth][:, None, :, None].to(contexts.dtype)

    with contexts_changed(model, scale):
        logits = model(batch.src.to(device), batch.src_mask.to(device), batch.tgt_in.to(device)).float()
    real = tgt_out != PAD
    losses = F.cross_entropy(logits.transpose(1, 2), tgt_out, ignore_index=PAD, reduction="none")
    with torch.no_grad():
        possible = logits.detach().index_fill(-1, torch.tensor([PAD, BOS], device=device), float("-inf"))
        exact = ((possible.argmax(-1) == tgt_out) | ~real).all(1)
    return losses.sum(1) / real.sum(1), exact


@contextmanager
def contexts_changed(model: Transformer, change: Callable[[str, int, Tensor], Tensor]) -> Iterator[None]:
    """In one forward pass, what each head gives is what `change` makes of kind, depth and the contexts (B, T, H, K)."""
    due: dict[nn.Module, list[tuple[str, int]]] = {}
    for kind in KINDS:
        for depth, layer in enumerate(attention_layers(model, kind)):
            due.setdefault(layer.attention.out_proj, []).append(
                (kind, depth)
            )  # a shared layer meets its depths in turn

    def changed(module: nn.Module, args: tuple[Tensor]) -> tuple[Tensor]:
        contexts = args[0].unflatten(-1, (model.options.num_heads or 1, -1))
        return (change(*due[module].pop(0), contexts).flatten(2),)

    handles = [module.register_forward_pre_hook(changed) for module in due]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()
