"""How probable given targets are, token by token, when the model is told what came before."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import torch
from torch.nn import functional as F

from seq2see.data import Batch
from seq2see.decoding.ensemble import Predictor
from seq2see.decoding.hypothesis import evaluation_mode
from seq2see.ranks import joined, share_of
from seq2see.text import PAD


class Forced(NamedTuple):
    """What a model makes of each token of some targets, and of the EOS behind it; nothing depends on the batches."""

    ids: Sequence[int]  # which pairs these are, as their batches say; ascending
    log_probs: Sequence[np.ndarray]  # for each pair those of its tokens, nats, float64 (T,)
    right: Sequence[np.ndarray]  # for each pair whether its tokens are the most probable ones, bool (T,)

    @property
    def totals(self) -> list[float]:
        """The log-probability of each whole target, nats."""
        return [float(own.sum()) for own in self.log_probs]

    def columns(self, groups: Sequence[Sequence[int]]) -> dict[str, np.ndarray]:
        """The counts behind `loss`, `token_accuracy` and `target_log_prob`, as `SentenceCounts` keeps them.

        `groups` are for each sentence the places of the pairs that belong to it.
        """
        rows = [(total, own.sum(), len(own), 1) for total, own in zip(self.totals, self.right, strict=True)]
        table = np.array(rows, dtype=np.float64)
        total, right, tokens, pairs = np.array([table[list(own)].sum(0) for own in groups]).T
        return {
            "loss": np.stack([-total, tokens], axis=1),
            "token_accuracy": np.stack([right, tokens], axis=1),
            "target_log_prob": np.stack([total, pairs], axis=1),
        }


def teacher_forced(model: Predictor, batches: Iterable[Batch]) -> Forced:
    """What the model makes of all targets, on its device; the batches may come in any order (see `ranks.sharing`)."""
    device, rows = next(model.parameters()).device, []
    with evaluation_mode(model):
        for batch in share_of(batches):
            src, src_mask, tgt_in, tgt_out = (part.to(device) for part in batch[1:])
            real = tgt_out != PAD
            logits, targets = model(src, src_mask, tgt_in, real), tgt_out[real]  # (tokens, V)
            logits = logits.to(torch.promote_types(logits.dtype, torch.float32))
            log_probs, right = (
                -F.cross_entropy(logits, targets, reduction="none").double(),
                logits.argmax(-1) == targets,
            )
            ends = real.sum(1).cumsum(0).tolist()[:-1]
            rows += zip(
                batch.ids.tolist(), *(np.split(own.cpu().numpy(), ends) for own in (log_probs, right)), strict=True
            )
    rows = joined(rows)
    return Forced(*zip(*sorted(rows, key=lambda row: row[0]), strict=True)) if rows else Forced((), (), ())
