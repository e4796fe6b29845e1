"""What pairs are, in a few digits that are kept with the run, so that one that goes on notices other pairs."""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import Any
from zlib import crc32

from seq2see.options import FilesOptions, TrainOptions
from seq2see.tasks import Pair

PAIRS = "pairs"  # what a checkpoint calls its digests, by split
Plain = dict[str, int | str]


class PairDigest:
    """Counts pairs that pass by."""

    def __init__(self) -> None:
        self._num_pairs = 0
        self._in_order = blake2b(digest_size=16)
        self._in_any_order = 0  # only chooses the words of a message, for which a weak sum will do

    def through(self, pairs: Iterable[Pair]) -> Iterator[Pair]:
        """The same pairs, counted."""
        for pair in pairs:
            line = f"{len(pair.source)} {pair.source}{pair.target}\n".encode("utf-8", "surrogatepass")
            self._in_order.update(line)
            self._in_any_order += crc32(line)
            self._num_pairs += 1
            yield pair

    def plain(self) -> Plain:
        """As a checkpoint keeps it."""
        digest = f"{self._in_any_order:x}"
        return {"pairs": self._num_pairs, "in_order": self._in_order.hexdigest(), "in_any_order": digest}


def digest_of(pairs: Sequence[Pair]) -> Plain:
    """The digest of all pairs."""
    digest = PairDigest()
    for _ in digest.through(pairs):
        pass
    return digest.plain()


def other_pairs(options: TrainOptions, before: dict[str, Any], now: dict[str, Plain]) -> str | None:
    """Which pairs are not those of before, and what they come from; None if all are the same. Digests by split."""
    for split, digest in now.items():
        old = before.get(split, digest)
        if old == digest:
            continue
        place = _place(options.task, split)
        if old.get("in_any_order") == digest["in_any_order"]:
            return f"{place} has the same {split} pairs in another order, and exact repetition depends on the order"
        counts = f"{old.get('pairs'):,} then, {digest['pairs']:,} now"
        return f"the {split} pairs of {place} are other ones ({counts})"
    return None


def _place(task: Any, split: str) -> str:
    """What the pairs come from, as the user gave it."""
    if not isinstance(task, FilesOptions):
        return str(getattr(task, "path", None) or f"task={task.kind}")
    files = getattr(task, split, None) or task.train
    return ", ".join(map(str, files)) if isinstance(files, list) else str(files)
