"""Files of pairs, whatever their format: `.tsv`, `.csv`, `.jsonl`, `.json`, `.parquet`, or two parallel files of lines.

Packed text (`.gz`, `.bz2`, `.xz`, `.zst`) is unpacked on the way. Text is read by our own `lines` (which says why);
`.parquet` by `pyarrow`, as `datasets` does underneath: `datasets` itself takes a path for a pattern (a file with `::`
in its name is never found), fails on a file without rows, writes into the user's home, and gives its cached copy of an
edited file whose time stamp is the same.
"""

from collections.abc import Generator, Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from seq2see.options import OnBadLine
from seq2see.tasks.columns import Columns, named, pairs_of_lines, pairs_of_objects, pairs_of_rows, source_key
from seq2see.tasks.json_objects import objects_of_lines, objects_of_whole
from seq2see.tasks.ledger import Ledger
from seq2see.tasks.lines import (
    Row,
    content,
    count_lines,
    csv_rows,
    has_bare_returns,
    say_bare_returns,
    text_lines,
    tsv_rows,
)
from seq2see.tasks.opening import cannot_read
from seq2see.tasks.pairs import Pair
from seq2see.tasks.paths import FileSet, found, suffix_of
from seq2see.tasks.progress import watched
from seq2see.tasks.table import PairTable
from seq2see.text import DataError

if TYPE_CHECKING:
    from pyarrow import RecordBatch

_XML = ("<?xml", "<!doctype", "<tmx", "<xliff")


class Manner(NamedTuple):
    """How files are read.

    Attributes:
        columns: which parts of a line are the pair.
        on_bad_line: whether a bad line is an error, or skipped and counted in the notes.
        delimiter: between the columns of a text file, a character or `tab`; None: a comma in `.csv`, else a tab.
        encoding: of text files, by Python's name for it.
    """

    columns: Columns
    on_bad_line: OnBadLine
    delimiter: str | None
    encoding: str


class Reading(NamedTuple):
    """What files gave: their pairs in order, and what people should know about them."""

    pairs: PairTable
    notes: list[str]


def read_pairs(files: FileSet, manner: Manner) -> Reading:
    """Reads files of pairs one after the other, or two parallel ones.

    Args:
        files: a file that is of no other format by its name has tabs between its columns.
        manner: how to read them.

    Raises:
        DataError: a file is missing or unreadable, none has pairs, or a line is bad and bad lines are errors.
        ValueError: columns are chosen for parallel files.
    """
    notes: list[str] = []
    names, shown = files.names, " and ".join(files.names)
    for name in names:
        found(name)
    if not files.are_parallel:
        ledgers = [
            Ledger(name, manner.on_bad_line, "row" if suffix_of(name) == ".parquet" else "line") for name in names
        ]
        pairs = _joined(ledgers, manner, notes)
    elif manner.columns.are_chosen:
        raise ValueError(
            f"task.source, task.target and task.features choose columns, and parallel files have none ({shown}): unset "
            "them, or name files that hold pairs"
        )
    else:
        ledgers = [Ledger(shown, manner.on_bad_line)]
        pairs = pairs_of_lines(_side_by_side(names, ledgers[0], manner.encoding, notes), names, ledgers[0])
    first = Path(names[0]).name
    table = PairTable.of(watched(pairs, f"reading {first}" if len(names) == 1 else f"reading {first} and more"))
    if not table:
        raise ledgers[0].no_pairs()
    return Reading(table, notes + [note for ledger in ledgers for note in ledger.notes()])


def _joined(ledgers: list[Ledger], manner: Manner, notes: list[str]) -> Iterator[Pair]:
    """The pairs of one file after the other; a header that the first one has, the others have too."""
    columns = manner.columns
    for ledger in ledgers:
        columns = yield from _pairs_of(ledger, columns, manner, notes)


def _pairs_of(ledger: Ledger, columns: Columns, manner: Manner, notes: list[str]) -> Generator[Pair, None, Columns]:
    name, suffix = ledger.name, suffix_of(ledger.name)
    if suffix == ".parquet":
        yield from _parquet_pairs(found(name), name, columns, ledger)
        return columns
    lines = text_lines(found(name), name, ledger, manner.encoding)
    if suffix in (".jsonl", ".ndjson", ".json"):
        is_whole = suffix == ".json"
        objects = objects_of_whole(lines, source_key(columns), ledger) if is_whole else objects_of_lines(lines, ledger)
        yield from pairs_of_objects(objects, columns, ledger)
        return columns
    delimiter = "\t" if manner.delimiter == "tab" else manner.delimiter or ("," if suffix == ".csv" else "\t")
    rows = _recognised((csv_rows if suffix == ".csv" else tsv_rows)(lines, ledger, delimiter), ledger, notes)
    return (yield from pairs_of_rows(rows, columns, ledger, notes, delimiter))


