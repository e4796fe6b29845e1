"""How long a run lasts, how far it is, and what the learning rate is there."""

import math
import time
from dataclasses import dataclass, field

from seq2see.options import Schedule
from seq2see.ranks import num_ranks, rank, summed


@dataclass
class Budget:
    """The end of a run, by optimiser steps, by seconds, or by whichever comes first; None: no such limit.

    `seconds_before` are of an earlier process, whose run goes on here. Of several processes all go by the clock of the
    first, as it was when `agree` was last called.
    """

    max_steps: int | None
    max_seconds: float | None = None
    seconds_before: float = 0.0
    started: float = field(default_factory=time.monotonic)
    _agreed: float | None = None  # seconds; None: by the clock

    def start(self) -> None:
        """The clock starts now, or goes on."""
        self.started = time.monotonic()
        self.agree()

    def agree(self) -> None:
        """All processes take the time from the first one."""
        self._agreed = None
        if num_ranks() > 1:
            self._agreed = summed(self.seconds if rank() == 0 else 0)[0]

    @property
    def seconds(self) -> float:
        """Seconds of training so far."""
        by_clock = self.seconds_before + time.monotonic() - self.started
        return by_clock if self._agreed is None else self._agreed

    def progress(self, step: int) -> float:
        """How near its end the run is after this many optimiser steps: 0 at the start, 1 at the end."""
        by_time = self.seconds / self.max_seconds if self.max_seconds else 0.0
        return min(max(self._by_steps(step), by_time), 1.0)

    def planned(self, step: int) -> float:
        """The same as the learning rate and the validations see it: by steps alone where they are limited.

        So equal runs are equal, also beside a limit of time: that only ends them.
        """
        return self._by_steps(step) if self.max_steps else self.progress(step)

    def _by_steps(self, step: int) -> float:
        return min(step / self.max_steps, 1.0) if self.max_steps else 0.0


def learning_rate_factor(schedule: Schedule, *, step: int, warmup_steps: int, progress: float) -> float:
    """What the highest learning rate is multiplied by in one optimiser step.

    Args:
        schedule: what happens after the warm-up.
        step: optimiser steps done before this one.
        warmup_steps: steps of linear rise at the start.
        progress: how far the run is, 0 to 1; `cosine` and `linear` reach 0 at 1.
    """
    warmup = min((step + 1) / warmup_steps, 1.0) if warmup_steps else 1.0
    match schedule:
        case Schedule.constant:
            return warmup
        case Schedule.inverse_sqrt:
            return warmup * math.sqrt(max(warmup_steps, 1) / max(step + 1, warmup_steps, 1))
        case Schedule.linear:
            return warmup * (1 - progress)
        case Schedule.cosine:
            return warmup * 0.5 * (1 + math.cos(math.pi * progress))
