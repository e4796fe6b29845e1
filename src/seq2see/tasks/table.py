"""Many pairs in little memory: columns of text in Arrow's format, in a mapped file once they are large."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice, repeat
from mmap import ACCESS_READ, mmap
from pathlib import Path
from tempfile import SpooledTemporaryFile
from typing import IO, cast, overload

import numpy as np
import pyarrow as pa
from pyarrow import ipc

from seq2see.tasks.pairs import Pair

_SCHEMA = pa.schema(
    [("source", pa.large_string()), ("target", pa.large_string()), ("links", pa.large_list(pa.int32()))]
)  # links: source word, target word, source word, ... of one link after the other; null where none are known
_PAIRS_AT_ONCE = 8_192
_IN_MEMORY = 64 * 2**20  # bytes; a larger table goes into a temporary file that has no name


class PairTable(Sequence[Pair]):
    """Pairs as a list would give them, of which only those that are looked at become Python objects.

    `places` are the rows that these pairs are, ascending, int64 (pairs,); None: all.
    """

    def __init__(self, table: pa.Table, places: np.ndarray | None = None) -> None:
        self._table = table
        self._places = places

    @classmethod
    def of(cls, pairs: Iterable[Pair]) -> "PairTable":
        """A table of these pairs, which are read once."""
        with SpooledTemporaryFile(max_size=_IN_MEMORY) as file:
            with ipc.new_stream(cast(IO[bytes], file), _SCHEMA) as writer:
                _write(writer, pairs)
            file.flush()
            size = file.tell()
            file.seek(0)
            content = file.read() if size <= _IN_MEMORY else mmap(file.fileno(), size, access=ACCESS_READ)
        return cls(ipc.open_stream(pa.py_buffer(content)).read_all())

    @classmethod
    def open(cls, path: Path) -> "PairTable":
        """The table in a file that `write` has made, mapped; OSError or ArrowException if there is no such file."""
        return cls(ipc.open_file(pa.memory_map(str(path))).read_all())

    @staticmethod
    def write(path: Path, pairs: Iterable[Pair]) -> None:
        """Writes pairs into a file that `open` reads."""
        with ipc.new_file(str(path), _SCHEMA) as writer:
            _write(writer, pairs)

    def take(self, places: np.ndarray) -> "PairTable":
        """The pairs at these places, ascending, int64 (pairs,)."""
        return PairTable(self._table, places if self._places is None else self._places[places])

    def texts(self, side: str) -> Iterator[str]:
        """All sources, or all targets: quicker than the pairs."""
        for batch in self._batches():
            yield from batch.column(side).to_pylist()

    def __len__(self) -> int:
        return self._table.num_rows if self._places is None else len(self._places)

    @overload
    def __getitem__(self, index: int) -> Pair: ...
    @overload
    def __getitem__(self, index: slice) -> list[Pair]: ...
    def __getitem__(self, index: int | slice) -> Pair | list[Pair]:
        if isinstance(index, slice):
            return [self[place] for place in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        row = place if self._places is None else int(self._places[place])
        source, target, links = (self._table.column(name)[row].as_py() for name in _SCHEMA.names)
        return Pair(source, target, _as_links(links))

    def __iter__(self) -> Iterator[Pair]:
        for batch in self._batches():
            links = batch.column("links")
            all_links = (
                repeat(None, len(links)) if links.null_count == len(links) else map(_as_links, links.to_pylist())
            )
            sides = batch.column("source").to_pylist(), batch.column("target").to_pylist()
            yield from map(Pair, *sides, all_links)

    def _batches(self) -> Iterator[pa.RecordBatch]:
        begin = 0
        for batch in self._table.to_batches():
            end = begin + batch.num_rows
            if self._places is None:
                yield batch
            else:
                first, last = np.searchsorted(self._places, (begin, end))
                yield batch.take(pa.array(self._places[first:last] - begin))
            begin = end


def _write(writer: ipc.RecordBatchFileWriter | ipc.RecordBatchStreamWriter, pairs: Iterable[Pair]) -> None:
    rest = iter(pairs)
    while some := list(islice(rest, _PAIRS_AT_ONCE)):
        columns = zip(*((pair.source, pair.target, _as_numbers(pair.links)) for pair in some), strict=True)
        arrays = [pa.array(column, field.type) for column, field in zip(columns, _SCHEMA, strict=True)]
        writer.write_batch(pa.record_batch(arrays, schema=_SCHEMA))


def _as_numbers(links: tuple[tuple[int, int], ...] | None) -> list[int] | None:
    return None if links is None else [word for link in links for word in link]


def _as_links(numbers: list[int] | None) -> tuple[tuple[int, int], ...] | None:
    return None if numbers is None else tuple(zip(numbers[::2], numbers[1::2], strict=True))