def _recognised(rows: Iterator[Row], ledger: Ledger, notes: list[str]) -> Iterator[Row]:
    """The rows, those of `IN: ... OUT: ...` as two fields.

    Raises:
        DataError: the first row shows that the file is of another format.
    """
    first = next(rows, None)
    if first is None:
        return iter(())
    number, fields = first
    line = fields[0].lstrip().lower() if len(fields) == 1 else ""
    if line.startswith(_XML):
        kind = {".tmx": "TMX", ".xlf": "XLIFF", ".xliff": "XLIFF"}.get(
            suffix_of(ledger.name), "XML (as TMX and XLIFF are)"
        )
        raise ledger.error(number, f"{kind}, which is not read here", "convert it to two columns, as .tsv or .csv")
    if line.startswith(("{", "[")):
        raise ledger.error(number, "JSON by its look", "give the file a name that ends in .jsonl or .json")
    if len(fields) != 2 and has_bare_returns(fields):
        second = next(rows, None)
        if second is None:
            raise ledger.error(number, *say_bare_returns())
        return chain([first, second], rows)
    if len(fields) == 1 and fields[0].startswith("IN: ") and " OUT: " in fields[0]:
        notes.append(f"{ledger.name}: read as lines of the shape 'IN: source OUT: target'")
        return _in_and_out(chain([first], rows), ledger)
    return chain([first], rows)


def _in_and_out(rows: Iterable[Row], ledger: Ledger) -> Iterator[Row]:
    """The lines of the published SCAN files."""
    for number, fields in rows:
        source, mark, target = fields[0].partition(" OUT: ")
        if len(fields) == 1 and mark and source.startswith("IN: "):
            yield number, [source.removeprefix("IN: "), target]
        else:
            ledger.bad(number, "not of the shape 'IN: source OUT: target' as the first line", "write it so")


def _side_by_side(
    names: list[str], ledger: Ledger, encoding: str, notes: list[str]
) -> Iterator[tuple[int, str | None, str | None]]:
    counts = [count_lines(found(name), name, encoding) for name in names]
    if counts[0] != counts[1]:
        shorter = counts.index(min(counts))
        raise DataError(
            f"{names[1 - shorter]}, line {counts[shorter] + 1}: no line to go with it, {names[0]} has {counts[0]:,} "
            f"lines and {names[1]} has {counts[1]:,}, give both the same number, line by line"
        )
    sides = [text_lines(found(name), name, ledger, encoding) for name in names]
    for (number, source), (_, target) in zip(*sides, strict=True):
        ended = any(line is None or line.endswith("\n") for line in (source, target))
        if counts == [1, 1] and not ended and has_bare_returns([str(source), str(target)]):
            raise ledger.error(number, *say_bare_returns())
        if number == 1 and all("\t" in (line or "") or " OUT: " in (line or "") for line in (source, target)):
            notes.append(f"{ledger.name}: read as a file of sources and one of targets, though both look like pairs")
        yield number, None if source is None else content(source), None if target is None else content(target)


def _parquet_pairs(path: Path, name: str, columns: Columns, ledger: Ledger) -> Iterator[Pair]:
    from pyarrow import ArrowException, parquet

    try:
        with open(path, "rb") as file:
            table = parquet.ParquetFile(file)
            there = table.schema_arrow.names
            columns = named(columns, there, name)
            wanted = [column for column in there if column in (*columns, "translation")]
            yield from pairs_of_objects(_parquet_rows(table.iter_batches(columns=wanted)), columns, ledger)
    except ArrowException as error:
        raise DataError(f"{name}: not readable as parquet ({error}), write it anew") from None
    except OSError as error:
        raise cannot_read(name, error) from None


def _parquet_rows(batches: Iterable["RecordBatch"]) -> Iterator[tuple[int, Mapping[str, object]]]:
    rows = (row for batch in batches for row in batch.to_pylist())
    return enumerate(rows, start=1)
