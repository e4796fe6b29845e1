"""Encoded pairs in a file, mapped into memory: any number of them, in about no memory and at once."""

from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import IO, NamedTuple

import numpy as np
import pyarrow as pa
from pyarrow import ipc

from seq2see.data.encoded import EncodedPairs, Texts
from seq2see.tasks import Pair
from seq2see.text import Tokenizer

_SCHEMA = pa.schema([("source", pa.large_list(pa.int32())), ("target", pa.large_list(pa.int32())), ("id", pa.int64())])
_NUM_DROPPED = b"num_dropped"
_PAIRS_AT_ONCE = 8_192


class Part(NamedTuple):
    """Some encoded pairs.

    Attributes:
        source: the tokens of their sources.
        target: the tokens of their targets.
        ids: their places in the list that was encoded, int64 (pairs,).
        num_dropped: pairs among them that were left out.
    """

    source: Texts
    target: Texts
    ids: np.ndarray
    num_dropped: int


def encoded_parts(
    pairs: Iterable[Pair], source_tokenizer: Tokenizer, target_tokenizer: Tokenizer, *, max_length: int | None
) -> Iterator[Part]:
    """What `EncodedPairs.from_pairs` gives, part by part.

    Raises:
        ValueError: all pairs are longer than `max_length`.
    """
    rest, num_seen, num_kept = iter(pairs), 0, 0
    while some := list(islice(rest, _PAIRS_AT_ONCE)):
        source = Texts.of(source_tokenizer.encode_batch(pair.source for pair in some))
        target = Texts.of(target_tokenizer.encode_batch(pair.target for pair in some))
        ids = np.arange(num_seen, num_seen + len(some))
        if max_length is not None:
            fits = np.maximum(source.lengths, target.lengths) <= max_length
            source, target, ids = source.only(fits), target.only(fits), ids[fits]
        num_seen += len(some)
        num_kept += len(ids)
        yield Part(source, target, ids, len(some) - len(ids))
    if num_seen and not num_kept:
        raise ValueError(
            f"data.max_length ({max_length}) leaves none of the {num_seen} pairs: each has a side with more tokens,"
            " the end included; set a larger data.max_length"
        )


class MappedPairs(EncodedPairs):
    """Pairs that stay in their file; a worker process opens the file again, instead of receiving a copy of it.

    Args:
        path: a file that `write` has made.

    Raises:
        OSError: the file is missing.
        pyarrow.ArrowException: it is not such a file, or not whole.
    """

    def __init__(self, path: Path) -> None:
        reader = ipc.open_file(pa.memory_map(str(path)))
        batch = reader.get_batch(0)  # all pairs: so each column is one flat array
        sides = [
            Texts(column.values.to_numpy(), column.offsets.to_numpy())
            for column in (batch.column("source"), batch.column("target"))
        ]
        num_dropped = int((reader.schema.metadata or {})[_NUM_DROPPED])
        super().__init__(*sides, ids=batch.column("id").to_numpy(), num_dropped=num_dropped)
        self._path = path

    def __reduce__(self) -> tuple[type["MappedPairs"], tuple[Path]]:
        return MappedPairs, (self._path,)

    @staticmethod
    def write(path: Path, parts: Iterable[Part]) -> None:
        """Writes pairs, of which never more than a part is in memory, into a file.

        They are collected in files beside it, as Arrow wants to know the lengths of its arrays before their contents.
        """
        names = ("source", "source offsets", "target", "target offsets", "id")
        spools = [path.with_name(f"{path.name} {name}") for name in names]
        num_dropped, ends = 0, [0, 0]
        try:
            files = [spool.open("wb") for spool in spools]
            try:
                for part in parts:
                    for side, texts in enumerate((part.source, part.target)):
                        _append(files[2 * side], texts.flat, np.int32)
                        _append(files[2 * side + 1], texts.offsets[:-1] + ends[side], np.int64)
                        ends[side] += int(texts.offsets[-1])
                    _append(files[4], part.ids, np.int64)
                    num_dropped += part.num_dropped
                for side, end in enumerate(ends):
                    _append(files[2 * side + 1], np.array([end]), np.int64)
            finally:
                for file in files:
                    file.close()
            source, source_offsets, target, target_offsets, ids = (
                _mapped(spool, np.int32 if name in ("source", "target") else np.int64)
                for spool, name in zip(spools, names, strict=True)
            )
            sides = [
                pa.LargeListArray.from_arrays(*side) for side in ((source_offsets, source), (target_offsets, target))
            ]
            schema = _SCHEMA.with_metadata({_NUM_DROPPED: str(num_dropped).encode()})
            with ipc.new_file(str(path), schema) as writer:
                writer.write_batch(pa.record_batch([*sides, ids], schema=schema))
        finally:
            for spool in spools:
                spool.unlink(missing_ok=True)


def _append(file: IO[bytes], numbers: np.ndarray, kind: type) -> None:
    np.ascontiguousarray(numbers, dtype=kind).tofile(file)


def _mapped(path: Path, kind: type) -> pa.Array:
    numbers = np.memmap(path, dtype=kind, mode="r") if path.stat().st_size else np.zeros(0, dtype=kind)
    return pa.array(numbers)
