"""What our step gains where: the same step with one of its parts replaced by the usual one."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from importlib import import_module
from unittest.mock import patch

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from seq2see.attention import multihead
from seq2see.runs.benchmark.apart import Contender, apart
from seq2see.runs.benchmark.figure import Figure, Rounds
from seq2see.runs.benchmark.train import peers
from seq2see.runs.benchmark.train.peers import SMOOTHING, Ours, Pairs, Size, padded_work, random_batch, work_of
from seq2see.text import PAD

dropout_module = import_module("seq2see.attention.dropout")
OURS = "all parts ours"
STEPS = 4  # a round


def figures(name: str, size: Size, *, rounds: int) -> Iterator[Figure]:
    """Real target tokens a second of each replacement; the ratio says what the part is worth."""
    torch.manual_seed(0)
    batches = [random_batch(size) for _ in range(STEPS)]
    model = Ours(size)
    usual = {
        "torch's dropout": patch.object(dropout_module, "dropout", F.dropout),
        "torch's choice of kernel": patch.object(multihead, "SHORT", 0),
        "weights made explicit": patch.object(multihead.MultiHeadAttention, "forward", _explicit),
    }
    work = {OURS: work_of(model, batches, fused=True)}
    work |= {part: _within(context, work_of(model, batches, fused=True)) for part, context in usual.items()}
    work["logits and loss of padding too"] = work_of(_AllLogits(model), batches, fused=True)
    work["AdamW as torch chooses it"] = work_of(model, batches, fused=False)
    work["no dropout at all"] = _within(patch.object(dropout_module, "dropout", lambda x, p: x), work[OURS])
    usual_memory = Contender(padded_work, (peers.OURS, size, STEPS))
    with apart({"freed memory goes back to the system": usual_memory}) as in_a_process:
        yield from Rounds.run(f"causes, {name}", "tokens/s", work | in_a_process, rounds=rounds).figures(OURS)


def _within(context: AbstractContextManager[object], work: Callable[[], float]) -> Callable[[], float]:
    def inside() -> float:
        with context:
            return work()

    return inside


_forward = multihead.MultiHeadAttention.forward


def _explicit(self: multihead.MultiHeadAttention, *arguments: Tensor, **more: object) -> tuple[Tensor, Tensor | None]:
    return _forward(self, *arguments, **{**more, "need_weights": True})  # pyright: ignore[reportArgumentType]


class _AllLogits(nn.Module):
    """Ours, with logits for padded targets too, and torch's loss."""

    def __init__(self, ours: Ours) -> None:
        super().__init__()
        self.ours = ours

    def forward(self, batch: Pairs) -> Tensor:
        logits = self.ours.model(batch.src, batch.src != PAD, batch.tgt[:, :-1])
        targets = batch.tgt[:, 1:].flatten()
        return F.cross_entropy(logits.flatten(0, 1), targets, ignore_index=PAD, label_smoothing=SMOOTHING)
