r"""Lines that come in: some at a time, from a file as they stand, from a pipe as they arrive.

Only `\n` or `\r\n` ends a line. A blank line is empty or white space of any kind.
"""

import codecs
import os
import stat
import sys
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from queue import Empty, Queue
from threading import Thread
from typing import BinaryIO

from seq2see.tasks.opening import opened

FIRST, MOST = 64, 1_024  # lines translated together: few at first, so that something is soon to be seen
PAUSE = 0.1  # seconds without a line, after which those that have come are translated
LONGEST = 1.0  # seconds that lines are waited for once the first has come
_PACKED = (b"\x1f\x8b", b"BZh", b"\xfd7zXZ", b"\x28\xb5\x2f\xfd")  # gzip, bzip2, xz, zstd


def chunks_of(lines: Iterable[str]) -> Iterator[list[str]]:
    """The lines, some at a time."""
    rest, size = iter(lines), FIRST
    while chunk := list(islice(rest, size)):
        yield chunk
        size = min(2 * size, MOST)


def read_lines(path: str | None) -> Iterator[str]:
    """The lines of a UTF-8 file, packed or not, or of standard input; a BOM is dropped.

    Raises:
        ValueError: the file cannot be read, or is not UTF-8.
    """
    with _stream(path) as stream:
        yield from _decoded_lines(stream, path)


def read_chunks(path: str | None) -> Iterator[list[str]]:
    """The lines of a UTF-8 file, or of standard input, some at a time.

    From a pipe or a terminal they are given as they come: as soon as none has come for a moment, and when a second has
    passed since the first of them.

    Raises:
        ValueError: the file cannot be read, or is not UTF-8.
    """
    if _is_file(path):
        yield from chunks_of(read_lines(path))
        return
    with _failures(path):
        stream = _open(path)
        if not stat.S_ISREG(os.fstat(stream.fileno()).st_mode):
            yield from _as_they_come(stream, path)
            return
        with stream:
            yield from chunks_of(_decoded_lines(stream, path))


def count_lines(path: str | None) -> int | None:
    """How many lines a file has; None: that cannot be known before it is read to its end."""
    if not _is_file(path):
        return None
    with _stream(path) as stream:
        return sum(1 for _ in stream)


def _is_file(path: str | None) -> bool:
    return path is not None and Path(path).is_file()


@contextmanager
def _stream(path: str | None) -> Iterator[BinaryIO]:
    if path is not None and _is_file(path):
        with opened(Path(path), path) as stream:
            yield stream
        return
    with _failures(path), _open(path) as stream:
        yield stream


def _name(path: str | None) -> str:
    return "standard input" if path is None else path


def _open(path: str | None) -> BinaryIO:
    if path is not None:
        return Path(path).open("rb")
    return open(sys.stdin.fileno(), "rb", closefd=False)


@contextmanager
def _failures(path: str | None) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise ValueError(f"input: {_name(path)} cannot be read ({error.strerror})") from error


def _decoded_lines(stream: BinaryIO, path: str | None) -> Iterator[str]:
    return (_decoded(line, path, number) for number, line in enumerate(stream, start=1))


def _decoded(line: bytes, path: str | None, number: int) -> str:
    if number == 1:
        line = line.removeprefix(b"\xef\xbb\xbf")
    try:
        text = line.removesuffix(b"\n").removesuffix(b"\r").decode("utf-8")
    except UnicodeDecodeError as error:
        fault, remedy = f"not UTF-8 ({error.reason})", "convert the file to UTF-8"
        if number == 1 and line.startswith(_PACKED):
            fault, remedy = "packed, not text", "unpack it on the way, as gunzip -c does, or name the file with input="
        elif number == 1 and line.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            fault = "not UTF-8 but UTF-16"
        raise ValueError(f"{_name(path)}, line {number}: {fault}: {remedy}") from error
    if "\0" in text:
        raise ValueError(
            f"{_name(path)}, line {number}: a zero byte, which no text has (is it UTF-16?): convert the file to UTF-8"
        )
    return text


def _as_they_come(stream: BinaryIO, path: str | None) -> Iterator[list[str]]:
    """Only the thread reads and closes the stream: closing it here would wait for a line that may never come."""
    arrived: Queue[bytes | OSError | None] = Queue(maxsize=4 * MOST)
    Thread(target=_fill, args=(stream, arrived), daemon=True).start()
    number, size = 0, FIRST
    while True:
        chunk: list[str] = []
        item = arrived.get()
        until = time.monotonic() + LONGEST
        while isinstance(item, bytes):
            number += 1
            chunk.append(_decoded(item, path, number))
            if len(chunk) == size:
                break
            try:
                item = arrived.get(timeout=max(0.0, min(PAUSE, until - time.monotonic())))
            except Empty:
                break
        if chunk:
            yield chunk
        if isinstance(item, OSError):
            raise item
        if item is None:
            return
        size = min(2 * size, MOST)


def _fill(stream: BinaryIO, arrived: Queue[bytes | OSError | None]) -> None:
    try:
        with stream:
            for line in stream:
                arrived.put(line)
        arrived.put(None)
    except OSError as error:
        arrived.put(error)
