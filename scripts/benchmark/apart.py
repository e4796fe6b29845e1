"""Contenders in processes of their own, each with the memory settings that its users would have."""

import multiprocessing
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from multiprocessing.connection import Connection
from typing import Any, NamedTuple

from seq2see.commands.shell import keep_freed_memory


class Contender(NamedTuple):
    """What a process of its own is to do.

    Args:
        make: a function of a module, called there once; returns the work, which returns how much it has done.
        arguments: of `make`.
        keeps_memory: as the commands of seq2see do (`keep_freed_memory`); otherwise as Python starts.
    """

    make: Callable[..., Callable[[], float]]
    arguments: tuple[Any, ...]
    keeps_memory: bool = False


@contextmanager
def apart(contenders: Mapping[str, Contender]) -> Iterator[dict[str, Callable[[], float]]]:
    """Starts a process for each, and gives functions that let it work while all others wait.

    Raises:
        RuntimeError: a contender failed; its traceback is on stderr.
    """
    context = multiprocessing.get_context("spawn")
    with ExitStack() as stack:
        work = {}
        for name, contender in contenders.items():
            here, there = context.Pipe()
            process = context.Process(target=_serve, args=(there, contender), daemon=True)
            process.start()
            there.close()
            stack.callback(process.join)
            stack.callback(here.close)
            work[name] = _work_of(here, name)
        yield work


def _work_of(connection: Connection, name: str) -> Callable[[], float]:
    def work() -> float:
        try:
            connection.send(None)
            return connection.recv()
        except (EOFError, ConnectionError) as error:
            raise RuntimeError(f"{name} failed") from error

    return work


def _serve(connection: Connection, contender: Contender) -> None:
    if contender.keeps_memory:
        keep_freed_memory()
    work = contender.make(*contender.arguments)
    while True:
        try:
            connection.recv()
        except EOFError:
            return
        connection.send(work())
