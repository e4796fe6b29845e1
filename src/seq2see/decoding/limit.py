"""How long an output may get."""

from dataclasses import dataclass, replace

import numpy as np

from seq2see.options import Position, TrainOptions


@dataclass(frozen=True)
class LengthLimit:
    """The most target tokens that a source may get, EOS included: as many as were asked for, or learned from pairs.

    Args:
        ratio: target tokens per source token, generously.
        slack: tokens added to that.
        floor: what every source may get, however short it is.
        asked: what every source gets in the place of all that (`decode.max_length`); None: nothing was asked for.
        cap: never more than this, the places of a learned table of positions; None: no cap.
    """

    ratio: float
    slack: int = 8
    floor: int = 0
    asked: int | None = None
    cap: int | None = None

    @classmethod
    def learn(cls, source_lengths: np.ndarray, target_lengths: np.ndarray) -> "LengthLimit":
        """From the lengths of training pairs, EOS included: mean ratio plus three standard deviations."""
        ratios = target_lengths / np.maximum(source_lengths, 1)
        return cls(ratio=float(ratios.mean() + 3 * ratios.std()))

    def covering(self, source_lengths: np.ndarray, target_lengths: np.ndarray) -> "LengthLimit":
        """With a floor under which all these targets can be written.

        A higher ratio would do it too, but one short source with a long target would then let all long sources have
        outputs without end.
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


def bounded(limit: LengthLimit, options: TrainOptions) -> LengthLimit:
    """The limit with what was asked for, up or down, and no more than a learned table has positions."""
    is_learned = options.model.position is Position.learned
    return replace(limit, asked=options.decode.max_length, cap=options.model.max_positions if is_learned else None)
