"""From the command line to a call, and from what happened to an exit code.

0 done; 2 the user's mistake, with one message on stderr; 130 and 143 after SIGINT and SIGTERM; 1 anything else.
"""

import errno
import importlib
import os
import re
import sys
from typing import Any

from seq2see.runs.folder import OF_THE_DISK, RunFailed
from seq2see.runs.memory import keep_freed_memory
from seq2see.runs.overrides import UsageError, read_overrides
from seq2see.runs.signals import Terminated, listen, stop_if_asked

USER, OTHER, INTERRUPTED, TERMINATED = 2, 1, 130, 143
MODULES = {"data": "seq2see.runs.data_report", "benchmark": "benchmark"}  # the benchmark lies beside its script


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
        print(_readable(f"{command}: {error}"), file=sys.stderr)
        return USER
    except RunFailed as error:
        print(f"{command}: {error}", file=sys.stderr)
        return OTHER
    except Terminated:
        return TERMINATED
    except KeyboardInterrupt:
        print(f"\n{command}: interrupted", file=sys.stderr)
        return INTERRUPTED


def _readable(message: str) -> str:
    """The message without what would disturb a terminal, and with very long words cut: they are what was typed."""
    escaped = (char.encode("unicode_escape").decode("ascii") for char in message)
    shown = "".join(
        char if char.isprintable() or char in "\n\t" else code for char, code in zip(message, escaped, strict=True)
    )
    return re.sub(r"\S{500,}", lambda word: f"{word[0][:100]}...{word[0][-40:]}", shown)


def _run(command: str, arguments: list[str]) -> int:
    multirun = [argument for argument in arguments if argument in ("-m", "--multirun")]
    arguments = [argument for argument in arguments if argument not in multirun]
    from seq2see.runs.config import config_folder

    overrides = read_overrides(command, arguments, config_folder())
    if multirun:
        return _sweep(command, overrides)
    _call(command, options_of(command, overrides))
    return 0


def options_of(command: str, overrides: list[str]) -> Any:
    """The command's options.

    Raises:
        ValueError: Hydra or a rule refuses them; the message is for the user.
    """
    from hydra.errors import HydraException
    from omegaconf.errors import OmegaConfBaseException

    from seq2see.runs.config import compose_options

    try:
        return compose_options(command, overrides)
    except (HydraException, OmegaConfBaseException) as error:
        raise UsageError(_explained(error, overrides)) from error


def _explained(error: BaseException, overrides: list[str]) -> str:
    """What was wrong, with the key and the value that was typed."""
    from hydra.errors import OverrideParseException

    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OverrideParseException):
            key = cause.override.split("=", 1)[0]
            hint = f"a text with such characters is quoted twice, as in \"{key}='...'\""
            return f"{cause.override}: this cannot be read as a value; {hint}"
        key, message = getattr(cause, "full_key", None), getattr(cause, "msg", None)
        if key:
            typed = next((text for text in reversed(overrides) if text.startswith(f"{key}=")), key)
            return f"{typed}: {str(message or cause).splitlines()[0]}"
        cause = cause.__cause__
    message = " ".join(str(error).split())
    several = re.match(r"(?:Ambiguous value for argument|Sweep parameters) '(.*?)'", message)
    if several:
        return f"{several[1]}: several values: add -m for one run after the other, or write [A,B] for a list"
    return message


def _sweep(command: str, overrides: list[str]) -> int:
    """One job after the other for all combinations; a failed one does not stop the others."""
    from hydra._internal.core_plugins.basic_sweeper import BasicSweeper
    from hydra.core.override_parser.overrides_parser import OverridesParser
    from hydra.errors import HydraException

    try:
        parsed = OverridesParser.create().parse_overrides(overrides)
        jobs = BasicSweeper.split_arguments(parsed, max_batch_size=None)[0]
    except HydraException as error:
        raise UsageError(_explained(error, overrides)) from error
    if not jobs:
        raise UsageError(f"{' '.join(overrides)}: there is no job in this")
    all_options = [options_of(command, list(job)) for job in jobs]
    for number, options in enumerate(all_options):
        _keep_apart(command, options, number)
    worst = 0
    for number, options in enumerate(all_options):
        print(f"job {number}: {' '.join(jobs[number])}", file=sys.stderr)
        try:
            _call(command, options)
        except BrokenPipeError:
            raise
        except Exception as error:
            print(f"job {number} failed: {error}", file=sys.stderr)
            worst = OTHER
    return worst


def _keep_apart(command: str, options: Any, number: int) -> None:
    """Gives a job a folder of its own in the one that is named, or puts its number before the ending of a file.

    Raises:
        UsageError: none is named, and the jobs would write over each other, or over a run's own scores.
    """
    key = "run_dir" if command == "train" else "output"
    place = getattr(options, key, None)
    if place is not None and command in ("train", "evaluate"):
        setattr(options, key, os.path.join(place, str(number)))
    elif place is not None:
        stem, ending = os.path.splitext(place)
        setattr(options, key, f"{stem}-{number}{ending}")
    elif command == "evaluate" or (command == "attention" and options.format.value in ("html", "svg")):
        where = "FOLDER" if command == "evaluate" else "FILE"
        raise UsageError(f"-m: the jobs would write over each other, or over a run's own scores: add output={where}")


def _call(command: str, options: Any) -> None:
    module = importlib.import_module(MODULES.get(command, f"seq2see.runs.{command}"))
    (module.command if hasattr(module, "command") else getattr(module, module.__name__.split(".")[-1]))(options)
