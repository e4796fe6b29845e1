"""What every task hands over: a source line, a target line and, where it is known, the true alignment."""

from typing import NamedTuple


class Pair(NamedTuple):
    """A source line, and the target line that the model should write for it.

    `links` are sure links (source word, target word), 0-based, words being what white space separates; None where the
    task knows no alignment.
    """

    source: str
    target: str
    links: tuple[tuple[int, int], ...] | None = None
