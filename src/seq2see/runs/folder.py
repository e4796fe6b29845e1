"""The run folder: claimed by making it, the names inside it, one process at a time in it, and a disk that fails."""

import errno
import os
import shlex
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seq2see.atomic_write import read_json

if TYPE_CHECKING:
    from seq2see.evaluation import Evaluation

LOCK = ".lock"  # in a folder while it is written, and after a kill, when it holds nobody up
READ_ONLY = (errno.EROFS, errno.EACCES, errno.EPERM)
OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EIO, *READ_ONLY)
_PATIENCE = 1.0  # seconds, in which another process may be about to end


class RunFailed(RuntimeError):
    """The run cannot go on, and not by a mistake in what was asked for; the message is for the user."""


class RunFolder:
    """Where a run keeps what it makes.

    Args:
        path: the folder; exists.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.config = path / "config.yaml"  # the resolved configuration
        self.result = path / "result.json"  # status, scores and versions
        self.checkpoints = path / "checkpoints"
        self.best = self.checkpoints / "best.ckpt"  # of the best validation
        self.last = self.checkpoints / "last.ckpt"  # to go on from
        self.samples = path / "samples.jsonl"  # translations of fixed validation pairs over time
        self.page = path / "attention.html"  # the attention maps
        self.report = path / "report.html"  # the run on one page

    @staticmethod
    def check(run_dir: str | None) -> None:
        """Refuses a folder with something in it, before any work is done.

        Raises:
            ValueError: it is not empty, or not a folder.
        """
        path = None if run_dir is None else Path(run_dir)
        try:
            taken = path is not None and path.exists() and any(inside.name != LOCK for inside in path.iterdir())
        except OSError as error:
            raise ValueError(f"run_dir: {path} cannot be used ({error.strerror}): choose another folder") from error
        if taken:
            raise ValueError(f"run_dir: {path} is not empty: choose a new folder, so that nothing in it is lost")

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
        stem = Path.cwd() / "outputs" / kind / datetime.now().strftime("%Y-%m-%d_%H-%M-%S")
        path, number = stem if run_dir is None else Path(run_dir).absolute(), 1
        while True:
            try:
                path.mkdir(parents=True, exist_ok=run_dir is not None)
                cls.check(str(path))
                return cls(path)
            except OSError as error:
                if run_dir is not None or not isinstance(error, FileExistsError):
                    raise ValueError(
                        f"run_dir: {path} cannot be made ({error.strerror}): choose a folder that you may write"
                    ) from error
                number += 1
                path = stem.with_name(f"{stem.name}_{number}")

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
        return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)

    def explained(self, error: OSError) -> RunFailed | None:
        """What a full or failing disk means for the run; None if the error is another one."""
        if error.errno not in OF_THE_DISK:
            return None
        remedy = "make it writable" if error.errno in READ_ONLY else "make room"
        return RunFailed(
            f"{error.filename or self.shown}: {error.strerror}; what was written before is whole: {remedy}, then go on "
            f"with resume={self.shown}"
        )


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


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Keeps other processes from writing the folder, but where no lock can be had: a read-only folder, some networks.

    Args:
        folder: exists.

    Raises:
        ValueError: another process writes it; the message says which.
    """
    from filelock import FileLock, Timeout  # with asyncio, which no other command is in need of

    file = folder / LOCK
    lock = FileLock(file, timeout=_PATIENCE, thread_local=False, fallback_to_soft=False)
    try:
        lock.acquire()
        now = datetime.now().strftime("%Y-%m-%d %H:%M:%S")
        ourselves = f"process {os.getpid()} on {socket.gethostname()} since {now} ({' '.join(sys.argv)[:200]})"
        file.write_text(ourselves, encoding="utf-8")
    except Timeout as error:
        holder = ""
        with suppress(OSError, ValueError):
            holder = file.read_text(encoding="utf-8")
        raise ValueError(
            f"{folder} is being written by {holder or 'another process'}: wait until it has ended, or stop it"
        ) from error
    except OSError:
        pass
    try:
        yield
    finally:
        if lock.is_locked:
            with suppress(OSError):
                file.unlink()  # whoever waits for it notices that it is gone, and makes another
            lock.release()


def write_evaluation(evaluation: "Evaluation", folder: Path, name: str) -> list[Path]:
    """`Evaluation.write`, while no other process writes the folder, which is made if it is not there.

    Raises:
        ValueError: another one does.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with alone_in(folder):
        return evaluation.write(folder, name)
