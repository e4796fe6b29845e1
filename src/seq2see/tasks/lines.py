r"""Text files, line by line, and the fields or JSON objects of the lines.

Only `\n` or `\r\n` ends a line, and every byte between is kept. Our own thin reader, because `datasets` 5 does not keep
every byte of a text file. It reads `.tsv` and `.csv` with pandas, which takes `NA`, `null` and `nan` for missing
values, makes numbers of a column of `007`s, lets a quote mark swallow the lines after it and ends a line at a bare
carriage return. In `.jsonl` it makes a time of `2020-01-01T00:00:00`. It gives its cached copy of an edited file that
has kept its time stamp, and does not say in which line a fault is.
"""

import codecs
import io
import json
import re
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path

from seq2see.tasks.bad_lines import BadLines
from seq2see.tasks.opening import opened
from seq2see.text import DataError

Line = tuple[int, str | None]  # number from 1, text with its end; None: it is not in the encoding, and skipped
Row = tuple[int, list[str]]  # number of its first line, fields
Object = tuple[int, Mapping[str, object]]  # number of its line or place, what it holds

ONE_LINE = (
    "the whole file is one line, with carriage returns (CR) where its lines seem to end",
    "give each line a line feed (LF), as `tr '\\r' '\\n'` does",
)
_NUL = "a NUL, which no text has", "remove it, or name a text file"
_OBJECT = 'write one object a line, as {"source": "...", "target": "..."}'
_MARKS = ((codecs.BOM_UTF32_LE, "utf-32"), (codecs.BOM_UTF16_LE, "utf-16"), (codecs.BOM_UTF16_BE, "utf-16"))
_WIDE = ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be")
_BARE_RETURN = re.compile(r"\r(?!\n|\Z)")
_CHUNK = 2**16  # bytes


def text_lines(path: Path, name: str, bad_lines: BadLines, encoding: str) -> Iterator[Line]:
    """The lines of a file.

    Raises:
        DataError: the file cannot be read or unpacked, holds a NUL, or a line is not in the encoding and bad lines are
            errors.
    """
    with opened(path, name) as file:
        head = file.peek(4096)
        for number, line in enumerate(_lines(file, name, encoding), start=1):
            try:
                text = line.decode(encoding) if isinstance(line, bytes) else line
                fault = _NUL if "\0" in text else None
            except UnicodeDecodeError as error:
                text, fault = None, _say_byte(error, encoding)
            if fault is not None:
                wide = _wide_encoding(head)
                if wide is not None:
                    fault = f"not UTF-8 but {wide[:6].upper()}", f"set data.encoding={wide}, or save the file as UTF-8"
                if wide is not None or text is not None:
                    raise bad_lines.error(number, *fault, name=name)
                bad_lines.add(number, *fault, name=name)
            yield number, text


def count_lines(path: Path, name: str, encoding: str) -> int:
    """How many lines the file has; the last one need not end."""
    with opened(path, name) as file:
        return sum(1 for _ in _lines(file, name, encoding))


def _lines(file: io.BufferedReader, name: str, encoding: str) -> Iterator[bytes] | Iterator[str]:
    """The lines without a byte order mark: as bytes, or as text where more than the byte of a line end ends a line."""
    if "\n".encode(encoding) == b"\n":
        first = file.readline().removeprefix(codecs.BOM_UTF8)
        return chain([first] if first else [], file)
    lines = _wide_lines(file, name, encoding)
    start = next(lines, "").removeprefix("\ufeff")
    return chain([start] if start else [], lines)


def _wide_lines(file: io.BufferedReader, name: str, encoding: str) -> Iterator[str]:
    decoder, rest = codecs.getincrementaldecoder(encoding)(), ""
    try:
        while chunk := file.read(_CHUNK):
            *lines, rest = (rest + decoder.decode(chunk)).split("\n")
            yield from (f"{line}\n" for line in lines)
        if rest := rest + decoder.decode(b"", final=True):
            yield rest
    except UnicodeError as error:
        raise DataError(f"{name}: not {encoding} ({error}), set another data.encoding") from None


def _wide_encoding(head: bytes) -> str | None:
    """The encoding of two or four bytes a character that a file begins in; None: it is in none of them."""
    for mark, encoding in _MARKS:
        if head.startswith(mark):
            return encoding
    for encoding in _WIDE if b"\0" in head else ():
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(head)
        except UnicodeDecodeError:
            continue
        if "\0" not in text and re.search("[\t\n ]", text):
            return encoding
    return None


def _say_byte(error: UnicodeDecodeError, encoding: str) -> tuple[str, str]:
    byte = error.object[error.start : error.start + 1]
    where = f"byte 0x{byte[0]:02X} at byte {error.start + 1} of the line"
    if encoding != "utf-8":
        return f"not {encoding} ({where})", "set another data.encoding"
    western = byte.decode("cp1252", "replace")
    if not western.isprintable() or western == "\ufffd":
        return f"not UTF-8 ({where})", "save the file as UTF-8"
    return (
        f"not UTF-8 ({where}, in cp1252 it is '{western}')",
        "save the file as UTF-8, or set data.encoding=cp1252 if that is what it is",
    )


