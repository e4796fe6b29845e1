"""From the command line to a call, and from what happened to an exit code.

0 done; 2 the user's mistake, with one message on stderr; 130 and 143 after SIGINT and SIGTERM; 1 anything else.
"""

import argparse
import ctypes
import errno
import importlib
import os
import re
import sys
import tempfile
from typing import Any, NoReturn

from seq2see.runs.folder import OF_THE_DISK, RunFailed
from seq2see.runs.overrides import UsageError, quoted, read_overrides
from seq2see.runs.signals import Terminated, listen, stop_if_asked

USER, OTHER, INTERRUPTED, TERMINATED = 2, 1, 130, 143
INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")  # what --info shows
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # glibc's M_TRIM_THRESHOLD and M_MMAP_THRESHOLD
LARGEST = 2**30  # bytes
MODULES = {"train": "seq2see.runs.train", "benchmark": "benchmark"}  # the latter lies beside its script


def main(command: str, help_text: str | None) -> None:
    """Runs a command with the process's arguments, and exits.

    Args:
        command: one of `options.COMMANDS`.
        help_text: what `--help` prints.
    """
    sys.exit(run(command, sys.argv[1:], help_text))


def run(command: str, arguments: list[str], help_text: str | None = None) -> int:
    """Runs a command, or prints its help, and returns its exit code; messages go to stderr."""
    _open_what_is_closed()
    try:
        if "--help" in arguments or "-h" in arguments:
            print((help_text or "").strip())
            code = 0
        else:
            code = _answer(command, arguments)
        sys.stdout.flush()
        return code
    except OSError as error:
        if error.filename is not None or error.errno not in (*OF_THE_DISK, errno.EBADF, errno.EPIPE):
            raise
        from seq2see.runs.terminal import mute

        mute(sys.stdout)  # nothing more is said at exit
        if isinstance(error, BrokenPipeError):  # nobody reads any more
            return 0
        print(f"{command}: its output cannot be written ({error.strerror})", file=sys.stderr)
        return OTHER


def _open_what_is_closed() -> None:
    """In the place of a closed stream one that fails when it is read or written, as it should: not the next file."""
    modes = {"stdin": os.O_WRONLY, "stdout": os.O_RDONLY, "stderr": os.O_WRONLY}  # of messages nobody is in need
    for name, mode in modes.items():
        if getattr(sys, name) is None:
            descriptor = os.open(os.devnull, mode)  # the lowest that is free, so that of the stream
            setattr(sys, name, open(descriptor, "r" if name == "stdin" else "w", encoding="utf-8"))  # noqa: SIM115


def _answer(command: str, arguments: list[str]) -> int:
    listen()
    keep_freed_memory()
    try:
        try:
            return _run(command, arguments)
        except Exception:
            stop_if_asked()  # a signal that is raised in the middle of an import may come out as another error
            raise
    except ValueError as error:
        _say(_readable(f"{command}: {error}"))
        return USER
    except RunFailed as error:
        _say(f"{command}: {error}")
        return OTHER
    except Terminated:
        return TERMINATED
    except KeyboardInterrupt:
        print(f"\n{command}: interrupted", file=sys.stderr)
        return INTERRUPTED


def _say(message: str) -> None:
    """Once, where torchrun or srun has started many of this process."""
    if os.environ.get("RANK", os.environ.get("SLURM_PROCID", "0")) == "0":
        print(message, file=sys.stderr)


