"""What pairs are, in a few digits that are kept with the run, so that one that goes on notices other pairs."""

from collections.abc import Sequence
from hashlib import blake2b
from typing import Any

from seq2see.options import FilesOptions
from seq2see.tasks import Pair

PAIRS = "pairs"  # what a checkpoint calls its digests, by split
Plain = dict[str, int | str]


def digest_of(pairs: Sequence[Pair]) -> Plain:
    """The digest of all pairs, in their order."""
    digest = blake2b(digest_size=16)
    for pair in pairs:
        digest.update(f"{len(pair.source)} {pair.source}{pair.target}\n".encode("utf-8", "surrogatepass"))
    return {"pairs": len(pairs), "in_order": digest.hexdigest()}


def other_pairs(task: Any, before: dict[str, Any], now: dict[str, Plain]) -> str | None:
    """Which pairs are not those of before, and what they come from; None if all are the same. Digests by split."""
    for split, digest in now.items():
        old = before.get(split, digest)
        if old.get("in_order") != digest["in_order"]:
            counts = f"{old.get('pairs')} then, {digest['pairs']} now"
            return f"the {split} pairs of {_place(task, split)} are other ones, or in another order ({counts})"
    return None


def _place(task: Any, split: str) -> str:
    """What the pairs come from, as the user gave it."""
    if not isinstance(task, FilesOptions):
        return str(getattr(task, "path", None) or f"task={task.kind}")
    files = getattr(task, split, None) or task.train
    return ", ".join(map(str, files)) if isinstance(files, list) else str(files)
