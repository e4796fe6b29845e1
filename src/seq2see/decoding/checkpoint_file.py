"""A checkpoint's bytes: torch's own file, written whole or not at all, that ends in a checksum of itself.

torch takes a file with a flipped bit in a weight for a good one, and so does zip where nobody asks. The checksum stands
in the zip file's comment, so that it is an ordinary torch file for everybody else.
"""

import mmap
import os
import warnings
import zlib
from pathlib import Path
from typing import Any

import torch

from seq2see.tasks.whole_file import whole_binary_file

FORMAT = 3  # of what is inside: 2 turned other pairs of numbers (rope); 1 had no checksum, nor said who wrote it
_NAME = b"seq2see crc32 "  # a CRC-32 finds any flipped bit, and any damage within 32 bits
_LENGTH = 2 + len(_NAME) + 8  # of the file's end: how long the comment is, the name, eight hexadecimal digits


class UnreadableError(ValueError):
    """A file is not read as a checkpoint; the message goes on from its name."""


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
            end = _comment(zlib.crc32(view[:-2]))
        stream.seek(-2, os.SEEK_END)  # where zip says how long its comment is
        stream.write(end)


def load_checkpoint(file: Path) -> tuple[Any, bool]:
    """The plain values and tensors in a torch file, on the CPU, and whether it has our checksum; no code of it is run.

    Raises:
        UnreadableError: it cannot be read, is damaged, or is something else.
    """
    try:
        has_checksum = _is_whole(file)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's, on what it finds in strange files
            return torch.load(file, map_location="cpu", weights_only=True), has_checksum
    except UnreadableError:
        raise
    except Exception as error:  # torch raises anything on what it cannot read, with advice that is not ours
        reason = getattr(error, "strerror", None)
        problem = f"cannot be read ({reason})" if reason else "is damaged, or no checkpoint of seq2see"
        raise UnreadableError(problem) from error


def _is_whole(file: Path) -> bool:
    """Whether a file ends in our checksum, which is right then."""
    with file.open("rb") as stream:
        size = stream.seek(0, os.SEEK_END)
        stream.seek(max(size - _LENGTH, 0))
        end = stream.read()
        if end[2:-8] != _NAME:
            if not end[-22:].startswith(b"PK\5\6") or not end.endswith(b"\0\0"):  # nor ends as torch's own files do
                raise UnreadableError("is damaged at its end, or no checkpoint of seq2see")
            return False
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as written, memoryview(written) as view:
            if end != _comment(zlib.crc32(view[:-_LENGTH])):
                raise UnreadableError("is damaged (its checksum is not that of its bytes)")
    return True


def _comment(checksum: int) -> bytes:
    comment = _NAME + f"{checksum:08x}".encode("ascii")
    return len(comment).to_bytes(2, "little") + comment
