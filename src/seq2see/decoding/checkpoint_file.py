"""A checkpoint's bytes: written whole or not at all, with a checksum over all of them, and read without running any.

torch takes a file with a flipped bit in a weight for a good one. Its own checksums (each entry of a zip file has one)
leave out the headers and what stands between the entries. So the file ends in a checksum of everything before it,
which stands in the zip file's comment, so that it is an ordinary torch file for everybody else. What somebody saved
again with plain `torch.save` has none, and is read by the checksums of its entries.

A file from a stranger may be small and stand for a lot: entries that unpack to more, a list that shares itself, a
tensor that repeats one number. So what is in it is bounded by what the file is, before anything is made of it.
"""

import mmap
import os
import pickletools
import re
import warnings
import zipfile
import zlib
from pathlib import Path
from typing import Any, BinaryIO

import torch
from torch import Tensor

from seq2see.atomic_write import whole_binary_file
from seq2see.options.rules import leaves

FORMAT = 3  # of what is inside: 2 turned other pairs of numbers (rope); 1 had no checksum, nor said who wrote it
_NAME = b"seq2see crc32 "  # a CRC-32 finds any flipped bit, and any damage within 32 bits
_LENGTH = 2 + len(_NAME) + 8  # of the file's end: how long the comment is, the name, eight hexadecimal digits
_NO_COMMENT = b"PK\5\6", 22  # how the end of a zip file without a comment begins, and its length
_GLOBALS = {"collections OrderedDict", "torch._utils _rebuild_tensor_v2", "torch._utils _rebuild_parameter"}
_NODES_A_BYTE = 10  # a pickle names a value that it has had already in two bytes


class UnreadableError(ValueError):
    """A file is not read as a checkpoint; the message goes on from its name."""


class DamagedError(UnreadableError):
    """A file's bytes are not those that were written."""


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


def load_checkpoint(stream: BinaryIO) -> tuple[Any, bool]:
    """The plain values and tensors in a torch file, on the CPU, and whether it has our checksum.

    Nothing of it is run or imported, and reading takes no more than a few times the memory that it has bytes.

    Args:
        stream: the file, open for reading bytes.

    Raises:
        DamagedError: a byte is not what was written, or missing.
        UnreadableError: it is something else, holds more than plain values, or stands for more than it is.
    """
    has_checksum = _check_end(stream)
    try:
        with zipfile.ZipFile(stream) as entries:
            pickled = entries.read(_pickle_of(entries, stream.seek(0, os.SEEK_END)))
            if not has_checksum and (damaged := entries.testzip()):
                raise DamagedError(f"is damaged (its entry {damaged!r:.80} has another checksum)")
        _check_globals(pickled)
        stream.seek(0)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch's, on what it finds in strange files
            values = torch.load(stream, map_location="cpu", weights_only=True)
    except UnreadableError:
        raise
    except Exception as error:  # the libraries raise anything on what they cannot read, with advice that is not ours
        raise DamagedError("is damaged, or holds something else than plain values and tensors") from error
    _check_size(values, _NODES_A_BYTE * len(pickled))
    return values, has_checksum


def _check_end(stream: BinaryIO) -> bool:
    """Whether the file ends in our checksum, which is right then; else it must end as torch writes it."""
    size = stream.seek(0, os.SEEK_END)
    stream.seek(0)
    begin = stream.read(4)
    if begin and not begin.startswith(b"PK"):
        is_pickle = begin.startswith(b"\x80")
        raise UnreadableError("is a Python pickle, which could run code" if is_pickle else "is no torch file")
    stream.seek(max(size - _LENGTH, 0))
    end = stream.read()
    if end[2 : 2 + len(_NAME)] == _NAME:
        with mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as written, memoryview(written) as view:
            if end != _end(zlib.crc32(view[:-_LENGTH])):
                raise DamagedError("is damaged (its checksum is not that of its bytes)")
        return True
    mark, length = _NO_COMMENT
    if not end[-length:].startswith(mark) or not end.endswith(b"\0\0"):
        raise DamagedError("is damaged (its end is missing)")
    return False


def _pickle_of(entries: zipfile.ZipFile, size: int) -> str:
    """The name of the one entry that says what the others are, which together are no more than the file."""
    infos = entries.infolist()
    names = {info.filename for info in infos}
    pickles = [name for name in names if name.endswith("data.pkl")]
    # torch takes an entry that is marked as a folder for one of numbers that it has not read
    is_plain = all(info.compress_type == zipfile.ZIP_STORED and not info.external_attr & 0x10 for info in infos)
    if not is_plain or len(names) < len(infos) or sum(info.file_size for info in infos) > size or len(pickles) != 1:
        raise DamagedError("is damaged, or a zip file of something else")
    return pickles[0]


def _check_globals(pickled: bytes) -> None:
    """A pickle names what is to be called to make its values: nothing may be but what makes tensors."""
    for opcode, name, _ in pickletools.genops(pickled):
        if opcode.name == "GLOBAL" and name not in _GLOBALS and not re.fullmatch(r"torch \w+Storage", str(name)):
            asked = str(name).replace(" ", ".")
            raise UnreadableError(f"is unsafe or of something else (it asks for {asked!r:.80})")


def _check_size(values: Any, most: int) -> None:
    try:
        tensors = [leaf for leaf in leaves(values, most) if isinstance(leaf, Tensor)]
    except ValueError as error:
        raise UnreadableError(f"is no tree of plain values ({error})") from error
    for tensor in tensors:
        if tensor.nbytes > tensor.untyped_storage().nbytes():
            raise UnreadableError(f"holds a tensor {tuple(tensor.shape)} of fewer numbers than its shape has")


def _end(checksum: int) -> bytes:
    comment = _NAME + f"{checksum:08x}".encode("ascii")
    return len(comment).to_bytes(2, "little") + comment
