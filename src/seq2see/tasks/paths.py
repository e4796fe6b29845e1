"""The user's paths: found, or an error that says what is there instead."""

import os
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from seq2see.text import DataError


def as_names(key: str, value: object) -> list[str]:
    """The one path, or the two of parallel files, that a key holds.

    Raises:
        ValueError: the key holds something else.
    """
    if isinstance(value, str | Path):
        return [str(value)]
    if isinstance(value, Sequence) and 1 <= len(value) <= 2 and all(isinstance(name, str | Path) for name in value):
        return [str(name) for name in value]
    raise ValueError(f"task.{key} ({value}) must be a path, or two of parallel files, as in task.{key}=[a.src,a.tgt]")


def found(name: str) -> Path:
    """The file that is meant; a `~` at the beginning is the home folder, unless there is a file of that name.

    Raises:
        DataError: there is no such file, or it is a folder.
    """
    path = _expanded(name)
    if path.is_dir():
        raise DataError(f"{name}: a folder, not a file, {_say_what_is_there(path)}")
    if not path.exists():
        raise DataError(f"{name}: no such file, {_say_what_is_near(path)}")
    return path


def found_folder(name: str) -> Path:
    """The folder that is meant, as `found` finds a file.

    Raises:
        DataError: there is no such folder, or it is a file.
    """
    path = _expanded(name)
    if path.is_file():
        raise DataError(f"{name}: a file, not a folder, read it with task=files task.train={name}")
    if not path.is_dir():
        raise DataError(f"{name}: no such folder, {_say_what_is_near(path)}")
    return path


def _expanded(name: str) -> Path:
    path = Path(name)
    return Path(os.path.expanduser(name)) if name.startswith("~") and not path.exists() else path


def _say_what_is_there(folder: Path) -> str:
    names = _names_in(folder)
    return "name a file in it" + (f": {', '.join(names[:5])}{', ...' if len(names) > 5 else ''}" if names else "")


def _say_what_is_near(path: Path) -> str:
    folder = path.absolute().parent
    if not folder.is_dir():
        return f"nor a folder {folder}: check the path"
    near = get_close_matches(path.name, _names_in(folder), n=3)
    return f"nearest in {folder}: {', '.join(near)}" if near else f"and no similar name in {folder}: check the path"


def _names_in(folder: Path) -> list[str]:
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []
