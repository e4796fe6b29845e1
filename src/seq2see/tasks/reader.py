"""Files of pairs, whatever their format: `.tsv`, `.csv`, `.jsonl`, `.json`, `.parquet`, or two parallel files of lines.

Packed text (`.gz`, `.bz2`, `.xz`, `.zst`) is unpacked on the way. Text is read by our own `lines` (which says why);
`.parquet` by `pyarrow`, as `datasets` does underneath: `datasets` itself takes a path for a pattern (a file with `::`
in its name is never found), fails on a file without rows, writes into the user's home, and gives its cached copy of an
edited file whose time stamp is the same.
"""

from collections.abc import Generator, Iterable, Iterator
from itertools import chain
from pathlib import Path
from typing import NamedTuple

from seq2see.options import OnBadLine
from seq2see.tasks.bad_lines import BadLines
from seq2see.tasks.columns import SIDES, Columns, named, pairs_of_objects, pairs_of_rows, say_blank, source_key
from seq2see.tasks.lines import (
    ONE_LINE,
    Row,
    content,
    count_lines,
    csv_rows,
    has_bare_returns,
    is_blank,
    objects_of_lines,
    objects_of_whole,
    text_lines,
    tsv_rows,
)
from seq2see.tasks.opening import cannot_read
from seq2see.tasks.pairs import Pair
from seq2see.tasks.paths import FileSet, found, suffix_of
from seq2see.tasks.progress import watched
from seq2see.tasks.table import PairTable
from seq2see.text import DataError

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

    Raises:
        DataError: a file is missing or unreadable, none has pairs, or a line is bad and bad lines are errors.
        ValueError: columns are chosen for parallel files.
    """
    notes: list[str] = []
    names, shown = files.names, " and ".join(files.names)
    for name in names:
        found(name)
    if files.are_parallel and manner.columns.are_chosen:
        raise ValueError(
            f"task.source, task.target and task.features choose columns, and parallel files have none ({shown}): unset "
            "them, or name files that hold pairs"
        )
    if files.are_parallel:
        all_bad_lines = [BadLines(shown, manner.on_bad_line)]
        pairs = _side_by_side(names, all_bad_lines[0], manner.encoding, notes)
    else:
        units = ("row" if suffix_of(name) == ".parquet" else "line" for name in names)
        all_bad_lines = [BadLines(name, manner.on_bad_line, unit) for name, unit in zip(names, units, strict=True)]
        pairs = _joined(all_bad_lines, manner, notes)
    first = Path(names[0]).name
    table = PairTable.of(watched(pairs, f"reading {first}" if len(names) == 1 else f"reading {first} and more"))
    if not table:
        raise all_bad_lines[0].no_pairs()
    return Reading(table, notes + [note for bad_lines in all_bad_lines for note in bad_lines.notes()])


def _joined(all_bad_lines: list[BadLines], manner: Manner, notes: list[str]) -> Iterator[Pair]:
    """The pairs of one file after the other; a header that the first one has, the others have too."""
    columns = manner.columns
    for bad_lines in all_bad_lines:
        columns = yield from _pairs_of(bad_lines, columns, manner, notes)


def _pairs_of(
    bad_lines: BadLines, columns: Columns, manner: Manner, notes: list[str]
) -> Generator[Pair, None, Columns]:
    name, suffix = bad_lines.name, suffix_of(bad_lines.name)
    if suffix == ".parquet":
        yield from _parquet_pairs(found(name), name, columns, bad_lines)
        return columns
    lines = text_lines(found(name), name, bad_lines, manner.encoding)
    if suffix in (".jsonl", ".ndjson"):
        yield from pairs_of_objects(objects_of_lines(lines, bad_lines), columns, bad_lines)
        return columns
    if suffix == ".json":
        yield from pairs_of_objects(objects_of_whole(lines, source_key(columns), bad_lines), columns, bad_lines)
        return columns
    delimiter = "\t" if manner.delimiter == "tab" else manner.delimiter or ("," if suffix == ".csv" else "\t")
    rows = _recognised((csv_rows if suffix == ".csv" else tsv_rows)(lines, bad_lines, delimiter), bad_lines, notes)
    return (yield from pairs_of_rows(rows, columns, bad_lines, notes, delimiter))


def _recognised(rows: Iterator[Row], bad_lines: BadLines, notes: list[str]) -> Iterator[Row]:
    """The rows, those of `IN: ... OUT: ...` as two fields; refuses a file that is of another format by its first."""
    first = next(rows, None)
    if first is None:
        return iter(())
    number, fields = first
    line = fields[0].lstrip().lower() if len(fields) == 1 else ""
    if line.startswith(_XML):
        kind = {".tmx": "TMX", ".xlf": "XLIFF", ".xliff": "XLIFF"}.get(
            suffix_of(bad_lines.name), "XML (as TMX and XLIFF are)"
        )
        raise bad_lines.error(number, f"{kind}, which is not read here", "convert it to two columns, as .tsv or .csv")
    if line.startswith(("{", "[")):
        raise bad_lines.error(number, "JSON by its look", "give the file a name that ends in .jsonl or .json")
    if len(fields) != 2 and has_bare_returns(fields):
        second = next(rows, None)
        if second is None:
            raise bad_lines.error(number, *ONE_LINE)
        return chain([first, second], rows)
    if len(fields) == 1 and fields[0].startswith("IN: ") and " OUT: " in fields[0]:
        notes.append(f"{bad_lines.name}: read as lines of the shape 'IN: source OUT: target'")
        return _in_and_out(chain([first], rows), bad_lines)
    return chain([first], rows)


def _in_and_out(rows: Iterable[Row], bad_lines: BadLines) -> Iterator[Row]:
    """The lines of the published SCAN files."""
    for number, fields in rows:
        source, mark, target = fields[0].partition(" OUT: ")
        if len(fields) == 1 and mark and source.startswith("IN: "):
            yield number, [source.removeprefix("IN: "), target]
        else:
            bad_lines.add(number, "not of the shape 'IN: source OUT: target' as the first line", "write it so")


def _side_by_side(names: list[str], bad_lines: BadLines, encoding: str, notes: list[str]) -> Iterator[Pair]:
    """The pairs of two parallel files; a line that is blank in both is skipped."""
    counts = [count_lines(found(name), name, encoding) for name in names]
    if counts[0] != counts[1]:
        shorter = counts.index(min(counts))
        raise DataError(
            f"{names[1 - shorter]}, line {counts[shorter] + 1}: no line to go with it, {names[0]} has {counts[0]:,} "
            f"lines and {names[1]} has {counts[1]:,}, give both the same number, line by line"
        )
    sides = [text_lines(found(name), name, bad_lines, encoding) for name in names]
    for (number, source), (_, target) in zip(*sides, strict=True):
        if number == 1 and all("\t" in (line or "") or " OUT: " in (line or "") for line in (source, target)):
            notes.append(f"{bad_lines.name}: read as a file of sources and one of targets, though both look like pairs")
        if source is None or target is None:
            continue
        ends = source.endswith("\n") or target.endswith("\n")
        if counts == [1, 1] and not ends and has_bare_returns([source, target]):
            raise bad_lines.error(number, *ONE_LINE)
        texts = content(source), content(target)
        blank = [side for side in (0, 1) if is_blank(texts[side])]
        if len(blank) == 2:
            bad_lines.add_blank()
        elif blank:
            side = blank[0]
            bad_lines.add(number, *say_blank(SIDES[side], texts[side]), name=names[side])
        else:
            yield Pair(*texts)


def _parquet_pairs(path: Path, name: str, columns: Columns, bad_lines: BadLines) -> Iterator[Pair]:
    from pyarrow import ArrowException, parquet

    try:
        with open(path, "rb") as file:
            table = parquet.ParquetFile(file)
            there = table.schema_arrow.names
            columns = named(columns, there, name)
            wanted = [column for column in there if column in (*columns, "translation")]
            rows = (row for batch in table.iter_batches(columns=wanted) for row in batch.to_pylist())
            yield from pairs_of_objects(enumerate(rows, start=1), columns, bad_lines)
    except ArrowException as error:
        raise DataError(f"{name}: not readable as parquet ({error}), write it anew") from None
    except OSError as error:
        raise cannot_read(name, error) from None
