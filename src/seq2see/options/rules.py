"""How a broken rule among options is said."""

from collections.abc import Collection, Iterator
from typing import Any

ACCELERATORS = ("auto", "cpu", "gpu", "cuda", "mps")
DEEPEST = 32  # of nested values in a file; ours are less than ten
REMOVED = {  # earlier keys, with the values that asked for nothing
    "tokenizer.dropout": (None, 0),
    "study": (None,),
    "decode.oracle_length": (None, False),
}
LARGEST = 2**31 - 1  # of any number: what is more, infinite ones too, is a slip of the hand


def require(condition: bool, message: str) -> None:
    """Raises ValueError with the message unless the condition holds."""
    if not condition:
        raise ValueError(message)


def require_positive(options: object, prefix: str, *names: str, most: float = LARGEST) -> None:
    """The keys with these names are None, or above 0 and not above `most`; an empty prefix is for keys without one."""
    for key, value in _set_ones(options, prefix, names):
        require(value > 0, f"{key} ({value}) must be positive")
        require(value <= most, f"{key} ({value}) must be at most {most}")


def require_not_negative(options: object, prefix: str, *names: str, most: float = LARGEST) -> None:
    """The keys with these names are None, or at least 0 and not above `most`."""
    for key, value in _set_ones(options, prefix, names):
        require(value >= 0, f"{key} ({value}) must not be negative")
        require(value <= most, f"{key} ({value}) must be at most {most}")


def require_share(options: object, prefix: str, *names: str) -> None:
    """The keys with these names are None, or at least 0 and less than 1."""
    for key, value in _set_ones(options, prefix, names):
        require(0 <= value < 1, f"{key} ({value}) must be at least 0 and less than 1")


def _set_ones(options: object, prefix: str, names: tuple[str, ...]) -> Iterator[tuple[str, Any]]:
    for name in names:
        if getattr(options, name) is not None:
            yield f"{prefix}.{name}" if prefix else name, getattr(options, name)


def require_one_of(value: Any, key: str, choices: tuple[Any, ...]) -> None:
    """The value is one of these, of the same type."""
    valid = any(value == choice and type(value) is type(choice) for choice in choices)
    require(valid, f"{key} ({value}) must be one of {', '.join(dict.fromkeys(map(str, choices)))}")


def require_number_or_share(value: Any, key: str, things: str, whole: str) -> None:
    """A value of any type is a whole number of things, or a fraction of the whole."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    valid = number and (1 <= value <= LARGEST if isinstance(value, int) else 0 < value <= 1)
    require(
        valid, f"{key} ({value}) must be a whole number of {things}, or a fraction of {whole} above 0 and at most 1.0"
    )


def leaves(values: Any, most: int) -> Iterator[Any]:
    """What stands at the ends of nested dictionaries, lists and tuples that come from a file, keys among it.

    Such values may share or contain themselves: walked without a bound they are many more than the file has bytes.

    Args:
        values: plain ones.
        most: of them, counted as often as they are met, and characters.

    Raises:
        ValueError: there are more, or they are nested deeper than `DEEPEST`.
    """
    places, found = [(values, 0)], 0
    while places:
        value, depth = places.pop()
        inner: Collection[Any] = ()
        if isinstance(value, dict):
            inner = [*value, *value.values()]
        elif isinstance(value, list | tuple | set):
            inner = value
        else:
            yield value
        found += 1 + len(value if isinstance(value, str | bytes) else inner)
        if found > most or depth >= DEEPEST:
            raise ValueError(f"they contain or share themselves, or are nested more than {DEEPEST} deep")
        places += ((item, depth + 1) for item in inner)


def without_removed(plain: Any) -> Any:
    """A saved configuration without the keys that earlier versions wrote: saved runs shall load as long as they can.

    Raises:
        ValueError: such a key asks for what is no longer there.
    """
    for key, nothing in REMOVED.items():
        part, _, name = key.rpartition(".")
        keys = (plain.get(part) if part else plain) if isinstance(plain, dict) else None
        if isinstance(keys, dict) and name in keys:
            require(
                keys[name] in nothing,
                f"{key} ({keys[name]}) is no longer there: use the version that made this, or train without it",
            )
            others = {other: value for other, value in keys.items() if other != name}
            plain = {**plain, part: others} if part else others
    return plain
