"""Files opened by what their first bytes say: packed ones are unpacked, and what is no text is named for what it is."""

import bz2
import gzip
import io
import lzma
import re
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO, cast

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
_TAR = slice(257, 262), b"ustar"  # where it says so


@contextmanager
def opened(path: Path, name: str) -> Iterator[io.BufferedReader]:
    """The bytes of a text file, unpacked.

    Args:
        path: the file.
        name: as the user wrote it.

    Raises:
        DataError: it cannot be read or unpacked, also while it is read, or it is no text file.
    """
    with failures(name), open(path, "rb") as file:
        yield unpacked(file, name)


def unpacked(file: io.BufferedReader, name: str) -> io.BufferedReader:
    """The bytes of a file that has been opened, unpacked if they are packed, whatever its name.

    Raises:
        DataError: it is no text file, or not packed in the way that its name says.
    """
    head = file.peek(16)
    packed = _PACKED.match(head)
    said = PACKED_SUFFIXES.get(Path(name).suffix.lower())
    if head and said is not None and packed is None:
        raise _not_unpacked(name, f"it is not packed by {said}")
    content = file if packed is None else _unpacked_by(str(packed.lastgroup), file)
    _refuse_other(file, content.peek(512), name)
    return content


@contextmanager
def failures(name: str) -> Iterator[None]:
    """Says what is wrong with a file that cannot be read to its end.

    Raises:
        DataError: it cannot be read or unpacked.
    """
    try:
        yield
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


def _unpacked_by(kind: str, file: io.BufferedReader) -> io.BufferedReader:
    if kind == "zstd":
        from pyarrow import CompressedInputStream

        return io.BufferedReader(cast(io.RawIOBase, CompressedInputStream(file, "zstd")))
    opens = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}[kind]
    return io.BufferedReader(cast(io.RawIOBase, opens(file, "rb")))


def _refuse_other(file: BinaryIO, head: bytes, name: str) -> None:
    """Refuses what is no text file, by its real name."""
    if head.startswith((b"PK\3\4", b"PK\5\6")):
        names = _names_in_zip(file)
        if any(inside.startswith("xl/") for inside in names):
            raise DataError(f"{name}: an Excel workbook, not a text file, save the sheet as .csv, in UTF-8")
        inside = f" ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})" if names else ""
        raise DataError(f"{name}: a zip archive{inside}, not a text file, {_UNPACK}")
    if head[_TAR[0]] == _TAR[1]:
        raise DataError(f"{name}: a tar archive, not a text file, {_UNPACK}")
    for magic, kind, remedy in _NOT_READ:
        if head.startswith(magic):
            raise DataError(f"{name}: {kind}, not a text file, {remedy}")


def _names_in_zip(file: BinaryIO) -> list[str]:
    try:
        return zipfile.ZipFile(file).namelist()
    except (zipfile.BadZipFile, OSError, ValueError, NotImplementedError):
        return []
