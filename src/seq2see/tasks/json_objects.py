"""The objects of a JSON file: one a line, or in a list."""

import json
from collections.abc import Iterable, Iterator, Mapping

from seq2see.tasks.ledger import Ledger
from seq2see.tasks.lines import content, has_bare_returns, is_blank, say_bare_returns

Line = tuple[int, str | None]
Numbered = tuple[int, Mapping[str, object]]
_REMEDY = 'write one object a line, as {"source": "...", "target": "..."}'


def objects_of_lines(lines: Iterable[Line], ledger: Ledger) -> Iterator[Numbered]:
    """One object a line.

    Raises:
        DataError: a line is none, and bad lines are errors.
    """
    for number, line in lines:
        if line is None:
            continue
        if is_blank(line):
            ledger.blank()
            continue
        try:
            entry = json.loads(content(line))
        except json.JSONDecodeError as error:
            if has_bare_returns([line]):
                raise ledger.error(number, *say_bare_returns()) from None
            ledger.bad(number, f"not JSON ({error.msg} at column {error.colno})", "write one object a line")
            continue
        except (RecursionError, ValueError) as error:
            ledger.bad(number, f"not readable as JSON ({error})", "write one object a line")
            continue
        if isinstance(entry, dict):
            yield number, entry
        else:
            ledger.bad(number, "not a JSON object", _REMEDY)


def objects_of_whole(lines: Iterable[Line], source: str, ledger: Ledger) -> Iterator[Numbered]:
    """The objects of a whole file: a list of them, one that holds such a list, a single one, or one a line.

    Args:
        lines: of the file.
        source: the key of the source: an object that has it is a pair, whatever lists are in it.
        ledger: takes what is wrong.

    Raises:
        DataError: it is none of these, or an entry is no object and bad lines are errors.
    """
    numbered = [(number, line) for number, line in lines if line is not None]
    try:
        whole = json.loads("".join(line for _, line in numbered) or "[]")
    except (RecursionError, ValueError) as error:
        if _is_object(next((line for _, line in numbered if not is_blank(line)), "")):
            yield from objects_of_lines(numbered, ledger)
            return
        number = error.lineno if isinstance(error, json.JSONDecodeError) else 1
        raise ledger.error(number, f"not JSON ({error})", "write a list of objects, or one object a line") from None
    entries = _listed(whole, source, ledger)
    ledger.unit = "entry"
    for number, entry in enumerate(entries, start=1):
        if isinstance(entry, dict):
            yield number, entry
        else:
            ledger.bad(number, "not a JSON object", _REMEDY.replace("a line", "for each pair"))


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (RecursionError, ValueError):
        return False


def _listed(whole: object, source: str, ledger: Ledger) -> list:
    if isinstance(whole, list):
        return whole
    if not isinstance(whole, dict) or source in whole or "translation" in whole:
        return [whole]
    lists = {key: value for key, value in whole.items() if isinstance(value, list)}
    if "data" in lists or not lists:
        return lists.get("data", [whole])
    if len(lists) > 1:
        raise ledger.error(1, f"several lists ({', '.join(lists)})", "write each into a file of its own")
    return next(iter(lists.values()))
