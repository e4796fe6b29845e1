"""Signals that ask a command to stop: each raises at once, and is remembered in case nobody hears it."""

import signal


class Terminated(KeyboardInterrupt):
    """SIGTERM arrived; it stops a run in the same way as SIGINT."""


_asked: list[type[KeyboardInterrupt]] = []


def listen() -> None:
    """From now on SIGINT (unless it is ignored) and SIGTERM raise, and are remembered."""
    _asked.clear()
    signal.signal(signal.SIGTERM, _stop)
    if signal.getsignal(signal.SIGINT) is not signal.SIG_IGN:
        signal.signal(signal.SIGINT, _stop)


def stop_if_asked() -> None:
    """Raises again what was raised where Python ignores exceptions, such as while it collects garbage."""
    if _asked:
        raise _asked[0]


def _stop(number: int, frame: object) -> None:
    _asked[:] = [Terminated if number == signal.SIGTERM else KeyboardInterrupt]
    raise _asked[0]
