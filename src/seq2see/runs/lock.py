"""One process at a time writes a folder: a lock of the operating system, which ends with the process that holds it."""

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path

from filelock import FileLock, Timeout

from seq2see.runs.folder import LOCK

_PATIENCE = 1.0  # seconds, in which another process may be about to end


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keeps other processes from writing the folder, but where no lock can be had: a read-only folder, some networks.

    Args:
        folder: exists.

    Raises:
        ValueError: another process writes it; the message says which.
    """
    file = folder / LOCK
    lock = FileLock(file, timeout=_PATIENCE, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire()
    except Timeout as error:
        raise ValueError(
            f"{folder} is being written by {_holder(file)}: wait until it has ended, or stop it"
        ) from error
    except OSError:
        pass
    else:
        with suppress(OSError):
            file.write_text(_ourselves(), encoding="utf-8")
    try:
        yield
    finally:
        if lock.is_locked:
            with suppress(OSError):
                file.unlink()  # whoever waits for it notices that it is gone, and makes another
            lock.release()


def _ourselves() -> str:
    now = datetime.now().strftime("%Y-%m-%d %H:%M:%S")
    return f"process {os.getpid()} on {socket.gethostname()} since {now} ({' '.join(sys.argv)[:200]})"


def _holder(file: Path) -> str:
    with suppress(OSError, ValueError):
        return file.read_text(encoding="utf-8") or "another process"
    return "another process"
