r"""Text files, line by line, and the fields or JSON objects of the lines.

Only `\n` or `\r\n` ends a line, and every byte between is kept. `datasets` 5 takes `NA` for missing and `007` for a
number, lets a quote mark swallow the lines after it, makes a time of `2020-01-01T00:00:00`, and names no line.
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
_OBJECT = 'write one object for each pair, as {"source": "...", "target": "..."}'
_BARE_RETURN = re.compile(r"\r(?!\n|\Z)")


def text_lines(path: Path, name: str, bad_lines: BadLines, encoding: str) -> Iterator[Line]:
    """The lines of a file, without a byte order mark."""
    with opened(path, name) as file:
        head = file.peek(4096)
        if "\n".encode(encoding) == b"\n":
            first = file.readline().removeprefix(codecs.BOM_UTF8)
            lines: Iterator[bytes | str] = chain([first] if first else [], file)
        else:  # in UTF-16 the byte of a line end may be half of a character
            lines = _wide_lines(file, name, encoding)
        for number, line in enumerate(lines, start=1):
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


def _wide_lines(file: io.BufferedReader, name: str, encoding: str) -> Iterator[str]:
    try:
        with io.TextIOWrapper(file, encoding, newline="\n") as lines:
            first = lines.readline().removeprefix("\ufeff")
            yield from chain([first] if first else [], lines)
    except UnicodeError as error:
        raise DataError(f"{name}: not {encoding} ({error}), set another data.encoding") from None


def _wide_encoding(head: bytes) -> str | None:
    """The encoding of two or four bytes a character that a file begins in; None: it is in none of them."""
    for encoding in ("utf-32-le", "utf-32-be", "utf-16-le", "utf-16-be") if b"\0" in head else ():
        try:
            text = codecs.getincrementaldecoder(encoding)().decode(head)
        except UnicodeDecodeError:
            continue
        if "\0" not in text and re.search("[\t\n ]", text):
            return encoding
    return None


def _say_byte(error: UnicodeDecodeError, encoding: str) -> tuple[str, str]:
    byte = error.object[error.start : error.start + 1]
    fault = f"not {encoding.upper()} (byte 0x{byte[0]:02X} at byte {error.start + 1} of the line"
    western = byte.decode("cp1252", "replace")
    if encoding == "utf-8" and western.isprintable() and western != "\ufffd":
        chinese = _chinese(error.object)
        fault += f", in cp1252 it is '{western}'" + f", in gb18030 '{chinese}'" * bool(chinese)
        return f"{fault})", "save the file as UTF-8, or set data.encoding=cp1252" + " or gb18030" * bool(chinese)
    return f"{fault})", "save the file as UTF-8, or set another data.encoding"


def _chinese(line: bytes) -> str:
    """The line's first character beyond ASCII in GB 2312, where one is a pair of bytes as European text hardly has."""
    try:
        return next(character for character in line.decode("gb2312") if not character.isascii())
    except UnicodeDecodeError:
        return ""


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
            bad_lines.num_blank += 1
        else:
            yield number, text.split(delimiter)


def csv_rows(lines: Iterable[Line], bad_lines: BadLines, delimiter: str) -> Iterator[Row]:
    """The fields of each record, as RFC 4180 says, with the delimiter for its comma; a quoted field may span lines.

    After a bad record reading goes on with the line after its first, so that one stray quote mark loses one line (with
    Python's `csv` it would lose all up to the next one).
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
            bad_lines.num_blank += 1
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
            bad_lines.num_blank += 1
            continue
        entry, fault, _ = _parsed(content(line))
        if isinstance(entry, dict):
            yield number, entry
        elif fault and has_bare_returns([line]):
            raise bad_lines.error(number, *ONE_LINE)
        else:
            bad_lines.add(number, fault or "not a JSON object", _OBJECT)


def objects_of_whole(lines: Iterable[Line], source: str, bad_lines: BadLines) -> Iterator[Object]:
    """The objects of a whole JSON file: a list of them, one that holds such a list, a single one, or one a line.

    An object that has the key `source` is a pair, whatever lists are in it.
    """
    numbered = [(number, line) for number, line in lines if line is not None]
    whole, fault, number = _parsed("".join(line for _, line in numbered) or "[]")
    if fault:
        first = next((line for _, line in numbered if not is_blank(line)), "")
        if not isinstance(_parsed(first)[0], dict):
            raise bad_lines.error(number, fault, "write a list of objects, or one object a line")
        yield from objects_of_lines(numbered, bad_lines)
        return
    entries = whole if isinstance(whole, list) else [whole]
    if isinstance(whole, dict) and source not in whole and "translation" not in whole:
        lists = {key: value for key, value in whole.items() if isinstance(value, list)}
        if len(lists) > 1 and "data" not in lists:
            raise bad_lines.error(1, f"several lists ({', '.join(lists)})", "write each into a file of its own")
        entries = lists.get("data", next(iter(lists.values()), entries))
    bad_lines.unit = "entry"
    for number, entry in enumerate(entries, start=1):
        if isinstance(entry, dict):
            yield number, entry
        else:
            bad_lines.add(number, "not a JSON object", _OBJECT)


def _parsed(text: str) -> tuple[object, str, int]:
    """What the JSON holds; or what is wrong with it, and in which of its lines."""
    try:
        return json.loads(text), "", 1
    except json.JSONDecodeError as error:
        return None, f"not JSON ({error.msg} at column {error.colno})", error.lineno
    except (RecursionError, ValueError) as error:
        return None, f"not JSON ({error})", 1