def keep_freed_memory() -> bool:
    """Tells glibc not to give memory back to the system, only to ask for the same again a moment later.

    A training step frees and allocates the same megabytes over and over; each time the kernel would clear every page
    of them anew, which took a sixth of a step.

    Returns:
        whether there is a glibc here that took it.

    Source:
        mallopt(3) of the Linux manual.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(MMAP_THRESHOLD, LARGEST) and mallopt(TRIM_THRESHOLD, LARGEST))


def _readable(message: str) -> str:
    """The message without what would disturb a terminal, and with very long words cut: they are what was typed."""
    escaped = (char.encode("unicode_escape").decode("ascii") for char in message)
    shown = "".join(
        char if char.isprintable() or char in "\n\t" else code for char, code in zip(message, escaped, strict=True)
    )
    return re.sub(r"\S{500,}", lambda word: f"{word[0][:100]}...{word[0][-40:]}", shown)


def _run(command: str, arguments: list[str]) -> int:
    from seq2see.runs.config import compose_options, jobs_of  # Hydra takes a third of a second

    flags, typed = _flags_apart(arguments)
    if "--multirun" in flags:
        return _run_many(command, flags, read_overrides(command, typed, multirun=True))
    if not flags:
        _call(command, compose_options(command, typed))
        return 0
    overrides = typed if "--shell-completion" in flags else read_overrides(command, typed)
    for _, options in jobs_of(command, overrides, flags):  # none where Hydra only shows something
        _call(command, options)
    return 0


def _run_many(command: str, flags: list[str], overrides: list[str]) -> int:
    """Has Hydra do one job after the other, or as its launcher does; a failed one does not stop the others."""
    from hydra.core.hydra_config import HydraConfig

    from seq2see.runs.config import hydra_main, job_of, jobs_of

    def work(config: Any) -> None:
        number, options = job_of(command, config)
        _keep_apart(command, options, number)
        print(f"job {number}: {' '.join(HydraConfig.get().overrides.task)}", file=sys.stderr)
        try:
            _call(command, options)
        except Exception as error:  # Hydra goes on with the others, and raises the first one after them
            print(f"job {number} failed: {error}", file=sys.stderr)
            raise RunFailed(f"job {number} failed: {error}") from error

    with tempfile.TemporaryDirectory() as folder:  # Hydra writes into it what was varied
        place = f"hydra.sweep.dir={quoted(folder)}"
        ours = [override for override in overrides if not override.startswith("hydra")]  # without a launcher
        if not any(override.startswith("hydra/sweeper=") for override in overrides):  # then jobs follow from results
            jobs = jobs_of(command, [place, *ours], flags)
            if not jobs:
                raise UsageError(f"{' '.join(overrides)}: there is no job in this")
            for number, options in jobs:
                _keep_apart(command, options, number)
        hydra_main(command, work, [place, *overrides, *flags])
    return 0


class _Flags(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see --help)")


def _flags_apart(arguments: list[str]) -> tuple[list[str], list[str]]:
    """Hydra's own flags, by their long names and with their values, and the other arguments."""
    parser = _Flags(add_help=False, allow_abbrev=False)
    for names in ("--multirun -m", "--run -r", "--resolve", "--shell-completion -sc", "--hydra-help"):
        parser.add_argument(*names.split(), action="store_true")
    for names in ("--package -p", "--config-path -cp", "--config-name -cn", "--config-dir -cd"):
        parser.add_argument(*names.split())
    parser.add_argument("--cfg", "-c", choices=("job", "hydra", "all"))
    parser.add_argument("--info", "-i", nargs="?", const="all", choices=INFO)
    known, others = parser.parse_known_args(arguments)
    for argument in others:
        if argument.startswith("-"):
            raise UsageError(f"{argument}: there is no such flag; settings have the form key=value (see --help)")
    flags = []
    for name, value in vars(known).items():
        if value:
            flags += [f"--{name.replace('_', '-')}", *([value] if isinstance(value, str) else [])]
    return flags, others


def _keep_apart(command: str, options: Any, number: int) -> None:
    """Gives a job of several a folder of its own in the one that is named, or puts its number before a file's ending.

    Raises:
        UsageError: none is named, and the jobs would write over each other, or over a run's own scores.
    """
    key = "run_dir" if command == "train" else "output"
    place = getattr(options, key, None)
    if place is not None:
        stem, ending = os.path.splitext(place)
        is_folder = command in ("train", "evaluate")
        setattr(options, key, os.path.join(place, str(number)) if is_folder else f"{stem}-{number}{ending}")
    elif command == "evaluate" or (command == "attention" and options.format.value in ("html", "svg")):
        where = "FOLDER" if command == "evaluate" else "FILE"
        raise UsageError(f"-m: the jobs would write over each other, or over a run's own scores: add output={where}")


def _call(command: str, options: Any) -> None:
    if getattr(options, "ckpt", None) == "latest" and not os.path.exists("latest"):
        from seq2see.decoding import find_checkpoint

        options.ckpt = str(find_checkpoint("latest").parent.parent)
        print(f"ckpt=latest: {options.ckpt}", file=sys.stderr)
    module = importlib.import_module(MODULES.get(command, f"seq2see.commands.{command}"))
    (module.command if hasattr(module, "command") else getattr(module, module.__name__.split(".")[-1]))(options)
