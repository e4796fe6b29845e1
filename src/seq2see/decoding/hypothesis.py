"""What decoding finds, how long it may get, and what all methods of decoding share."""

import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from seq2see.decoding.ensemble import Predictor
from seq2see.options import DecodeOptions, ModelOptions, Position
from seq2see.text import BOS, PAD


class Hypothesis(NamedTuple):
    """What a model answers to one source."""

    ids: list[int]  # of the target, without BOS and EOS
    score: float  # summed log-probability of the ids, and of EOS if it was reached, nats
    ended: bool  # whether EOS was reached before the length limit

    def ranked_by(self, length_penalty: float) -> float:
        """Log-probability / length ** length_penalty, the length counted with EOS."""
        return self.score / max(len(self.ids) + self.ended, 1) ** length_penalty


def best_first(hypotheses: Iterable[Hypothesis], length_penalty: float) -> list[Hypothesis]:
    """By `ranked_by`; those that were cut at the length limit come after all that ended."""
    return sorted(hypotheses, key=lambda one: (one.ended, one.ranked_by(length_penalty)), reverse=True)


@dataclass(frozen=True)
class LengthLimit:
    """The most target tokens that a source may get, EOS included: as many as were asked for, or learned from pairs."""

    ratio: float  # target tokens per source token, generously
    slack: int = 8  # tokens added to that
    floor: int = 0  # what every source may get, however short it is
    asked: int | None = None  # what every source gets in the place of all that (`decode.max_length`)
    cap: int | None = None  # never more than this, the places of a learned table of positions

    @classmethod
    def learn(cls, source_lengths: np.ndarray, target_lengths: np.ndarray) -> "LengthLimit":
        """From the lengths of training pairs, EOS included: mean ratio plus three standard deviations."""
        ratios = target_lengths / np.maximum(source_lengths, 1)
        return cls(ratio=float(ratios.mean() + 3 * ratios.std()))

    def covering(self, source_lengths: np.ndarray, target_lengths: np.ndarray) -> "LengthLimit":
        """With a floor under which all these targets can be written.

        A higher ratio would do it too, but let all long sources run on for one short source with a long target.
        """
        longer = target_lengths[self.too_short_for(source_lengths, target_lengths)]
        return replace(self, floor=max(self.floor, int(longer.max(initial=0))))

    def of(self, source_length: int) -> int:
        """Target tokens at most, EOS included, for a source of this many tokens."""
        limit = self.asked or max(int(np.ceil(self.ratio * source_length)) + self.slack, self.floor)
        return limit if self.cap is None else min(limit, self.cap)

    def too_short_for(self, source_lengths: np.ndarray, target_lengths: np.ndarray) -> np.ndarray:
        """Which of these targets cannot be written, bool (pairs,); lengths as in `learn`."""
        return target_lengths > np.array([self.of(length) for length in source_lengths.tolist()], dtype=np.int64)

    @property
    def remedy(self) -> str:
        """What lets outputs be longer."""
        if self.cap is not None and self.cap <= (self.asked or 0):
            return f"the model has no more positions (model.max_positions={self.cap}): train it with more"
        most = "" if self.cap is None else f", up to the {self.cap} positions of the model"
        return f"set a larger decode.max_length{most}"


def bounded(limit: LengthLimit, decode: DecodeOptions, model: ModelOptions) -> LengthLimit:
    """The limit with what was asked for, up or down, and no more than a learned table has positions."""
    is_learned = model.position is Position.learned
    return replace(limit, asked=decode.max_length, cap=model.max_positions if is_learned else None)


@contextmanager
def evaluation_mode(model: torch.nn.Module) -> Iterator[None]:
    """No dropout and no gradients inside; the mode is put back after."""
    training = model.training
    model.eval()
    try:
        with torch.inference_mode():
            yield
    finally:
        model.train(training)


def most_ids(model: Predictor) -> int:
    """Target ids that the model can read after BOS: a token in the last place of a learned table could not be fed back.

    So there only EOS is written, and a text that is cut is shorter by one.
    """
    positions = model.decoder_positions.max_length
    return sys.maxsize if positions is None else positions - 1


def next_log_probs(logits: Tensor) -> Tensor:
    """Log-probabilities (..., V) of the next token, of logits (..., V), float32 at least.

    PAD and BOS cannot be produced; all others have the log-probability that the loss is made of.
    """
    log_probs = torch.log_softmax(logits, dim=-1, dtype=torch.promote_types(logits.dtype, torch.float32))
    log_probs[..., [PAD, BOS]] = float("-inf")
    return log_probs
