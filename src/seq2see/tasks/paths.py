"""The user's paths: found, or an error that says what is there instead."""

import glob
import os
import re
from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from seq2see.text import DataError

PAIR_SUFFIXES = (".tsv", ".csv", ".jsonl", ".ndjson", ".json", ".parquet")
PACKED_SUFFIXES = {".gz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd"}


class FileSet(NamedTuple):
    """The files of a split."""

    names: list[str]  # as the user wrote them, a glob being the files that it matches, sorted
    are_parallel: bool  # one of sources and one of targets, rather than files that hold pairs


def files_of(key: str, value: Any) -> FileSet:
    """The files that a key means: files that hold pairs, one after the other, or two parallel ones.

    A list of two files is parallel if neither has the name of a kind that holds pairs, such as `.tsv`; a dictionary of
    `source` and `target` always is. A ValueError if of two files one alone has such a name, or a glob matches nothing.
    """
    if isinstance(value, dict):
        return FileSet([str(value["source"]), str(value["target"])], are_parallel=True)
    is_list = isinstance(value, Sequence) and not isinstance(value, str)
    listed = [str(name) for name in value] if is_list else [str(value)]
    names = [name for pattern in listed for name in _matching(pattern)]
    if len(listed) != 2 or names != listed:
        return FileSet(names, are_parallel=False)
    holding = [suffix_of(name) in PAIR_SUFFIXES for name in names]
    if any(holding) and not all(holding):
        raise ValueError(
            f"task.{key} ([{','.join(names)}]): {names[holding.index(True)]} holds pairs by its name, the other may be "
            f"a side of parallel files: write task.{key}='{{source: {names[0]}, target: {names[1]}}}' if both are sides"
        )
    return FileSet(names, are_parallel=not any(holding))


def absolute_files(value: Any) -> Any:
    """The same files for a reader in another folder."""
    if isinstance(value, dict):
        return {side: absolute_files(name) for side, name in value.items()}
    if isinstance(value, Sequence) and not isinstance(value, str):
        return [absolute_files(name) for name in value]
    return None if value is None else absolute(str(value))


def absolute(name: str) -> str:
    """A file, a folder or a glob by its whole path."""
    here = glob.escape(os.getcwd()) if _is_glob(name) else os.getcwd()
    return str(Path(here) / expanded(name))


def suffix_of(name: str) -> str:
    """What the file's name says of its kind, lower case; that of a packed file is looked through."""
    path = Path(name)
    return (Path(path.stem) if path.suffix.lower() in PACKED_SUFFIXES else path).suffix.lower()


def _matching(name: str) -> list[str]:
    """The files that a glob matches; a name that is none, or that exists, is itself."""
    if not _is_glob(name):
        return [name]
    names = sorted(glob.glob(os.path.expanduser(name), recursive=True))
    if not names:
        raise DataError(f"{name}: no file matches, {_say_what_is_near(Path(name))}")
    return names


def _is_glob(name: str) -> bool:
    return re.search(r"[*?\[]", name) is not None and not expanded(name).exists()


def expanded(name: str) -> Path:
    """The path that is meant; a `~` at the beginning is the home folder, unless there is a file of that name."""
    return Path(os.path.expanduser(name)) if name.startswith("~") and not os.path.exists(name) else Path(name)


def found(name: str) -> Path:
    """The file that is meant; a DataError if there is none."""
    path = expanded(name)
    if path.is_dir():
        raise DataError(f"{name}: a folder, not a file, name a file in it: {', '.join(_names_in(path)[:5])}")
    if not path.exists():
        raise DataError(f"{name}: no such file, {_say_what_is_near(path)}")
    return path


def found_folder(name: str) -> Path:
    """The folder that is meant; a DataError if there is none."""
    path = expanded(name)
    if path.is_file():
        raise DataError(f"{name}: a file, not a folder, read it with task=files task.train={name}")
    if not path.is_dir():
        raise DataError(f"{name}: no such folder, {_say_what_is_near(path)}")
    return path


def _say_what_is_near(path: Path) -> str:
    folder = path.absolute().parent
    if not folder.is_dir():
        return f"nor a folder {folder}: check the path"
    near = get_close_matches(path.name, _names_in(folder), n=3)
    return f"nearest in {folder}: {', '.join(near)}" if near else f"and no similar name in {folder}: check the path"


def _names_in(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*"))  # none where we may not look
