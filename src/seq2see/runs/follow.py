"""What all processes of a run do but the first: the same training, without a voice and without a file."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from seq2see.options import TrainOptions
from seq2see.ranks import from_first
from seq2see.runs.folder import RunFolder
from seq2see.runs.launch import connect
from seq2see.runs.pair_digests import Plain
from seq2see.runs.prepare import prepare
from seq2see.runs.resume import find_earlier
from seq2see.runs.score_best import score_best
from seq2see.runs.signals import listen, stop_if_asked
from seq2see.runs.terminal import Terminal
from seq2see.training.objective import NotFinite


class Order(NamedTuple):
    """What the first process has found out, and all are to do now."""

    options: TrainOptions  # with nothing left open
    folder: Path  # the run's
    digests: dict[str, Plain]  # of the pairs
    goes_on: bool  # from `last.ckpt`
    is_trained: bool  # only the test is missing


@contextmanager
def leading() -> Iterator[Callable[[Any], None]]:
    """In the first process: gives what tells the others their `Order`, or where nothing is to be done the result.

    If it comes to neither, they end.
    """
    told: list[Any] = []

    def tell(what: Any) -> None:
        told.append(what)
        from_first(what)

    try:
        yield tell
    finally:
        if not told:
            from_first(None)


def follow() -> Any:
    """Trains and tests with the first process, and gives what that gives in the end.

    Raises:
        ValueError: this process has found other pairs.
    """
    order: Any = from_first(None)
    if not isinstance(order, Order):
        return order
    folder, earlier = RunFolder(order.folder), find_earlier(order.folder) if order.goes_on else None
    setup = prepare(order.options, goes_on=None if earlier is None else earlier.checkpoint)
    if setup.digests != order.digests:
        raise ValueError(f"{folder.path}: this process has found other pairs than the first: give all the same files")
    if not order.is_trained:
        from seq2see.runs.fit import fit  # Lightning takes seconds

        try:
            fit(setup, folder, Terminal(quiet=True), None, earlier=earlier)
        except NotFinite:
            return None  # the first one says it
        stop_if_asked()
    score_best(setup, folder)
    return from_first(None)


def main(backend: str) -> None:
    """A process that `launch.processes` has started."""
    listen()
    connect(backend)
    try:
        follow()
    except ValueError as error:
        sys.exit(str(error))
