"""A checkpoint's bytes: written whole or not at all, and with a checksum over all of them.

torch takes a file with a flipped bit in a weight for a good one. Its own checksums (each entry of a zip file has one)
leave out the headers and what stands between the entries. So the file ends in a checksum of everything before it,
which stands in the zip file's comment, so that it is an ordinary torch file for everybody else.
"""

import mmap
import os
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import torch

from seq2see.tasks.whole_file import whole_binary_file

_NAME = b"seq2see crc32 "  # a CRC-32 finds any flipped bit, and any damage within 32 bits
_LENGTH = 2 + len(_NAME) + 8  # of the file's end: how long the comment is, the name, eight hexadecimal digits


class DamagedError(ValueError):
    """A file's bytes are not those that were written; the message says in what way, and no more."""


class NoChecksumError(DamagedError):
    """A file does not end in a checksum: its end is missing, or `write_checkpoint` never wrote it."""


def write_checkpoint(file: Path, content: dict[str, Any]) -> None:
    """Writes a checkpoint; the one before stays until the new one is whole.

    Args:
        file: its folder is made if need be.
        content: plain values and tensors.

    Raises:
        OSError: it cannot be written; the one before is still there.
    """
    file.parent.mkdir(parents=True, exist_ok=True)
    with whole_binary_file(file) as stream:
        try:
            torch.save(content, stream)
        except RuntimeError as error:  # torch ends its zip file after a failed write too, and fails at that
            if isinstance(error.__context__, OSError):
                raise error.__context__ from None
            raise
        stream.flush()
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as written, memoryview(written) as view:
            end = _end(zlib.crc32(view[:-2]))
        stream.seek(-2, os.SEEK_END)  # where zip says how long its comment is
        stream.write(end)


def load_checkpoint(stream: BinaryIO) -> Any:
    """What `write_checkpoint` wrote, on the CPU; plain values and tensors alone, nothing is run or imported.

    Args:
        stream: the file, open for reading bytes.

    Raises:
        DamagedError: a byte is not what was written, or missing.
        Exception: whatever torch raises on what it cannot read, or must not.
    """
    size = stream.seek(0, os.SEEK_END)
    stream.seek(max(size - _LENGTH, 0))
    end = stream.read()
    if end[2 : 2 + len(_NAME)] != _NAME:
        raise NoChecksumError("it does not end in a checksum")
    with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as written, memoryview(written) as view:
        is_whole = end == _end(zlib.crc32(view[:-_LENGTH]))
    if not is_whole:
        raise DamagedError("its checksum is not that of its bytes")
    return load_unchecked(stream)


def load_unchecked(stream: BinaryIO) -> Any:
    """What is in a torch file of any origin, checksum or not; nothing is run or imported.

    Raises:
        DamagedError: it would unpack to more than it is.
        Exception: whatever torch raises on what it cannot read, or must not.
    """
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    with zipfile.ZipFile(stream) as entries:
        if sum(entry.file_size for entry in entries.infolist()) > size:
            raise DamagedError("it would unpack to more than it is")
    stream.seek(0)
    return torch.load(stream, map_location="cpu", weights_only=True)


def _end(checksum: int) -> bytes:
    comment = _NAME + f"{checksum:08x}".encode("ascii")
    return len(comment).to_bytes(2, "little") + comment
