"""What took long is kept for the next run: a folder of files for each key, in `SEQ2SEE_CACHE` or the user's cache.

A key says all that its entry was made from, so an entry is never out of date. Once the entries together are larger than
10 GB, the ones that were not used for longest are removed, down to the newest.
"""

import json
import os
import re
import shutil
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

MOST_BYTES = 10 * 2**30  # of all entries together
_A_DAY = 24 * 3600.0  # seconds, after which what another process has begun to write is taken for left behind
_MANIFEST = "manifest.json"  # size and checksum of each file, written last; its time stamp says when the entry was used
_KEY = re.compile(r"[0-9a-f]{32}")


def find(key: str) -> Path | None:
    """The folder of an entry, whole and unchanged; None if there is none. A key is 32 hexadecimal digits."""
    for place in _places():
        entry = place / key
        if _is_whole(entry):
            with suppress(OSError):
                os.utime(entry / _MANIFEST)
            return entry
    return None


def keep(key: str, write: Callable[[Path], None]) -> Path | None:
    """Makes an entry: whole or not at all, also if other processes make the same one.

    `write` puts the files into an empty folder. None if nothing can be written anywhere, or no more.
    """
    for place in _places():
        try:
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            unfinished = Path(tempfile.mkdtemp(prefix=f".{key}-", dir=place))
        except OSError:
            continue
        try:
            write(unfinished)
            _sign(unfinished)
            entry = _put(unfinished, place / key)
            _prune(place, entry)
            return entry
        except OSError:  # the disk is full, say
            return None
        finally:
            shutil.rmtree(unfinished, ignore_errors=True)
    return None


def _places() -> Iterator[Path]:
    """Where entries may be, best first."""
    chosen = os.environ.get("SEQ2SEE_CACHE")
    with suppress(RuntimeError):  # nobody knows the home folder
        yield Path(os.path.expanduser(chosen)) if chosen else _users_cache() / "seq2see"
    with suppress(OSError):  # no folder for temporary files either
        temporary = Path(tempfile.gettempdir()) / f"seq2see-{os.getuid() if hasattr(os, 'getuid') else 'cache'}"
        if not os.path.lexists(temporary) or _is_ours(temporary):
            yield temporary


def _users_cache() -> Path:
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")


def _is_ours(folder: Path) -> bool:
    """Whether nobody else can have put something into this folder among everybody's temporary files."""
    status = folder.lstat()
    return folder.is_dir() and not folder.is_symlink() and (not hasattr(os, "getuid") or status.st_uid == os.getuid())


def _sign(folder: Path) -> None:
    """Writes the manifest; all is on the disk then."""
    sums = {}
    for file in sorted(folder.iterdir()):
        with file.open("r+b") as content:
            os.fsync(content.fileno())
        sums[file.name] = [file.stat().st_size, _checksum(file)]
    with (folder / _MANIFEST).open("w", encoding="utf-8") as manifest:
        json.dump(sums, manifest)
        manifest.flush()
        os.fsync(manifest.fileno())


def _is_whole(entry: Path) -> bool:
    try:
        sums = json.loads((entry / _MANIFEST).read_text(encoding="utf-8"))
        sizes = {name: (entry / name).stat().st_size for name in sums}
        return bool(sums) and all(
            sizes[name] == size and _checksum(entry / name) == checksum for name, (size, checksum) in sums.items()
        )
    except (OSError, ValueError, TypeError, AttributeError):
        return False


def _checksum(path: Path) -> int:
    checksum = 0
    with path.open("rb") as file:
        while piece := file.read(1 << 20):
            checksum = zlib.crc32(piece, checksum)
    return checksum


def _put(unfinished: Path, entry: Path) -> Path:
    """Gives a finished folder its name, unless another process was first; returns the folder of that name."""
    with suppress(OSError):
        os.replace(unfinished, entry)
        return entry
    if not _is_whole(entry):
        _remove(entry)
        os.replace(unfinished, entry)
    return entry


def _remove(entry: Path) -> None:
    """Takes away its name first, so that nobody finds half an entry."""
    with suppress(OSError):
        doomed = Path(tempfile.mkdtemp(prefix=f".{entry.name}-", dir=entry.parent))
        os.replace(entry, doomed / entry.name)
        shutil.rmtree(doomed, ignore_errors=True)


def _prune(place: Path, newest: Path) -> None:
    entries = []
    for folder in place.iterdir():
        with suppress(OSError):
            if folder.name.startswith(".") and _KEY.match(folder.name[1:]) and _age(folder) > _A_DAY:
                shutil.rmtree(folder, ignore_errors=True)
            elif _KEY.fullmatch(folder.name) and folder != newest:
                size = sum(file.stat().st_size for file in folder.iterdir())
                entries.append((_age(folder / _MANIFEST), size, folder))
    room = MOST_BYTES - sum(file.stat().st_size for file in newest.iterdir())
    for _, size, folder in sorted(entries):
        room -= size
        if room < 0:
            _remove(folder)


def _age(path: Path) -> float:
    """Seconds since it was written or marked as used."""
    return time.time() - path.stat().st_mtime
