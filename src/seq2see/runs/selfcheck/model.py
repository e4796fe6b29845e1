"""Promises of the model itself: nobody looks where nothing is to be seen."""

from collections.abc import Iterable
from typing import NamedTuple

import torch
from torch import Tensor

from seq2see.maps.capture import collected
from seq2see.runs.selfcheck.subject import NUM_PAIRS, Subject, random_ids
from seq2see.text import PAD

_NUM_PLACES = 8  # in a target, behind which it is changed


def padding(subject: Subject) -> float:
    """The greatest change of a logit when columns that are masked, of any symbols, follow every text."""
    model, batch = subject.model, subject.batch
    num_targets, columns = batch.tgt_in.shape[1], subject.num_columns
    more_sources = random_ids(model.source_embedding.num_embeddings, NUM_PAIRS, columns)
    more_targets = random_ids(model.target_embedding.num_embeddings, NUM_PAIRS, columns)
    hidden = torch.zeros(NUM_PAIRS, columns, dtype=torch.bool)
    real = batch.tgt_out != PAD
    with torch.inference_mode():
        logits = model(batch.src, batch.src_mask, batch.tgt_in)
        padded = model(
            torch.cat((batch.src, more_sources), dim=1),
            torch.cat((batch.src_mask, hidden), dim=1),
            torch.cat((batch.tgt_in, more_targets), dim=1),
        )
    return distance(padded[:, :num_targets][real], logits[real])


def causality(subject: Subject) -> float:
    """The greatest change of a logit when the target tokens after it are others."""
    model, batch = subject.model, subject.batch
    num_targets = batch.tgt_in.shape[1]
    others = random_ids(model.target_embedding.num_embeddings, *batch.tgt_in.shape)
    places = torch.linspace(1, num_targets, min(_NUM_PLACES, num_targets)).round().long().tolist()
    changes = []
    with torch.inference_mode():
        memory = model.encode(batch.src, batch.src_mask)
        logits = model.decode(batch.tgt_in, memory, batch.src_mask)
        for place in places:
            changed = torch.cat((batch.tgt_in[:, :place], others[:, place:]), dim=1)
            found = model.decode(changed, memory, batch.src_mask)
            changes.append(distance(found[:, :place], logits[:, :place]))
    return greatest(changes)


def empty_source(subject: Subject) -> float:
    """Numbers, among logits and gradients, that are not finite when one source has no token at all."""
    model, batch = subject.training_module().model, subject.batch
    src_mask = batch.src_mask.clone()
    src_mask[0] = False
    logits = model(batch.src, src_mask, batch.tgt_in)
    torch.log_softmax(logits, dim=-1).sum().backward()
    gradients = [parameter.grad for parameter in model.parameters() if parameter.grad is not None]
    return sum(int((~numbers.isfinite()).sum()) for numbers in (logits, *gradients))


def row_sums(subject: Subject) -> float:
    """The greatest distance from 1 of what a query gives to all keys together."""
    return greatest(float((weights.sum(-1) - 1).abs().max()) for weights, _ in _attention(subject))


def hidden_cells(subject: Subject) -> float:
    """The greatest weight on padding, or on a target token that is still to come."""
    return greatest(float(weights.masked_fill(~hidden, 0).max()) for weights, hidden in _attention(subject))


class _Seen(NamedTuple):
    """What one layer's attention looks at.

    Attributes:
        weights: (B, H, query, key).
        hidden: cells that must be 0, bool, broadcastable to the weights.
    """

    weights: Tensor
    hidden: Tensor


def _attention(subject: Subject) -> list[_Seen]:
    """The weights of every layer, by the explicit path."""
    model, batch = subject.model, subject.batch
    padding = ~batch.src_mask[:, None, None]  # (B, 1, 1, S)
    num_targets = batch.tgt_in.shape[1]
    future = torch.ones(num_targets, num_targets, dtype=torch.bool).triu(1)
    with (
        torch.inference_mode(),
        collected(model.encoder_layers, "self_attention", norms=False) as encoder,
        collected(model.decoder_layers, "self_attention", norms=False) as decoder,
        collected(model.decoder_layers, "cross_attention", norms=False) as cross,
    ):
        model(batch.src, batch.src_mask, batch.tgt_in)
    return [
        *(_Seen(weights, padding) for weights, _ in (*encoder, *cross)),
        *(_Seen(weights, future) for weights, _ in decoder),
    ]


def distance(found: Tensor, expected: Tensor) -> float:
    """The greatest difference between two numbers at the same place; NaN if one is NaN."""
    return float((found - expected).abs().max())


def greatest(numbers: Iterable[float]) -> float:
    """The greatest number; NaN if one is NaN."""
    return float(torch.tensor(list(numbers), dtype=torch.float64).max())
