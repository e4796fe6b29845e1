"""Any number of encoded sentences through a decoder: sorted by length, batched, padded, and put back in order."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from seq2see.decoding.greedy import Hypothesis, greedy
from seq2see.text import EOS, PAD
from seq2see.transformer import Transformer


@dataclass(frozen=True)
class LengthLimit:
    """The most target tokens that a source may get, learned from pairs.

    Args:
        ratio: target tokens per source token, generously.
        slack: tokens added to that.
        cap: never more than this; None: no cap.
    """

    ratio: float
    slack: int = 8
    cap: int | None = None

    @classmethod
    def learn(cls, source_lengths: np.ndarray, target_lengths: np.ndarray, *, cap: int | None = None) -> "LengthLimit":
        """From the lengths of training pairs, EOS included: mean ratio plus three standard deviations."""
        ratios = target_lengths / np.maximum(source_lengths, 1)
        return cls(ratio=float(ratios.mean() + 3 * ratios.std()), cap=cap)

    def of(self, source_length: int) -> int:
        """Target tokens at most, EOS included, for a source of this many tokens."""
        limit = int(np.ceil(self.ratio * source_length)) + self.slack
        return limit if self.cap is None else min(limit, self.cap)


def decode_sentences(
    model: Transformer,
    sources: Sequence[Sequence[int]],
    *,
    limit: LengthLimit,
    batch_size: int,
    progress: Callable[[int], None] | None = None,
) -> list[Hypothesis]:
    """Greedy hypotheses of the sources, in their order.

    Args:
        model: the model, on the device to use.
        sources: source ids without EOS.
        limit: how long a hypothesis may get.
        batch_size: sentences decoded together; the text found does not depend on it.
        progress: called with the number of sentences done since the last call.
    """
    device = next(model.parameters()).device
    order = sorted(range(len(sources)), key=lambda index: len(sources[index]))
    hypotheses: list[Hypothesis | None] = [None] * len(sources)
    for start in range(0, len(order), batch_size):
        indices = order[start : start + batch_size]
        rows = [torch.tensor([*sources[index], EOS]) for index in indices]
        src = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD).to(device)
        lengths = torch.tensor([len(row) for row in rows], device=device)
        src_mask = torch.arange(src.shape[1], device=device) < lengths[:, None]
        found = greedy(model, src, src_mask, max_lengths=[limit.of(len(row)) for row in rows])
        for index, hypothesis in zip(indices, found, strict=True):
            hypotheses[index] = hypothesis
        if progress is not None:
            progress(len(indices))
    return [hypothesis for hypothesis in hypotheses if hypothesis is not None]
