"""What files hold, as a few digits: the same ones for the same bytes, whatever the time stamps say."""

import hashlib
import os
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

from seq2see.tasks.opening import cannot_read

_blake2b = partial(hashlib.blake2b, digest_size=16)


def digest_of_files(paths: Iterable[tuple[Path, str]]) -> str | None:
    """32 hexadecimal digits for the bytes of files; None if one can be read only once, as a pipe.

    Args:
        paths: each file, and what its user calls it.

    Raises:
        DataError: a file cannot be read.
    """
    whole = _blake2b()
    for path, name in paths:
        try:
            if not path.is_file():
                return None
            with open(path, "rb") as file:
                digest = hashlib.file_digest(file, _blake2b)  # pyright: ignore[reportArgumentType]  # any maker will do
        except OSError as error:
            raise cannot_read(name, error) from None
        whole.update(digest.digest())
    return whole.hexdigest()


def digest_of_folder(folder: Path) -> str | None:
    """The same for all files in a folder and the folders in it, with their names.

    Raises:
        DataError: a file cannot be read.
    """
    files = sorted(_files_in(folder))
    names = "\0".join(path.relative_to(folder).as_posix() for path in files)
    digest = digest_of_files((path, str(path)) for path in files)
    return None if digest is None else _blake2b(f"{names}\0{digest}".encode("utf-8", "surrogateescape")).hexdigest()


def _files_in(folder: Path) -> Iterator[Path]:
    """Links are followed, to a folder once."""
    seen = set[str]()
    for place, folders, files in os.walk(folder, followlinks=True):
        real = os.path.realpath(place)
        if real in seen:
            folders.clear()
            continue
        seen.add(real)
        folders.sort()
        yield from (Path(place, name) for name in files)
