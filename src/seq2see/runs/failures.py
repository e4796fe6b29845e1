"""What ends a run without being a mistake in what was asked for: one message, and exit code 1."""

from __future__ import annotations

import errno
import shutil
from typing import TYPE_CHECKING

from seq2see.runs.folder import LOCK, RunFolder

if TYPE_CHECKING:  # torch takes a second
    from seq2see.runs.prepare import TrainingSetup as Prepared

OF_THE_DISK = (errno.ENOSPC, errno.EDQUOT, errno.EROFS, errno.EACCES, errno.EPERM, errno.EIO)


class RunFailed(RuntimeError):
    """The run cannot go on; the message is for the user."""


def check_room(prepared: Prepared, folder: RunFolder) -> None:
    """Refuses to begin where the checkpoints would not fit; the folder of a new run is taken away again.

    Raises:
        ValueError: the disk has too little room.
    """
    options = prepared.options
    weights = 4 * sum(parameter.numel() for parameter in prepared.trained.model.parameters())
    last = weights * (4 if options.optim.ema is not None else 3)  # with two moments of AdamW
    needed = 2 * last + weights * (1 + (options.training.keep or 0))  # the last one is there twice while it is written
    free = shutil.disk_usage(folder.path).free
    if free < needed:
        if {path.name for path in folder.path.iterdir()} <= {LOCK}:  # not one that a run goes on in
            shutil.rmtree(folder.path, ignore_errors=True)
        raise ValueError(
            f"run_dir: {folder.path} has room for {free / 1e6:,.1f} MB, the checkpoints take {needed / 1e6:,.1f} MB:"
            " free some, or choose another folder"
        )


def explained(error: OSError, folder: RunFolder) -> RunFailed | None:
    """What a full or failing disk means for the run; None if the error is another one."""
    if error.errno not in OF_THE_DISK:
        return None
    remedy = "make it writable" if error.errno in (errno.EROFS, errno.EACCES, errno.EPERM) else "make room"
    return RunFailed(
        f"{error.filename or folder.shown}: {error.strerror}; what was written before is whole: {remedy}, then go on "
        f"with resume={folder.shown}"
    )
