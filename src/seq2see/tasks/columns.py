"""Which parts of a line are the source, the target and the features, and the pair that they make."""

import re
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from itertools import chain
from typing import NamedTuple

from seq2see.options import GivenOptions
from seq2see.tasks.bad_lines import BadLines
from seq2see.tasks.lines import Object, Row, is_blank
from seq2see.tasks.pairs import Pair
from seq2see.text import DataError, split_tags, tagged

SIDES = ("source", "target")  # and the names of columns and keys, where none are chosen
_KEYS = (*SIDES, "features")
_SEPARATE = "write source and target with one {} between, or choose columns as in task.source=0 task.target=1"
_MAY_BE_A_NAME = re.compile(  # of a column: of a language, or of a role
    r"[a-z]{2,3}([-_][a-z]{2,4})?|source|target|input|output|text|word|lemma|form|english|german|french|spanish|chinese",
    re.IGNORECASE,
)


class Columns(NamedTuple):
    """The columns that the user has chosen, each by name or 0-based number; None: not chosen."""

    source: str | int | None = None
    target: str | int | None = None
    features: str | int | None = None  # of tags that are put before the source, as `text.forms` says
    separator: str = ";"  # between two tags

    @classmethod
    def of(cls, options: GivenOptions) -> "Columns":
        """The columns that a task is given, numbers also where they were typed as text."""
        source, target, features = (
            int(column) if isinstance(column, str) and column.isascii() and column.isdigit() else column
            for column in (options.source, options.target, options.features)
        )
        return cls(source, target, features, options.features_separator)

    @property
    def are_chosen(self) -> bool:
        """Whether any is."""
        return any(column is not None for column in self[:3])

    @property
    def have_names(self) -> bool:
        """Whether any is chosen by name, so that the first line of a file is one of names."""
        return any(isinstance(column, str) for column in self[:3])

    def before(self, field: str) -> str:
        """What stands before the source: the tags of the field and a tab."""
        return tagged(split_tags(field, self.separator), "", self.separator)


def pairs_of_rows(
    rows: Iterable[Row], columns: Columns, bad_lines: BadLines, notes: list[str], delimiter: str
) -> Generator[Pair, None, Columns]:
    """The pairs of lines whose fields have a delimiter between.

    Returns:
        the columns, those of a header by their names: the next file of the same set has it too.
    """
    rows = iter(rows)
    first = next(rows, None)
    if first is None:
        return columns
    number, header = first
    columns = _completed(columns, header, f"{bad_lines.name}, line {number}", notes, delimiter)
    places: list[int | None] = [0, 1, None]
    for index, (key, column) in enumerate(zip(_KEYS, columns, strict=False)):
        if column is not None:
            places[index] = _place(column, header)
            if places[index] is None:
                fault, remedy = _say_no_column(key, column, header)
                raise bad_lines.error(number, fault, remedy + _say_delimiter(header, delimiter))
    num_fields = len(header) if columns.are_chosen else 2
    source, target, features = places
    assert source is not None and target is not None
    if features is not None and features in (source, target):  # where only the features are chosen
        fault = f"column {features} is task.features and the {SIDES[features == target]}"
        raise bad_lines.error(number, fault, "set task.source and task.target too")
    for number, fields in rows if columns.have_names else chain([first], rows):
        if len(fields) != num_fields:
            fault = f"{len(fields)} field{'s' * (len(fields) != 1)} where {num_fields} were expected"
            remedy = "give it as many as the first line" if columns.are_chosen else _SEPARATE.format(_named(delimiter))
            bad_lines.add(number, fault, remedy + _say_delimiter(fields, delimiter))
            continue
        before = "" if features is None else columns.before(fields[features])
        pair = _pair(before, fields[source], fields[target], number, bad_lines)
        if pair is not None:
            yield pair
    return columns


def _completed(columns: Columns, header: list[str], where: str, notes: list[str], delimiter: str) -> Columns:
    """Source and target by name where a header offers exactly these two, or where only the features are chosen."""
    if columns.features is not None and columns.source is None:
        source, target = SIDES if columns.have_names else (0, 1)
        return columns._replace(source=source, target=target)
    if columns.are_chosen:
        return columns
    if sorted(header) == sorted(SIDES):
        notes.append(f"{where}: read as the names of the columns, set task.source=0 task.target=1 if it is a pair")
        return columns._replace(source=SIDES[0], target=SIDES[1])
    if len(header) == 2 and all(map(_MAY_BE_A_NAME.fullmatch, header)):
        source, target = header
        notes.append(
            f"{where}: read as a pair, set task.source={source} task.target={target} if it is the names of the columns"
        )
    if delimiter == "," and (hint := _say_delimiter(header, delimiter)):
        notes.append(f"{where}: separated at its commas{hint}")
    return columns


