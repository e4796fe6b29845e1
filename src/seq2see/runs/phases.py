"""What the time of a run is spent on."""

import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

PHASES = "phases"  # in a checkpoint: seconds by phase
START = "imports, data, model"  # what is none of the others


class Phases:
    """A stopwatch for one thing after the other; while one runs inside another, only the inner one's seconds count.

    Args:
        before: seconds by phase of earlier processes of the run.
    """

    def __init__(self, before: Mapping[str, float] | None = None) -> None:
        self._seconds = dict(before or {})
        self._running, self._since = [START], time.monotonic()

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        """Inside, the time is this phase's."""
        self.begin(name)
        try:
            yield
        finally:
            self.end(name)

    def begin(self, name: str) -> None:
        """The time is this phase's from now on."""
        self._count()
        self._running.append(name)

    def end(self, name: str) -> None:
        """It is that of the phase around it again."""
        self._count()
        self._running.remove(name)

    def seconds(self) -> dict[str, float]:
        """So far, by phase, in the order of their beginnings."""
        self._count()
        return {name: round(seconds, 3) for name, seconds in self._seconds.items()}

    def _count(self) -> None:
        now, phase = time.monotonic(), self._running[-1]
        self._seconds[phase] = self._seconds.get(phase, 0.0) + now - self._since
        self._since = now
