"""Several systems on the same sentences."""

from collections.abc import Sequence
from typing import Any, NamedTuple

from seq2see.evaluation.bootstrap import paired_tests
from seq2see.evaluation.counts import SentenceCounts

_OF_TOKENS = ("loss", "perplexity", "token_accuracy", "ser")  # what depends on how a target is cut into tokens


class System(NamedTuple):
    """One system's outputs for a set of pairs, scored.

    Args:
        name: its checkpoint.
        pairs: sources and targets, in order.
        tokens: for each pair the tokens of its target as this system knows them.
        num_unknown: of these, how many it does not know.
        scores: by name.
        signatures: how they were computed.
        counts: what they are made of.
    """

    name: str
    pairs: Sequence[tuple[str, str]]
    tokens: Sequence[Sequence[str]]
    num_unknown: int
    scores: dict[str, float]
    signatures: dict[str, str]
    counts: SentenceCounts


def compare_systems(systems: Sequence[System]) -> dict[str, Any]:
    """Each system against the first one, in plain values.

    Returns:
        `checkpoints`; `signatures`; `scores`, by name the value of each system (None where it has none);
        `against_first`, for each system but the first, by the score's name, `difference`, `interval` and `p`; and
        `notes`: which scores were left out there, and why.

    Raises:
        ValueError: they have not translated the same pairs, or their scores were computed in different ways.
    """
    first, *others = systems
    for other in others:
        _require_alike(first, other)
    names = dict.fromkeys(name for system in systems for name in system.scores)
    notes, against_first = [], []
    for number, other in enumerate(others, start=2):
        left_out = _left_out(first, other)
        tests = paired_tests(first.counts, other.counts)
        against_first.append(
            {
                name: {"difference": test.difference, "interval": list(test.interval), "p": test.p}
                for name, test in tests.items()
                if name not in left_out
            }
        )
        if left_out:
            notes.append(
                f"1 and {number} cut the targets into other tokens, so {', '.join(left_out)} are not comparable"
                + ("" if "target_log_prob" in left_out else ": target_log_prob, of whole targets, is")
            )
    return {
        "checkpoints": [system.name for system in systems],
        "signatures": first.signatures,
        "scores": {name: [system.scores.get(name) for system in systems] for name in names},
        "against_first": against_first,
        "notes": notes,
    }


def _left_out(first: System, other: System) -> tuple[str, ...]:
    """The scores that are of other tokens; also of whole targets where a system knows only that a symbol is unknown."""
    if list(first.tokens) == list(other.tokens):
        return ()
    return (*_OF_TOKENS, "target_log_prob") if first.num_unknown or other.num_unknown else _OF_TOKENS


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