def content(line: str) -> str:
    r"""The line without its end; a `\r` that no `\n` follows is content."""
    return line[:-1].removesuffix("\r") if line.endswith("\n") else line


def has_bare_returns(texts: Iterable[str]) -> bool:
    r"""Whether a `\r` without `\n` stands inside: where a file is one such line, they were to end its lines."""
    return any(_BARE_RETURN.search(text) for text in texts)


def is_blank(text: str) -> bool:
    """Empty, or white space of any kind."""
    return not text or text.isspace()


def tsv_rows(lines: Iterable[Line], bad_lines: BadLines, delimiter: str) -> Iterator[Row]:
    """The fields of each line that is not blank, with the delimiter between. There is no quoting."""
    for number, line in lines:
        if line is None:
            continue
        text = content(line)
        if is_blank(text):
            bad_lines.add_blank()
        else:
            yield number, text.split(delimiter)


def csv_rows(lines: Iterable[Line], bad_lines: BadLines, delimiter: str) -> Iterator[Row]:
    """The fields of each record, as RFC 4180 says, with the delimiter for its comma; a quoted field may span lines.

    After a bad record reading goes on with the line after its first, so that one stray quote mark loses one line.
    """
    a_field = re.compile(
        r'(?:"([^"]*(?:""[^"]*)*)"|([^"DELIMITER]*))(DELIMITER|\Z)'.replace("DELIMITER", re.escape(delimiter))
    )
    unread = deque[Line]()
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
            bad_lines.add_blank()
            continue
        fields = None if is_open or any(part is None for _, part in record) else _csv_fields(text, delimiter, a_field)
        if fields is not None:
            yield number, fields
            continue
        fault = "a quoted field begins here and never ends" if is_open else "a quote mark inside a field"
        bad_lines.add(number, fault, 'write it twice and the field in quotes (a "b" is "a ""b""")')
        unread.extendleft(reversed(record[1:]))


def _csv_fields(text: str, delimiter: str, a_field: re.Pattern[str]) -> list[str] | None:
    """The fields of one record; None where a quote mark stands in the wrong place."""
    if '"' not in text:
        return text.split(delimiter)
    fields, begin = [], 0
    while field := a_field.match(text, begin):
        quoted, plain, separator = field.groups()
        fields.append(plain if quoted is None else quoted.replace('""', '"'))
        if not separator:
            return fields
        begin = field.end()
    return None


def objects_of_lines(lines: Iterable[Line], bad_lines: BadLines) -> Iterator[Object]:
    """One JSON object a line."""
    for number, line in lines:
        if line is None:
            continue
        if is_blank(line):
            bad_lines.add_blank()
            continue
        try:
            entry = json.loads(content(line))
        except (RecursionError, ValueError) as error:
            if has_bare_returns([line]):
                raise bad_lines.error(number, *ONE_LINE) from None
            fault = f"readable as JSON ({error})"
            if isinstance(error, json.JSONDecodeError):
                fault = f"JSON ({error.msg} at column {error.colno})"
            bad_lines.add(number, f"not {fault}", "write one object a line")
            continue
        if isinstance(entry, dict):
            yield number, entry
        else:
            bad_lines.add(number, "not a JSON object", _OBJECT)


def objects_of_whole(lines: Iterable[Line], source: str, bad_lines: BadLines) -> Iterator[Object]:
    """The objects of a whole JSON file: a list of them, one that holds such a list, a single one, or one a line.

    Args:
        lines: of the file.
        source: the key of the source: an object that has it is a pair, whatever lists are in it.
        bad_lines: takes what is wrong.
    """
    numbered = [(number, line) for number, line in lines if line is not None]
    try:
        whole = json.loads("".join(line for _, line in numbered) or "[]")
    except (RecursionError, ValueError) as error:
        if _is_object(next((line for _, line in numbered if not is_blank(line)), "")):
            yield from objects_of_lines(numbered, bad_lines)
            return
        number = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        raise bad_lines.error(number, f"not JSON ({error})", "write a list of objects, or one object a line") from None
    entries = _entries(whole, source, bad_lines)
    bad_lines.unit = "entry"
    for number, entry in enumerate(entries, start=1):
        if isinstance(entry, dict):
            yield number, entry
        else:
            bad_lines.add(number, "not a JSON object", _OBJECT.replace("a line", "for each pair"))


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (RecursionError, ValueError):
        return False


def _entries(whole: object, source: str, bad_lines: BadLines) -> list:
    if isinstance(whole, list):
        return whole
    if not isinstance(whole, dict) or source in whole or "translation" in whole:
        return [whole]
    lists = {key: value for key, value in whole.items() if isinstance(value, list)}
    if "data" in lists or not lists:
        return lists.get("data", [whole])
    if len(lists) > 1:
        raise bad_lines.error(1, f"several lists ({', '.join(lists)})", "write each into a file of its own")
    return next(iter(lists.values()))
