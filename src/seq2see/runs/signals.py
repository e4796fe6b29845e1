"""Signals that ask a command to stop: each raises at once, or when it is convenient. A second one ends the process."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived; it stops a run in the same way as SIGINT."""


_asked: list[type[KeyboardInterrupt]] = []
_listened: list[signal.Signals] = []
_held: list[bool] = []  # one for each `held` that is entered


def listen() -> None:
    """From now on SIGINT (unless it is ignored) and SIGTERM raise, and are remembered."""
    _asked.clear()
    _listened[:] = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        _listened.append(signal.SIGINT)
    listen_again()


def listen_again() -> None:
    """Takes back the signals that `listen` was called for: Lightning puts a handler of its own before SIGTERM's."""
    for number in _listened:
        signal.signal(number, _stop)


def asked() -> bool:
    """Whether a signal has come."""
    return bool(_asked)


def stop_if_asked() -> None:
    """Raises what was held back, or was raised where Python ignores exceptions, such as while it collects garbage."""
    if _asked:
        raise _asked[0]


@contextmanager
def held() -> Iterator[None]:
    """While this lasts a first signal is only remembered: the work inside looks at `asked` where it can stop."""
    _held.append(True)
    try:
        yield
    finally:
        _held.pop()


def _stop(number: int, frame: object) -> None:
    if _asked:  # the second one: nothing is waited for
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        return
    _asked[:] = [Terminated if number == signal.SIGTERM else KeyboardInterrupt]
    if not _held:
        raise _asked[0]
