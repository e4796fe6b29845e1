"""What took long is kept for the next run: a folder of files for each key, in `SEQ2SEE_CACHE` or `~/.cache/seq2see`.

A key says all that its entry was made from, so an entry is never out of date. Once the entries together are larger than
10 GB, the ones that were not used for longest are removed, down to the newest.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

MOST_BYTES = 10 * 2**30  # of all entries together
_NAME = re.compile(r"[0-9a-f]{32}(\..*)?")  # of an entry, or of one that is being written


def find(key: str) -> Path | None:
    """The folder of an entry; None if there is none. A key is 32 hexadecimal digits."""
    with suppress(RuntimeError):
        entry = _place() / key
        if entry.is_dir():
            with suppress(OSError):  # others may read what only its owner may touch
                os.utime(entry)  # its time stamp says when it was used
            return entry
    return None


def keep(key: str, write: Callable[[Path], None]) -> Path | None:
    """Makes an entry: whole or not at all, also if other processes make the same one.

    `write` puts the files into an empty folder. None if nothing can be written there, or no more.
    """
    try:
        place = _place()
        place.mkdir(mode=0o700, parents=True, exist_ok=True)
        unfinished = Path(tempfile.mkdtemp(prefix=f"{key}.", dir=place))
    except (OSError, RuntimeError):
        return None
    try:
        write(unfinished)
        for path in unfinished.iterdir():  # on the disk before it has its name
            with path.open("r+b") as file:
                os.fsync(file.fileno())
        with suppress(OSError):  # another process was first
            os.replace(unfinished, place / key)
        _prune(place, key)
        return find(key)
    except OSError:  # the disk is full, say
        return None
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def drop(key: str) -> None:
    """Removes an entry, which has turned out to be damaged."""
    shutil.rmtree(_place() / key, ignore_errors=True)


def _place() -> Path:
    """Where entries are; a RuntimeError if nobody knows the home folder."""
    users = Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache") / "seq2see"
    return Path(os.environ.get("SEQ2SEE_CACHE") or users).expanduser()


def _prune(place: Path, newest: str) -> None:
    folders = [folder for folder in place.iterdir() if _NAME.fullmatch(folder.name)]
    folders.sort(key=lambda folder: (folder.name == newest, folder.stat().st_mtime), reverse=True)
    room = MOST_BYTES
    for folder in folders:
        room -= sum(file.stat().st_size for file in folder.iterdir())
        if room < 0 and folder.name != newest:
            shutil.rmtree(folder, ignore_errors=True)
