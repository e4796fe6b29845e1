"""Files that appear whole or not at all: a reader, or a power cut, sees the one before or the new one, never a part.

Every other room writes through here what must not be lost, and reads JSON that may be damaged all the same.
"""

import io
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, BinaryIO, TextIO


@contextmanager
def whole_binary_file(path: Path) -> Iterator[BinaryIO]:
    """A file to write and read: under another name in the same folder, then on the disk, then in its place.

    A pipe or a device is written as it stands, for nothing may take its place.

    Raises:
        OSError: it cannot be written; the one before is still there.
    """
    if path.exists() and not path.is_file():
        with path.open("wb") as stream:
            yield stream
        return
    path = Path(os.path.realpath(path))  # a link stays one
    unfinished = path.with_name(f".{path.name[:40]}.{secrets.token_hex(6)}.part")
    try:
        with unfinished.open("x+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    with suppress(OSError):  # the new name goes to the disk too, where a folder can be opened
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


@contextmanager
def whole_file(path: Path) -> Iterator[TextIO]:
    """The same for text: UTF-8, whose lines end in a line feed."""
    with whole_binary_file(path) as file:
        text = io.TextIOWrapper(file, encoding="utf-8", newline="\n")
        yield text
        text.flush()
        text.detach()


def write_bytes(path: Path, content: bytes) -> None:
    """Writes a whole file, or leaves the one before."""
    with whole_binary_file(path) as file:
        file.write(content)


def write_text(path: Path, text: str) -> None:
    """Writes a whole file of text, or leaves the one before."""
    write_bytes(path, text.encode("utf-8"))


def read_json(path: Path, remedy: str) -> dict[str, Any]:
    """The one JSON object that is a file.

    Raises:
        ValueError: it is not there, or damaged; the message names it, says how, and ends in the remedy.
    """
    try:
        if not path.is_file():  # a pipe would be waited for
            raise ValueError("there is no such file")
        content = json.loads(path.read_bytes().decode("utf-8", "surrogatepass"))
        if not isinstance(content, dict):
            raise ValueError("not a JSON object")
    except (OSError, ValueError, RecursionError) as error:
        raise ValueError(f"{path}: cannot be read ({error}): {remedy}") from error
    return content
