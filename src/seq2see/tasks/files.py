"""`files`: the user's own pairs, whatever their format: text by `lines` (which says why), `.parquet` by `pyarrow`.

`datasets` itself takes a path for a pattern, and gives its cached copy of an edited file with the same time stamp.
"""

import codecs
from collections.abc import Generator, Iterable, Iterator, Sequence
from itertools import chain, zip_longest
from pathlib import Path

from seq2see.options import DataOptions, FilesOptions, Normalize
from seq2see.tasks.bad_lines import BadLines
from seq2see.tasks.columns import Columns, named, pairs_of_objects, pairs_of_rows, source_key
from seq2see.tasks.lines import (
    ONE_LINE,
    Line,
    Row,
    content,
    csv_rows,
    has_bare_returns,
    is_blank,
    objects_of_lines,
    objects_of_whole,
    text_lines,
    tsv_rows,
)
from seq2see.tasks.opening import cannot_read, digest_of
from seq2see.tasks.pairs import Pair
from seq2see.tasks.paths import files_of, found, suffix_of
from seq2see.tasks.progress import watched
from seq2see.tasks.splits import Splits
from seq2see.text import DataError


class Files:
    """Pairs from files. A file is read when a split that needs it is asked for: a test file alone needs no other."""

    def __init__(self, options: FilesOptions, data: DataOptions, normalize: Normalize) -> None:
        self.notes: list[str] = []
        self.ood = ""
        self._columns = Columns.of(options)
        self._on_bad_line = data.on_bad_line
        self._delimiter = "\t" if data.delimiter == "tab" else data.delimiter
        self._encoding = codecs.lookup(data.encoding).name.removesuffix("-sig")
        files = {"train": options.train, "valid": options.valid, "test": options.test}
        self._files = {split: value for split, value in files.items() if value is not None}
        titles = {split: f"task.{split}" for split in files}
        self._splits = Splits(titles, set(self._files), self._read, options, normalize, self.notes)

    def pairs(self, split: str) -> Sequence[Pair]:
        """The pairs of `train`, `valid` or `test`, in the order of their file; none of `ood`."""
        return [] if split == "ood" else self._splits.pairs(split)

    def fingerprint(self) -> str | None:
        """32 hexadecimal digits for the bytes of all files; None if one can be read only once, as a pipe."""
        return digest_of(found(name) for split, files in self._files.items() for name in files_of(split, files).names)

    def _read(self, split: str) -> list[Pair]:
        """The pairs of files one after the other, or of two parallel ones."""
        files = files_of(split, self._files[split])
        for name in files.names:
            found(name)
        if files.are_parallel:
            all_bad_lines = [BadLines(" and ".join(files.names), self._on_bad_line)]
            pairs = self._side_by_side(files.names, all_bad_lines[0])
        else:
            all_bad_lines = [BadLines(name, self._on_bad_line) for name in files.names]
            pairs = self._joined(all_bad_lines)
        first = Path(files.names[0]).name
        read = list(watched(pairs, f"reading {first}{'' if len(files.names) == 1 else ' and more'}"))
        if not read:
            raise all_bad_lines[0].no_pairs()
        self.notes += [note for bad_lines in all_bad_lines for note in bad_lines.notes()]
        return read

    def _joined(self, all_bad_lines: list[BadLines]) -> Iterator[Pair]:
        """The pairs of one file after the other; a header that the first one has, the others have too."""
        columns = self._columns
        for bad_lines in all_bad_lines:
            columns = yield from self._pairs_of(bad_lines, columns)

    def _pairs_of(self, bad_lines: BadLines, columns: Columns) -> Generator[Pair, None, Columns]:
        name, suffix = bad_lines.name, suffix_of(bad_lines.name)
        path = found(name)
        if suffix == ".parquet":
            yield from _parquet_pairs(path, columns, bad_lines)
            return columns
        lines = text_lines(path, name, bad_lines, self._encoding)
        if suffix in (".jsonl", ".ndjson", ".json"):
            objects = (
                objects_of_whole(lines, source_key(columns), bad_lines)
                if suffix == ".json"
                else objects_of_lines(lines, bad_lines)
            )
            yield from pairs_of_objects(objects, columns, bad_lines)
            return columns
        delimiter = self._delimiter or ("," if suffix == ".csv" else "\t")
        rows = (csv_rows if suffix == ".csv" else tsv_rows)(lines, bad_lines, delimiter)
        rows = _recognised(rows, bad_lines, self.notes)
        return (yield from pairs_of_rows(rows, columns, bad_lines, self.notes, delimiter))

    def _side_by_side(self, names: list[str], bad_lines: BadLines) -> Iterator[Pair]:
        if self._columns.are_chosen:
            raise ValueError(
                f"task.source, task.target and task.features choose columns, and parallel files have none "
                f"({bad_lines.name}): unset them, or name files that hold pairs"
            )
        sides = [text_lines(found(name), name, bad_lines, self._encoding) for name in names]
        rows = _parallel_rows(sides[0], sides[1], names, bad_lines, self.notes)
        yield from pairs_of_rows(rows, Columns(0, 1), bad_lines, self.notes, "\t")  # never names of columns


