"""The run folder: claimed by making it, and the names inside it."""

import shlex
from datetime import datetime
from pathlib import Path
from typing import Any

from seq2see.atomic_write import read_json

LOCK = ".lock"  # in a folder while it is written, and after a kill, when it holds nobody up


class RunFolder:
    """Where a run keeps what it makes.

    Args:
        path: the folder; exists.
    """

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def config(self) -> Path:
        """The resolved configuration."""
        return self.path / "config.yaml"

    @property
    def result(self) -> Path:
        """Status, scores and versions."""
        return self.path / "result.json"

    @property
    def checkpoints(self) -> Path:
        """`best.ckpt` and `last.ckpt`."""
        return self.path / "checkpoints"

    @property
    def best(self) -> Path:
        """The checkpoint with the best validation score."""
        return self.checkpoints / "best.ckpt"

    @property
    def samples(self) -> Path:
        """Translations of fixed validation pairs over time."""
        return self.path / "samples.jsonl"

    @property
    def page(self) -> Path:
        """The attention maps as a page."""
        return self.path / "attention.html"

    @staticmethod
    def check(run_dir: str | None) -> None:
        """Refuses a folder with something in it, before any work is done.

        Raises:
            ValueError: it is not empty, or not a folder.
        """
        path = None if run_dir is None else Path(run_dir)
        if path is not None and path.exists():
            _require_empty(path)

    @classmethod
    def claim(cls, run_dir: str | None, *, kind: str) -> "RunFolder":
        """Makes the folder, and with it makes it this run's own.

        Args:
            run_dir: the folder; None: `outputs/<kind>/<date>_<time>` under the working directory, with a suffix if
                taken.
            kind: the task's.

        Raises:
            ValueError: the folder has something in it already, or cannot be made.
        """
        if run_dir is not None:
            return cls(_make_named(Path(run_dir).absolute()))
        stem = Path.cwd() / "outputs" / kind / datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
        path, number = stem, 1
        while True:
            try:
                path.parent.mkdir(parents=True, exist_ok=True)
                path.mkdir()
                return cls(path)
            except FileExistsError:
                number += 1
                path = stem.with_name(f"{stem.name}_{number}")
            except OSError as error:
                raise ValueError(
                    f"run_dir: {path} cannot be made ({error.strerror}): set run_dir to a folder that you may write"
                ) from error

    @property
    def shown(self) -> str:
        """The folder as the user can type it from the working directory."""
        return self.relative(self.path)

    @property
    def typed(self) -> str:
        """The folder as a shell wants it."""
        return shlex.quote(self.shown)

    def relative(self, path: Path) -> str:
        """A path in this folder as the user can type it from the working directory."""
        try:
            return str(path.relative_to(Path.cwd()))
        except ValueError:
            return str(path)


def read_result(folder: Path) -> dict[str, Any]:
    """What a run's `result.json` says.

    Raises:
        ValueError: it is not there, or damaged.
    """
    file, remedy = folder / "result.json", f"delete it, and resume={folder} writes it anew"
    result = read_json(file, remedy)
    for name, kind in (("status", str), ("steps", int), ("seconds", int | float), ("test", dict)):
        if not isinstance(result.get(name), kind):
            raise ValueError(f"{file}: is damaged ({name} is {result.get(name)!r:.40}): {remedy}")
    if not all(isinstance(score, int | float) for score in result["test"].values()):
        raise ValueError(f"{file}: is damaged (test has scores that are no numbers): {remedy}")
    return result


def _make_named(path: Path) -> Path:
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ValueError(f"run_dir: {path} cannot be made ({error.strerror}): choose another folder") from error
    _require_empty(path)
    return path


def _require_empty(path: Path) -> None:
    try:
        taken = any(inside.name != LOCK for inside in path.iterdir())
    except OSError as error:
        raise ValueError(f"run_dir: {path} cannot be used ({error.strerror}): choose another folder") from error
    if taken:
        raise ValueError(f"run_dir: {path} is not empty: choose a new folder, so that nothing in it is lost")
