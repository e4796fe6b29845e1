"""What our step gains where: the same step with one of its parts replaced by the usual one."""

from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any
from unittest.mock import patch

import torch
from torch import Tensor
from torch.nn import functional as F

from benchmark.apart import Contender, apart
from benchmark.figure import Figure, Rounds
from benchmark.train.peers import Ours, Size, random_batch, work_of
from seq2see.attention import MultiHeadAttention
from seq2see.transformer import Transformer

OURS, MEMORY, OPTIMISER = "all parts ours", "freed memory goes back to the system", "AdamW as torch chooses it"
PARTS = (
    OURS, "torch's dropout", "padding computed", "weights made explicit", OPTIMISER, MEMORY,
    "no dropout at all",
)  # fmt: skip
TURNS = 5  # steps a round: as each is so short, they take turns after every single one


def figures(name: str, size: Size, *, rounds: int) -> Iterator[Figure]:
    """Real target tokens a second of each replacement; the ratio says what the part is worth."""
    contenders = {part: Contender(_work, (part, size), keeps_memory=part != MEMORY) for part in PARTS}
    with apart(contenders) as work:
        measured = Rounds.run(f"causes, {name}", "tokens/s", work, rounds=rounds * TURNS)
    yield from measured.figures(OURS)


def _work(part: str, size: Size) -> Callable[[], float]:
    """A step with the part replaced, for as long as the process lives."""
    dropout = import_module("seq2see.attention.dropout")  # a function of that name hides it
    replaced: dict[str, tuple[Any, str, Any]] = {
        "torch's dropout": (dropout, "dropout", F.dropout),
        "padding computed": (Transformer, "forward", _among_padding),
        "weights made explicit": (MultiHeadAttention, "forward", _explicit),
        "no dropout at all": (dropout, "dropout", lambda x, p: x),
    }
    if part in replaced:
        patch.object(*replaced[part]).start()
    torch.manual_seed(0)
    batches = [random_batch(size)]
    return work_of(Ours(size), batches, fused=part != OPTIMISER)


_attention, _model = MultiHeadAttention.forward, Transformer.forward


def _explicit(self: MultiHeadAttention, *arguments: Tensor, **more: Any) -> tuple[Tensor, Tensor | None]:
    return _attention(self, *arguments, **{**more, "need_weights": True})


def _among_padding(self: Transformer, src: Tensor, src_mask: Tensor, tgt_in: Tensor, tgt_mask: Tensor) -> Tensor:
    return _model(self, src, src_mask, tgt_in)[tgt_mask]
