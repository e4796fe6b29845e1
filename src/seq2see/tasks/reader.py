"""A file of pairs, whatever its format: `.tsv`, `.csv`, `.jsonl`, `.parquet`, or two parallel files of lines.

`.gz` of the text ones is unpacked on the way. Text is read by our own `lines` (which says why); `.parquet` by
`pyarrow`, as `datasets` does underneath: `datasets` itself takes a path for a pattern (a file with `::` in its name is
never found), fails on a file without rows, writes into the user's home, and gives its cached copy of an edited file
whose time stamp is the same.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from seq2see.options import OnBadLine
from seq2see.tasks.columns import Columns, named, pairs_of_lines, pairs_of_objects, pairs_of_rows
from seq2see.tasks.ledger import Ledger
from seq2see.tasks.lines import cannot_read, content, count_lines, csv_rows, is_blank, text_lines, tsv_rows
from seq2see.tasks.pairs import Pair
from seq2see.tasks.paths import found
from seq2see.tasks.progress import watched
from seq2see.tasks.table import PairTable
from seq2see.text import DataError

if TYPE_CHECKING:
    from pyarrow import RecordBatch


class Reading(NamedTuple):
    """What a file gave: its pairs in order, and what people should know about it."""

    pairs: PairTable
    notes: list[str]


def read_pairs(names: list[str], columns: Columns, on_bad_line: OnBadLine) -> Reading:
    """Reads one file of pairs, or two parallel ones.

    Args:
        names: the path, or the paths of sources and targets; what is no other format is tab-separated.
        columns: which parts of a line are the pair.
        on_bad_line: whether a bad line is an error, or skipped and counted in the notes.

    Raises:
        DataError: the file is missing or unreadable, has no pairs, or a line is bad and bad lines are errors.
        ValueError: columns are chosen for parallel files.
    """
    notes: list[str] = []
    paths = [found(name) for name in names]
    suffix = (paths[0].with_suffix("").suffix if paths[0].suffix.lower() == ".gz" else paths[0].suffix).lower()
    is_parquet = suffix == ".parquet" and len(paths) == 1
    ledger = Ledger(" and ".join(names), on_bad_line, "row" if is_parquet else "line")
    if len(paths) == 2:
        if columns.are_chosen:
            raise ValueError(
                "task.source, task.target and task.features choose columns, and parallel files have none: unset them"
            )
        pairs = pairs_of_lines(_side_by_side(paths, names, ledger), names, ledger)
    elif is_parquet:
        pairs = _parquet_pairs(paths[0], names[0], columns, ledger)
    elif suffix in (".jsonl", ".ndjson"):
        pairs = pairs_of_objects(_json_objects(text_lines(paths[0], names[0], ledger), ledger), columns, ledger)
    else:
        rows = (csv_rows if suffix == ".csv" else tsv_rows)(text_lines(paths[0], names[0], ledger), ledger)
        pairs = pairs_of_rows(rows, columns, ledger, notes)
    table = PairTable.of(watched(pairs, f"reading {paths[0].name}"))
    if not table:
        raise ledger.no_pairs()
    return Reading(table, notes + ledger.notes())


def _side_by_side(paths: list[Path], names: list[str], ledger: Ledger) -> Iterator[tuple[int, str | None, str | None]]:
    counts = [count_lines(path, name) for path, name in zip(paths, names, strict=True)]
    if counts[0] != counts[1]:
        shorter = counts.index(min(counts))
        raise DataError(
            f"{names[1 - shorter]}, line {counts[shorter] + 1}: no line to go with it, {names[0]} has {counts[0]:,} "
            f"lines and {names[1]} has {counts[1]:,}, give both the same number, line by line"
        )
    sides = [text_lines(path, name, ledger) for path, name in zip(paths, names, strict=True)]
    for (number, source), (_, target) in zip(*sides, strict=True):
        yield number, None if source is None else content(source), None if target is None else content(target)


def _json_objects(
    lines: Iterable[tuple[int, str | None]], ledger: Ledger
) -> Iterator[tuple[int, Mapping[str, object]]]:
    for number, line in lines:
        if line is None:
            continue
        if is_blank(line):
            ledger.blank()
            continue
        try:
            entry = json.loads(content(line))
        except json.JSONDecodeError as error:
            ledger.bad(number, f"not JSON ({error.msg} at column {error.colno})", "write one object a line")
            continue
        except (RecursionError, ValueError) as error:
            ledger.bad(number, f"not readable as JSON ({error})", "write one object a line")
            continue
        if isinstance(entry, dict):
            yield number, entry
        else:
            ledger.bad(number, "not a JSON object", 'write one object a line, as {"source": "...", "target": "..."}')


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
