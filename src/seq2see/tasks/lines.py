r"""Text files, line by line: only `\n` or `\r\n` ends a line, and every byte between is kept.

Our own thin reader, because `datasets` 5 does not keep every byte of a text file. It reads `.tsv` and `.csv` with
pandas, which takes `NA`, `null` and `nan` for missing values, makes numbers of a column of `007`s, lets a quote mark
swallow the lines after it and ends a line at a bare carriage return. In `.jsonl` it makes a time of
`2020-01-01T00:00:00`. It gives its cached copy of an edited file that has kept its time stamp, and does not say in
which line a fault is.
"""

import codecs
import gzip
import re
import zlib
from collections import deque
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO, cast

from seq2see.tasks.ledger import Ledger
from seq2see.text import DataError

Row = tuple[int, list[str]]  # number of its first line, fields

_CSV_FIELD = re.compile(r'(?:"([^"]*(?:""[^"]*)*)"|([^",]*))(,|\Z)')


def text_lines(path: Path, name: str, ledger: Ledger) -> Iterator[tuple[int, str | None]]:
    """The lines with their ends and their numbers from 1; None for one that is not UTF-8 and is skipped.

    Raises:
        DataError: the file cannot be read or unpacked, or a line is not UTF-8 and bad lines are errors.
    """
    for number, raw in enumerate(_byte_lines(path, name), start=1):
        try:
            yield number, raw.decode("utf-8")
        except UnicodeDecodeError as error:
            fault = f"not UTF-8 (byte 0x{raw[error.start]:02X} at byte {error.start + 1} of the line)"
            if number == 1 and raw.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
                raise ledger.error(number, "not UTF-8 but UTF-16", "save the file as UTF-8", name=name) from None
            ledger.bad(number, fault, "save the file as UTF-8", name=name)
            yield number, None


def count_lines(path: Path, name: str) -> int:
    """How many lines the file has; the last one need not end.

    Raises:
        DataError: the file cannot be read or unpacked.
    """
    return sum(1 for _ in _byte_lines(path, name))


def _byte_lines(path: Path, name: str) -> Iterator[bytes]:
    packed = path.suffix.lower() == ".gz"
    try:
        with gzip.open(path, "rb") if packed else open(path, "rb") as file:
            first = file.readline().removeprefix(codecs.BOM_UTF8)
            if first:
                yield first
            yield from cast(BinaryIO, file)
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(
            f"{name}: cannot be unpacked ({error}), make the .gz file anew, or rename one that is not packed"
        ) from None
    except OSError as error:
        raise cannot_read(name, error) from None


def cannot_read(name: str, error: OSError) -> DataError:
    """The error for a file that the system does not give us."""
    return DataError(f"{name}: cannot be read ({error.strerror or error}), check the file and its permissions")


def content(line: str) -> str:
    r"""The line without its end; a `\r` that no `\n` follows is content."""
    return line[:-1].removesuffix("\r") if line.endswith("\n") else line


def is_blank(text: str) -> bool:
    """Empty, or white space of any kind."""
    return not text or text.isspace()


def tsv_rows(lines: Iterable[tuple[int, str | None]], ledger: Ledger) -> Iterator[Row]:
    """The tab-separated fields of each line that is not blank. There is no quoting."""
    for number, line in lines:
        if line is None:
            continue
        text = content(line)
        if is_blank(text):
            ledger.blank()
        else:
            yield number, text.split("\t")


def csv_rows(lines: Iterable[tuple[int, str | None]], ledger: Ledger) -> Iterator[Row]:
    """The comma-separated fields of each record, as RFC 4180 says; a quoted field may span lines.

    After a bad record reading goes on with the line after its first, so that one stray quote mark loses one line.

    Raises:
        DataError: a quote is never closed, or stands where none may, and bad lines are errors.
    """
    unread = deque[tuple[int, str | None]]()
    more = iter(lines)
    while (first := unread.popleft() if unread else next(more, None)) is not None:
        number, line = first
        if line is None:
            continue
        record, is_open = [first], line.count('"') % 2 == 1
        while is_open and (following := unread.popleft() if unread else next(more, None)) is not None:
            record.append(following)
            is_open = (following[1] or "").count('"') % 2 == 0
        text = content("".join(part or "" for _, part in record))
        if is_blank(text):
            ledger.blank()
            continue
        fields = None if is_open or any(part is None for _, part in record) else _csv_fields(text)
        if fields is not None:
            yield number, fields
            continue
        fault = "a quoted field begins here and never ends" if is_open else "a quote mark inside a field"
        ledger.bad(number, fault, 'write it twice and the field in quotes (a "b" is "a ""b""")')
        unread.extendleft(reversed(record[1:]))


def _csv_fields(text: str) -> list[str] | None:
    """The fields of one record; None where a quote mark stands in the wrong place."""
    if '"' not in text:
        return text.split(",")
    fields, begin = [], 0
    while field := _CSV_FIELD.match(text, begin):
        quoted, plain, separator = field.groups()
        fields.append(plain if quoted is None else quoted.replace('""', '"'))
        if not separator:
            return fields
        begin = field.end()
    return None
