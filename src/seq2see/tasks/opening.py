"""Files by their bytes: packed ones are unpacked, what is no text is named for what it is; and digests of them."""

import bz2
import gzip
import io
import lzma
import re
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from hashlib import blake2b, file_digest
from pathlib import Path
from typing import cast

from seq2see.tasks.paths import PACKED_SUFFIXES
from seq2see.text import DataError

_PACKED = re.compile(
    rb"(?P<gzip>\x1f\x8b)|(?P<bzip2>BZh[1-9](1AY&SY|\x17rE8P\x90))|(?P<xz>\xfd7zXZ\0)|(?P<zstd>\x28\xb5\x2f\xfd)"
)
_UNPACK = "unpack it and name the files in it"
_NOT_READ = (  # first bytes, what they are of, what to do
    (b"PK\3\4", "a zip archive or an Excel workbook", f"{_UNPACK}, or save its sheet as .csv"),
    (b"PAR1\x15", "a parquet file", "give it a name that ends in .parquet"),
)


@contextmanager
def opened(path: Path, name: str) -> Iterator[io.BufferedReader]:
    """The bytes of a text file, unpacked if they are packed, whatever its name; `name` is what the user calls it.

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
    if packed is not None:
        file = io.BufferedReader(cast(io.RawIOBase, _unpacking(str(packed.lastgroup), file)))
    elif head and said is not None:
        raise _not_unpacked(name, f"it is not packed by {said}")
    head = file.peek(512)
    if head[257:262] == b"ustar":
        raise DataError(f"{name}: a tar archive, not a text file, {_UNPACK}")
    for magic, kind, remedy in _NOT_READ:
        if head.startswith(magic):
            raise DataError(f"{name}: {kind}, not a text file, {remedy}")
    return file


def _unpacking(kind: str, file: io.BufferedReader) -> object:
    if kind == "zstd":
        from pyarrow import CompressedInputStream

        return CompressedInputStream(file, "zstd")
    return {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}[kind](file, "rb")


def digest_of(paths: Iterable[Path]) -> str | None:
    """32 hexadecimal digits for the names and bytes of files, whatever their time stamps say; None if one is a pipe."""
    whole = blake2b(digest_size=16)
    for path in paths:
        try:
            if not path.is_file():
                return None
            with open(path, "rb") as file:
                digest = file_digest(file, "blake2b").hexdigest()
        except OSError as error:
            raise cannot_read(str(path), error) from None
        whole.update(f"{path}\0{digest}\0".encode("utf-8", "surrogateescape"))
    return whole.hexdigest()
