"""Signals that ask a command to stop: each raises at once, or when it is convenient. A second one ends the process."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived; it stops a run in the same way as SIGINT."""


AT_ONCE = 2.0  # seconds within which two signals are one wish
_requested: list[type[KeyboardInterrupt]] = []
_times: list[float] = []  # when signals came first
_listened: list[signal.Signals] = []
_deferred: list[bool] = []  # one for each `defer_signals` that is entered


def listen() -> None:
    """From now on SIGINT (unless it is ignored) and SIGTERM raise, and are remembered."""
    _requested.clear()
    _listened[:] = [signal.SIGTERM]
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        _listened.append(signal.SIGINT)
    listen_again()


def listen_again() -> None:
    """Takes back the signals that `listen` was called for: Lightning puts a handler of its own before SIGTERM's."""
    for number in _listened:
        signal.signal(number, _stop)


def stop_requested() -> bool:
    """Whether a signal has come."""
    return bool(_requested)


def stop_if_asked() -> None:
    """Raises what was held back, or was raised where Python ignores exceptions, such as while it collects garbage."""
    if _requested:
        raise _requested[0]


def stop_too() -> None:
    """As if a signal had come: another process of the run has got one."""
    _requested[:] = _requested or [Terminated]


@contextmanager
def defer_signals() -> Iterator[None]:
    """While this lasts a first signal is only remembered: the work inside asks `stop_requested` where it can stop."""
    _deferred.append(True)
    try:
        yield
    finally:
        _deferred.pop()


def _stop(number: int, frame: object) -> None:
    if _requested and "RANK" in os.environ and time.monotonic() - _times[-1] < AT_ONCE:
        return  # torchrun passes on what the terminal has sent to this process too
    if _requested:  # the second one: nothing is waited for
        signal.signal(number, signal.SIG_DFL)
        os.kill(os.getpid(), number)
        return
    _times.append(time.monotonic())
    _requested[:] = [Terminated if number == signal.SIGTERM else KeyboardInterrupt]
    if not _deferred:
        raise _requested[0]
