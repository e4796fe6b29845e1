"""Several systems on the same sentences."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from seq2see.evaluation.bootstrap import paired_tests
from seq2see.evaluation.counts import SentenceCounts


class System(NamedTuple):
    """One system's outputs for a set of pairs, scored.

    Args:
        name: its checkpoint.
        pairs: sources and references, in order.
        scores: by name.
        signatures: how they were computed.
        counts: what they are made of.
    """

    name: str
    pairs: Sequence[tuple[str, str]]
    scores: dict[str, float]
    signatures: dict[str, str]
    counts: SentenceCounts


def compare_systems(systems: Sequence[System]) -> dict[str, Any]:
    """Each system against the first one, in plain values.

    Returns:
        `checkpoints`; `signatures`; `scores`, by name the value of each system (None where it has none); and
        `against_first`, for each system but the first, by the score's name, `difference`, `interval` and `p`.

    Raises:
        ValueError: they have not translated the same pairs, or their scores were computed in different ways.
    """
    first, *others = systems
    for other in others:
        _require_alike(first, other)
    names = dict.fromkeys(name for system in systems for name in system.scores)
    return {
        "checkpoints": [system.name for system in systems],
        "signatures": first.signatures,
        "scores": {name: [system.scores.get(name) for system in systems] for name in names},
        "against_first": [
            {
                name: {"difference": test.difference, "interval": list(test.interval), "p": test.p}
                for name, test in paired_tests(first.counts, other.counts).items()
            }
            for other in others
        ],
    }


def _require_alike(first: System, other: System) -> None:
    for name, signature in first.signatures.items():
        if other.signatures.get(name) != signature:
            raise ValueError(
                f"ckpt: {name} of {other.name} has the signature {other.signatures.get(name)}, that of {first.name} "
                f"{signature}: such scores cannot be compared"
            )
    if list(first.pairs) == list(other.pairs):
        return
    if len(first.pairs) != len(other.pairs):
        found = f"{len(other.pairs):,} pairs instead of {len(first.pairs):,}"
    else:
        number = next(n for n, (a, b) in enumerate(zip(first.pairs, other.pairs, strict=True), start=1) if a != b)
        found = f"pair {number:,} is another one"
    raise ValueError(
        f"ckpt: {other.name} would be scored on other pairs than {first.name} ({found}): set task.test=FILE, so that "
        "all are scored on the same"
    )
