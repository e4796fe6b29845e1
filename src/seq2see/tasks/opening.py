"""Files by their bytes: packed ones are unpacked, what is no text is named for what it is, and what they hold digested.

A digest is the same for the same bytes, whatever the time stamps say.
"""

import bz2
import gzip
import hashlib
import io
import lzma
import os
import re
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import cast

from seq2see.tasks.paths import PACKED_SUFFIXES
from seq2see.text import DataError

_PACKED = re.compile(
    rb"(?P<gzip>\x1f\x8b)|(?P<bzip2>BZh[1-9](1AY&SY|\x17rE8P\x90))|(?P<xz>\xfd7zXZ\0)|(?P<zstd>\x28\xb5\x2f\xfd)"
)
_UNPACK = "unpack it and name the files in it"
_NOT_READ = (
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", _UNPACK),
    (b"Rar!\x1a\x07", "a rar archive", _UNPACK),
    (b"\xd0\xcf\x11\xe0", "an Office document of the old kind", "save its table as .csv, in UTF-8"),
    (b"PAR1\x15", "a parquet file", "give it a name that ends in .parquet"),
    (b"ARROW1\0\0", "an Arrow file", "write it as .parquet"),
)
_blake2b = partial(hashlib.blake2b, digest_size=16)


@contextmanager
def opened(path: Path, name: str) -> Iterator[io.BufferedReader]:
    """The bytes of a text file, unpacked if they are packed, whatever its name.

    Args:
        path: the file.
        name: as the user wrote it.

    Raises:
        DataError: it cannot be read or unpacked, also while it is read, or it is no text file.
    """
    try:
        with open(path, "rb") as file:
            yield _unpacked(file, name)
    except (EOFError, zlib.error, lzma.LZMAError) as error:
        raise _not_unpacked(name, error) from None
    except OSError as error:
        raise cannot_read(name, error) if error.errno is not None else _not_unpacked(name, error) from None


def cannot_read(name: str, error: OSError) -> DataError:
    """The error for a file that the system does not give us."""
    return DataError(f"{name}: cannot be read ({error.strerror or error}), check the file and its permissions")


def _not_unpacked(name: str, reason: object) -> DataError:
    suffix = Path(name).suffix
    return DataError(
        f"{name}: cannot be unpacked ({reason}), make the {suffix} file anew, or rename one that is not packed"
    )


def _unpacked(file: io.BufferedReader, name: str) -> io.BufferedReader:
    head = file.peek(16)
    packed = _PACKED.match(head)
    said = PACKED_SUFFIXES.get(Path(name).suffix.lower())
    if head and said is not None and packed is None:
        raise _not_unpacked(name, f"it is not packed by {said}")
    content: io.BufferedReader = file
    if packed is not None:
        content = io.BufferedReader(cast(io.RawIOBase, _unpacking(str(packed.lastgroup), file)))
    if other := _other_format(file, content.peek(512)):
        raise DataError(f"{name}: {', not a text file, '.join(other)}")
    return content


def _unpacking(kind: str, file: io.BufferedReader) -> object:
    if kind == "zstd":
        from pyarrow import CompressedInputStream

        return CompressedInputStream(file, "zstd")
    return {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}[kind](file, "rb")


def _other_format(file: io.BufferedReader, head: bytes) -> tuple[str, str] | None:
    """What a file is that is no text, and what to do."""
    if head.startswith((b"PK\3\4", b"PK\5\6")):
        try:
            names = zipfile.ZipFile(file).namelist()
        except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
            names = []
        if any(inside.startswith("xl/") for inside in names):
            return "an Excel workbook", "save the sheet as .csv, in UTF-8"
        inside = f" ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})" if names else ""
        return f"a zip archive{inside}", _UNPACK
    if head[257:262] == b"ustar":
        return "a tar archive", _UNPACK
    return next(((kind, remedy) for magic, kind, remedy in _NOT_READ if head.startswith(magic)), None)


def digest_of_files(paths: Iterable[tuple[Path, str]]) -> str | None:
    """32 hexadecimal digits for the bytes of files, each with its user's name for it; None if one is a pipe.

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