def _parallel_rows(
    sources: Iterable[Line], targets: Iterable[Line], names: list[str], bad_lines: BadLines, notes: list[str]
) -> Iterator[Row]:
    """The lines of two parallel files; one that is blank in both is skipped."""
    for number, lines in enumerate(zip_longest(sources, targets), start=1):
        if None in lines:
            shorter = lines.index(None)
            fault = f"no line to go with it, {names[shorter]} has {number - 1:,} lines"
            raise bad_lines.error(number, fault, "give both the same number, line by line", name=names[1 - shorter])
        (_, source), (_, target) = lines
        if source is None or target is None:
            continue
        if number == 1 and all("\t" in line or " OUT: " in line for line in (source, target)):
            notes.append(f"{bad_lines.name}: read as a file of sources and one of targets, though both look like pairs")
        if number == 1 and not source.endswith("\n") and has_bare_returns([source, target]):
            raise bad_lines.error(number, *ONE_LINE)
        if is_blank(source) and is_blank(target):
            bad_lines.num_blank += 1
        else:
            yield number, [content(source), content(target)]


def _recognised(rows: Iterator[Row], bad_lines: BadLines, notes: list[str]) -> Iterator[Row]:
    """The rows, those of `IN: ... OUT: ...` as two fields; refuses a file that is of another format by its first."""
    first = next(rows, None)
    if first is None:
        return iter(())
    number, fields = first
    line = fields[0].lstrip().lower() if len(fields) == 1 else ""
    if line.startswith(("<?xml", "<!doctype", "<tmx", "<xliff")):
        remedy = "convert it to two columns, as .tsv or .csv"
        raise bad_lines.error(number, "XML (as TMX and XLIFF are), which is not read here", remedy)
    if line.startswith(("{", "[")):
        raise bad_lines.error(number, "JSON by its look", "give the file a name that ends in .jsonl or .json")
    if len(fields) != 2 and has_bare_returns(fields):
        second = next(rows, None)
        if second is None:
            raise bad_lines.error(number, *ONE_LINE)
        return chain([first, second], rows)
    rows = chain([first], rows)
    if len(fields) == 1 and fields[0].startswith("IN: ") and " OUT: " in fields[0]:
        notes.append(f"{bad_lines.name}: read as lines of the shape 'IN: source OUT: target'")
        return _in_and_out(rows, bad_lines)
    return rows


def _in_and_out(rows: Iterable[Row], bad_lines: BadLines) -> Iterator[Row]:
    """The lines of the published SCAN files."""
    for number, fields in rows:
        source, mark, target = fields[0].partition(" OUT: ")
        if len(fields) == 1 and mark and source.startswith("IN: "):
            yield number, [source.removeprefix("IN: "), target]
        else:
            bad_lines.add(number, "not of the shape 'IN: source OUT: target' as the first line", "write it so")


def _parquet_pairs(path: Path, columns: Columns, bad_lines: BadLines) -> Iterator[Pair]:
    from pyarrow import ArrowException, parquet

    bad_lines.unit = "row"
    try:
        with open(path, "rb") as file:
            table = parquet.ParquetFile(file)
            there = table.schema_arrow.names
            columns = named(columns, there, bad_lines.name)
            wanted = [column for column in there if column in (*columns, "translation")]
            rows = (row for batch in table.iter_batches(columns=wanted) for row in batch.to_pylist())
            yield from pairs_of_objects(enumerate(rows, start=1), columns, bad_lines)
    except ArrowException as error:
        raise DataError(f"{bad_lines.name}: not readable as parquet ({error}), write it anew") from None
    except OSError as error:
        raise cannot_read(bad_lines.name, error) from None
