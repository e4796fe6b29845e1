"""How probable given targets are."""

from collections.abc import Sequence

import torch

from seq2see.decoding.hypothesis import evaluation_mode, next_log_probs
from seq2see.text import BOS, EOS, PAD
from seq2see.transformer import Transformer


def score_targets(
    model: Transformer,
    sources: Sequence[Sequence[int]],
    targets: Sequence[Sequence[int]],
    *,
    batch_size: int = 64,
) -> list[list[float]]:
    """The log-probability of each token of each target, and of the EOS behind it.

    The same numbers as decoding gives its hypotheses: PAD and BOS cannot be produced.

    Args:
        model: the model, on the device to use.
        sources: source ids without EOS.
        targets: for each source the target ids without BOS and EOS.
        batch_size: pairs at a time; no number depends on it.

    Returns:
        For each target its length + 1 log-probabilities, nats, in the order of the pairs.
    """
    device = next(model.parameters()).device
    order = sorted(range(len(sources)), key=lambda index: len(sources[index]) + len(targets[index]))
    scores: list[list[float]] = [[] for _ in sources]
    with evaluation_mode(model):
        for start in range(0, len(order), batch_size):
            indices = order[start : start + batch_size]
            src = _padded([[*sources[index], EOS] for index in indices]).to(device)
            tgt_in = _padded([[BOS, *targets[index]] for index in indices]).to(device)
            tgt_out = _padded([[*targets[index], EOS] for index in indices]).to(device)
            log_probs = next_log_probs(model(src, src != PAD, tgt_in))  # (B, T, V)
            taken = log_probs.gather(2, tgt_out[:, :, None])[:, :, 0].tolist()
            for index, row in zip(indices, taken, strict=True):
                scores[index] = row[: len(targets[index]) + 1]
    return scores


def _padded(rows: Sequence[Sequence[int]]) -> torch.Tensor:
    tensors = [torch.tensor(row) for row in rows]
    return torch.nn.utils.rnn.pad_sequence(tensors, batch_first=True, padding_value=PAD)