def _place(column: str | int, names: Sequence[str]) -> int | None:
    """Where the column stands; None if there is no such one, or there are several."""
    if isinstance(column, str):
        return names.index(column) if names.count(column) == 1 else None
    return column if 0 <= column < len(names) else None


def _say_no_column(key: str, column: str | int, names: Sequence[str]) -> tuple[str, str]:
    number = "several columns" if str(column) in names else "no column"
    by_number = "by number they count from 0, as in task.source=0 task.target=1, if this file names none"
    return f"{number} '{column}' (task.{key})", f"{_say_near(str(column), names)}; {by_number}"


def _say_near(name: str, names: Iterable[str]) -> str:
    names = list(names)
    near = get_close_matches(name, names, n=3)
    there = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return (f"nearest: {', '.join(near)}; " if near else "") + f"there are: {there or 'none'}"


def _named(delimiter: str) -> str:
    return "tab" if delimiter == "\t" else f"'{delimiter}'"


def _say_delimiter(fields: list[str], delimiter: str) -> str:
    """What else may stand between the columns of a line: whatever does where a line is one field."""
    others = "\t;|," if len(fields) == 1 else ";" if delimiter == "," else ""
    there = [other for other in others if other != delimiter and any(other in field for field in fields)]
    return f", or set data.delimiter={_named(there[0])} if that separates the columns" if there else ""


def _pair(before: str, source: str, target: str, number: int, bad_lines: BadLines) -> Pair | None:
    """A pair, or None where a side is blank."""
    for side, text in zip(SIDES, (source, target), strict=True):
        if is_blank(text):
            return bad_lines.add(number, f"{'blank' if text else 'empty'} {side}", "fill it in or remove the line")
    return Pair(before + source, target)


def source_key(columns: Columns) -> str:
    """The key of the source in an object."""
    return str(SIDES[0] if columns.source is None else columns.source)


def pairs_of_objects(objects: Iterable[Object], columns: Columns, bad_lines: BadLines) -> Iterator[Pair]:
    """The pairs of objects with keys; a key is looked for in the object, then in a `translation` object inside it."""
    key, target_key = source_key(columns), str(SIDES[1] if columns.target is None else columns.target)
    for number, entry in objects:
        inner = entry.get("translation")
        keys = {**inner, **entry} if isinstance(inner, Mapping) else entry
        source = _text(key, "source", keys, number, bad_lines)
        target = None if source is None else _text(target_key, "target", keys, number, bad_lines)
        if source is None or target is None:
            continue
        before = "" if columns.features is None else _before(columns, keys, number, bad_lines)
        pair = None if before is None else _pair(before, source, target, number, bad_lines)
        if pair is not None:
            yield pair


def named(columns: Columns, names: list[str], title: str) -> Columns:
    """The columns of a table, all by name; `source` and `target` where none are chosen."""
    chosen = dict(zip(_KEYS, columns, strict=False))
    for key, default in zip(chosen, (*SIDES, None), strict=True):
        column = default if chosen[key] is None else chosen[key]
        place = None if column is None else _place(column, names)
        if place is not None:
            column = names[place]
        elif column is not None and "translation" not in names:
            raise DataError(f"{title}: {', '.join(_say_no_column(key, column, names))}")
        chosen[key] = column
    return columns._replace(**chosen)


def _text(key: str, side: str, keys: Mapping[str, object], number: int, bad_lines: BadLines) -> str | None:
    """The text under the key; None where there is none."""
    if key not in keys:
        return bad_lines.add(number, f"no key '{key}'", f"{_say_near(key, keys)}; choose with task.{side}")
    value = keys[key]
    if not isinstance(value, str):
        shown = "null" if value is None else f"{value!r:.40}"
        return bad_lines.add(number, f"'{key}' is {shown}, not text", "write it as text in quotes")
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        return bad_lines.add(number, f"'{key}' holds half a character (a lone surrogate)", "mend the escape")
    return value


def _before(columns: Columns, keys: Mapping[str, object], number: int, bad_lines: BadLines) -> str | None:
    """What stands before the source; the tags may be a list of texts. None where they are no tags."""
    key, tags = str(columns.features), keys.get(str(columns.features))
    if isinstance(tags, list) and all(isinstance(tag, str) for tag in tags):
        if any(columns.separator in tag for tag in tags):
            fault = f"'{key}' is {tags!r:.40}, with '{columns.separator}' in a tag"
            return bad_lines.add(number, fault, "set another task.features_separator")
        keys = {key: columns.separator.join(tags)}
    field = _text(key, "features", keys, number, bad_lines)
    return None if field is None else columns.before(field)
