"""From the command line to a call, and from what happened to an exit code.

0 done; 2 the user's mistake, with one message on stderr; 130 and 143 after SIGINT and SIGTERM; 1 anything else.
"""

import argparse
import ctypes
import errno
import importlib
import importlib.util
import os
import re
import sys
import time
from types import ModuleType
from typing import Any, NoReturn

from seq2see.runs.folder import OF_THE_DISK, RunFailed
from seq2see.runs.overrides import UsageError, read_overrides
from seq2see.runs.signals import Terminated, defer_signals, listen, stop_if_asked

USER, OTHER, INTERRUPTED, TERMINATED = 2, 1, 130, 143
INFO = ("all", "config", "defaults", "defaults-tree", "plugins", "searchpath")  # what --info shows
TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # glibc's M_TRIM_THRESHOLD and M_MMAP_THRESHOLD
LARGEST = 2**30  # bytes
FIRST_SPEAKS = 2.0  # seconds
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
    """Once, where torchrun or srun has started many of this process: whichever ends first takes the others along."""
    if os.environ.get("RANK", os.environ.get("SLURM_PROCID", "0")) == "0":
        print(message, file=sys.stderr)
    else:
        with defer_signals():
            time.sleep(FIRST_SPEAKS)


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
    if any(argument.startswith("hydra/sweeper=") for argument in typed) or "--info" in flags:
        _add_sweepers()
    overrides = typed if "--shell-completion" in flags else read_overrides(command, typed)
    for options in jobs_of(command, overrides, flags):  # none where Hydra only shows something
        _call(command, options)
    return 0


def _run_many(command: str, flags: list[str], overrides: list[str]) -> int:
    """Has Hydra's sweeper and launcher do several jobs: ours unless another sweeper is named."""
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    from seq2see.commands.sweep import Work
    from seq2see.runs.config import explained, hydra_main

    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise UsageError("-m: torchrun starts the processes of one run: leave it out, and add trainer.devices= instead")
    chosen = next((text for text in overrides if text.startswith("hydra/sweeper=")), "hydra/sweeper=basic")
    ours = ["hydra/sweeper=grid"] if chosen == "hydra/sweeper=basic" else []
    _add_sweepers()
    try:
        hydra_main(command, Work(command, _call), [f"hydra.job.name={command}", *overrides, *ours, *flags])
    except (HydraException, OmegaConfBaseException) as error:
        raise explained(command, error, overrides) from error
    return 0


def _add_sweepers() -> None:
    """Makes our sweepers known to Hydra, which takes plugins from the package `hydra_plugins` alone."""
    from hydra.core.config_store import ConfigStore
    from hydra.core.plugins import Plugins

    from seq2see.commands import sweep

    sweepers: list[tuple[str, Any, Any]] = [("grid", sweep.GridSweeper, sweep.GridConf)]
    if importlib.util.find_spec("optuna") is not None:
        from seq2see.commands import study  # a quarter of a second

        sweepers.append(("optuna", study.OptunaSweeper, study.OptunaConf))
    for name, sweeper, config in sweepers:
        Plugins.instance().register(sweeper)
        ConfigStore.instance().store(group="hydra/sweeper", name=name, node=config)
    parent, place = ModuleType("hydra_plugins"), ModuleType("hydra_plugins.seq2see")
    parent.__path__ = []
    sys.modules.setdefault(parent.__name__, parent)  # only other plugins bring it along
    sys.modules[place.__name__] = place
    vars(place).update({sweeper.__name__: sweeper for _, sweeper, _ in sweepers})


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


def _call(command: str, options: Any) -> Any:
    keep_freed_memory()
    if getattr(options, "ckpt", None) == "latest" and not os.path.exists("latest"):
        from seq2see.decoding import find_checkpoint

        options.ckpt = str(find_checkpoint("latest").parent.parent)
        print(f"ckpt=latest: {options.ckpt}", file=sys.stderr)
    module = importlib.import_module(MODULES.get(command, f"seq2see.commands.{command}"))
    return (module.command if hasattr(module, "command") else getattr(module, module.__name__.split(".")[-1]))(options)
