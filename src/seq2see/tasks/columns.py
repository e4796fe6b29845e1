"""Which parts of a line are the source, the target and the features, and the pair that they make."""

from collections.abc import Generator, Iterable, Iterator, Mapping
from difflib import get_close_matches
from typing import NamedTuple

from seq2see.tasks.ledger import Ledger
from seq2see.tasks.lines import Row, is_blank
from seq2see.tasks.pairs import Pair
from seq2see.text import DataError, one_word, split_tags, tagged

_KEYS = ("source", "target", "features")
_NAMES = ("source", "target")  # of columns and keys, where none are chosen
_DELIMITERS = {"\t": "tab", ";": "semicolon", "|": "bar", ",": "comma"}
_JSON_TYPES = {bool: "true or false", int: "a number", float: "a number", list: "a list", dict: "an object"}


class Columns(NamedTuple):
    """The columns that the user has chosen, each by name or 0-based number; None: not chosen.

    Attributes:
        source: column of the source.
        target: column of the target.
        features: column of tags that are put before the source, as `text.tags` says.
        separator: what stands between two tags.
    """

    source: str | int | None = None
    target: str | int | None = None
    features: str | int | None = None
    separator: str = ";"

    @property
    def are_chosen(self) -> bool:
        """Whether any is."""
        return any(column is not None for column in (self.source, self.target, self.features))


def pairs_of_rows(
    rows: Iterable[Row], columns: Columns, ledger: Ledger, notes: list[str], delimiter: str
) -> Generator[Pair, None, Columns]:
    """The pairs of lines whose fields have a delimiter between.

    Returns:
        the columns, those of a header by their names: the next file of the same set has it too.

    Raises:
        DataError: a column does not exist, or a line is bad and bad lines are errors.
    """
    rows = iter(rows)
    first = next(rows, None)
    if first is None:
        return columns
    (number, header), asked = first, columns
    columns = _completed(columns, first, ledger, notes)
    num_fields = len(header) if columns.are_chosen else 2
    places = [_place(key, getattr(columns, key), first, ledger, delimiter) for key in _KEYS]
    source, target, features = places[0] or 0, 1 if places[1] is None else places[1], places[2]
    if not _has_names(columns):
        rows = _again(first, rows)
    if delimiter == "," and (hint := _say_delimiter(header, delimiter)):
        notes.append(f"{ledger.name}, line {number}: separated at its commas{hint}")
    for number, fields in rows:
        if len(fields) != num_fields:
            ledger.bad(number, _say_fields(len(fields), num_fields), _remedy(fields, columns, delimiter))
            continue
        before = "" if features is None else _before(fields[features], columns)
        pair = _pair(fields[source], fields[target], number, ledger, before=before)
        if pair is not None:
            yield pair
    return columns if _has_names(columns) else asked


def _again(first: Row, rows: Iterator[Row]) -> Iterator[Row]:
    yield first
    yield from rows


def _completed(columns: Columns, first: Row, ledger: Ledger, notes: list[str]) -> Columns:
    """Source and target by name where a header offers exactly these two, or where only the features are chosen."""
    number, header = first
    if not columns.are_chosen and sorted(header) == sorted(_NAMES):
        notes.append(
            f"{ledger.name}, line {number}: read as the names of the columns, "
            "set task.source=0 task.target=1 if it is a pair"
        )
        return columns._replace(source=_NAMES[0], target=_NAMES[1])
    if columns.features is not None and columns.source is None:
        by_name = _number(columns.features) is None
        return columns._replace(source=_NAMES[0] if by_name else 0, target=_NAMES[1] if by_name else 1)
    return columns


def _number(column: str | int | None) -> int | None:
    """The column's number; None if it is chosen by name, or not at all."""
    if isinstance(column, str):
        return int(column) if column.isascii() and column.isdigit() else None
    return column


def _has_names(columns: Columns) -> bool:
    chosen = (columns.source, columns.target, columns.features)
    return any(column is not None and _number(column) is None for column in chosen)


def _place(key: str, column: str | int | None, first: Row, ledger: Ledger, delimiter: str) -> int | None:
    number, header = first
    place = _number(column)
    if column is None:
        return None
    if place is not None:
        if not 0 <= place < len(header):
            fault = f"no column {place} (task.{key}): there are {_fields(len(header))}, counted from 0"
            raise ledger.error(number, fault, f"choose another task.{key}{_say_delimiter(header, delimiter)}")
        return place
    name = str(column)
    if header.count(name) == 1:
        return header.index(name)
    if name in header:
        raise ledger.error(number, f"{header.count(name)} columns are named '{name}'", f"choose task.{key} by number")
    by_number = "choose by number, as in task.source=0 task.target=1, if this line is none of names"
    remedy = f"{_say_near(name, header)}; {by_number}{_say_delimiter(header, delimiter)}"
    raise ledger.error(number, f"no column '{name}' (task.{key})", remedy)


def _say_near(name: str, names: Iterable[str]) -> str:
    names = list(names)
    near = get_close_matches(name, names, n=3)
    there = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
    return (f"nearest: {', '.join(near)}; " if near else "") + f"there are: {there or 'none'}"


def _fields(number: int) -> str:
    return f"{number} field" if number == 1 else f"{number} fields"


def _say_fields(number: int, expected: int) -> str:
    return f"{_fields(number)} where {expected} {'was' if expected == 1 else 'were'} expected"


