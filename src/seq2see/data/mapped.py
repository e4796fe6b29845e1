"""Encoded pairs in a file, mapped into memory: any number of them, in about no memory and at once."""

from collections.abc import Iterable
from pathlib import Path
from typing import IO

import numpy as np
import pyarrow as pa
from pyarrow import ipc

from seq2see.data.encoded import EncodedPairs, Part, Texts

_SCHEMA = pa.schema([("source", pa.large_list(pa.int32())), ("target", pa.large_list(pa.int32())), ("id", pa.int64())])
_NUM_DROPPED = b"num_dropped"


class MappedPairs(EncodedPairs):
    """Pairs that stay in a file that `write` has made; a worker process opens it again, and receives no copy.

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
