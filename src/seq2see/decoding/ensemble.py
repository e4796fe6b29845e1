"""Several trained models as one, whose probabilities are the mean of theirs at each step."""

import math
from collections.abc import Iterator, Sequence
from itertools import islice

import torch
from torch import Tensor, nn

from seq2see.transformer import DecoderCache, Transformer


class Ensemble(nn.Module):
    """What decoding takes of a `Transformer`, of several: the logits are the log of the mean of their probabilities.

    Their memories lie side by side, and their caches one behind the other.

    Args:
        members: at least one; they share both vocabularies, and may differ in all else.

    Source:
        Sutskever et al. 2014, table 1 (ensembles of translation models).
    """

    def __init__(self, members: Sequence[Transformer]) -> None:
        super().__init__()
        self.members: Sequence[Transformer] = nn.ModuleList(members)  # type: ignore[assignment]
        # of each side the positions that end first, for all members read the same tokens
        self.encoder_positions, self.decoder_positions = (
            min(schemes, key=lambda scheme: scheme.max_length or math.inf)
            for schemes in ([one.encoder_positions for one in members], [one.decoder_positions for one in members])
        )

    def forward(self, src: Tensor, src_mask: Tensor, tgt_in: Tensor, tgt_mask: Tensor | None = None) -> Tensor:
        """As that of a `Transformer`."""
        return _log_of_mean([member(src, src_mask, tgt_in, tgt_mask) for member in self.members])

    def encode(self, src: Tensor, src_mask: Tensor) -> Tensor:
        """The source as each member sees it: memory (B, S, sum of D)."""
        return torch.cat([member.encode(src, src_mask) for member in self.members], dim=-1)

    def decode(self, tgt_in: Tensor, memory: Tensor, src_mask: Tensor, cache: DecoderCache | None = None) -> Tensor:
        """Scores of each next target token given the encoded source, logits (B, T, V)."""
        memories = memory.split([member.d_model for member in self.members], dim=-1)
        caches = [None] * len(memories) if cache is None else self._caches(cache)
        parts = zip(self.members, memories, caches, strict=True)
        logits = _log_of_mean([member.decode(tgt_in, own, src_mask, seen) for member, own, seen in parts])
        if cache is not None:
            cache.length += tgt_in.shape[1]
        return logits

    def new_cache(self) -> DecoderCache:
        """An empty state for `decode`."""
        return DecoderCache(sum(len(member.decoder_layers) for member in self.members))

    def _caches(self, cache: DecoderCache) -> Iterator[DecoderCache]:
        """Of each member its own layers, which grow in place."""
        layers = iter(cache.layers)
        for member in self.members:
            own = DecoderCache(0)
            own.length, own.layers = cache.length, list(islice(layers, len(member.decoder_layers)))
            yield own


Predictor = Transformer | Ensemble
"""What decoding is a function of."""


def _log_of_mean(logits: Sequence[Tensor]) -> Tensor:
    """The log of the mean of the softmaxes of logits (..., V), float32 at least."""
    log_probs = [own.log_softmax(-1, dtype=torch.promote_types(own.dtype, torch.float32)) for own in logits]
    return torch.stack(log_probs).logsumexp(0) - math.log(len(logits))