def _remedy(fields: list[str], columns: Columns, delimiter: str) -> str:
    hint = _say_delimiter(fields, delimiter)
    if columns.are_chosen:
        return f"give it as many as the first line{hint}"
    if len(fields) < 2:
        return f"write source and target with one {_DELIMITERS.get(delimiter, repr(delimiter))} between{hint}"
    return f"remove a separator, choose columns as in task.source=0 task.target=1{hint}"


def _say_delimiter(fields: list[str], delimiter: str) -> str:
    """What else may stand between the columns of a line: whatever does where a line is one field."""
    others = _DELIMITERS if len(fields) == 1 else ";" if delimiter == "," else ""
    there = [other for other in others if other != delimiter and any(other in field for field in fields)]
    if not there:
        return ""
    value = "tab" if there[0] == "\t" else f"'{there[0]}'"
    return f", or set data.delimiter={value} if that separates the columns"


def _before(field: str, columns: Columns) -> str:
    """What stands before the source: tags and a tab."""
    return tagged(split_tags(field, columns.separator), "", columns.separator)


def _pair(
    source: str, target: str, number: int, ledger: Ledger, *, before: str = "", name: str | None = None
) -> Pair | None:
    """A pair, or None after the ledger has heard why not."""
    for side, text in zip(_NAMES, (source, target), strict=True):
        if is_blank(text):
            ledger.bad(number, f"{'blank' if text else 'empty'} {side}", "fill it in or remove the line", name=name)
            return None
    return Pair(before + source, target)


def source_key(columns: Columns) -> str:
    """The key of the source in an object."""
    return str(_NAMES[0] if columns.source is None else columns.source)


def pairs_of_objects(
    objects: Iterable[tuple[int, Mapping[str, object]]], columns: Columns, ledger: Ledger
) -> Iterator[Pair]:
    """The pairs of objects with keys; a key is looked for in the object, then in a `translation` object inside it.

    Raises:
        DataError: a key is missing or holds no text, and bad lines are errors.
    """
    key = source_key(columns)
    target_key = str(_NAMES[1] if columns.target is None else columns.target)
    for number, entry in objects:
        inner = entry.get("translation")
        keys = {**inner, **entry} if isinstance(inner, Mapping) else entry
        source = _text(key, "source", keys, number, ledger)
        target = None if source is None else _text(target_key, "target", keys, number, ledger)
        if source is None or target is None:
            continue
        before = _tags(columns, keys, number, ledger)
        pair = None if before is None else _pair(source, target, number, ledger, before=before)
        if pair is not None:
            yield pair


def named(columns: Columns, there: list[str], name: str) -> Columns:
    """The columns of a table, all by name.

    Args:
        columns: by name or number; source and target are `source` and `target` where none are chosen.
        there: the names of the table's columns.
        name: the file.

    Raises:
        DataError: the table has no such column.
    """
    chosen = dict(zip(_KEYS, columns, strict=False))
    for key, default in zip(chosen, (*_NAMES, None), strict=True):
        column = default if chosen[key] is None else chosen[key]
        place = None if column in there else _number(column)
        if place is not None and 0 <= place < len(there):
            column = there[place]
        if column is not None and column not in there and "translation" not in there:
            raise DataError(f"{name}: no column '{column}' (task.{key}), {_say_near(str(column), there)}")
        chosen[key] = column
    return columns._replace(**chosen)


def _text(key: str, side: str, keys: Mapping[str, object], number: int, ledger: Ledger) -> str | None:
    """The text under the key, or None after the ledger has heard why there is none."""
    if key not in keys:
        ledger.bad(number, f"no key '{key}'", f"{_say_near(key, keys)}; choose with task.{side}")
        return None
    value = keys[key]
    if not isinstance(value, str):
        kind = "null" if value is None else f"{_JSON_TYPES.get(type(value), type(value).__name__)}, not text"
        ledger.bad(number, f"'{key}' is {kind}", "write it as text in quotes")
        return None
    try:
        value.encode("utf-8")
    except UnicodeEncodeError:
        ledger.bad(number, f"'{key}' holds half a character (a lone surrogate)", "mend the escape")
        return None
    return value


def _tags(columns: Columns, keys: Mapping[str, object], number: int, ledger: Ledger) -> str | None:
    """What stands before the source; the tags may be a list of texts. None after the ledger has heard why not."""
    if columns.features is None:
        return ""
    key, separator = str(columns.features), columns.separator
    listed = keys.get(key)
    if not (isinstance(listed, list) and all(isinstance(tag, str) for tag in listed)):
        text = _text(key, "features", keys, number, ledger)
        return None if text is None else _before(text, columns)
    tags = [one_word(tag) for tag in listed if tag and not tag.isspace()]
    if _text(key, "features", {key: separator.join(tags)}, number, ledger) is None:
        return None
    split = next((tag for tag in tags if separator in tag), None)
    if split is not None:
        ledger.bad(
            number, f"'{key}' has the tag '{split}' with '{separator}' in it", "set another task.features_separator"
        )
        return None
    return tagged(tags, "", separator)


def pairs_of_lines(
    lines: Iterable[tuple[int, str | None, str | None]], names: list[str], ledger: Ledger
) -> Iterator[Pair]:
    """The pairs of two parallel files; a line that is blank in both is skipped.

    Raises:
        DataError: a line is blank in one file, and bad lines are errors.
    """
    for number, source, target in lines:
        if source is None or target is None:
            continue
        if is_blank(source) and is_blank(target):
            ledger.blank()
            continue
        pair = _pair(source, target, number, ledger, name=names[0] if is_blank(source) else names[1])
        if pair is not None:
            yield pair
