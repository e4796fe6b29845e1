"""Options as plain values, which YAML and checkpoints may hold, and back; torch-free."""

import dataclasses
import re
from enum import Enum
from typing import Any, TypeVar

from omegaconf import OmegaConf
from omegaconf.errors import OmegaConfBaseException

from seq2see.options import TASKS, TrainOptions
from seq2see.options.rules import without_removed

Options = TypeVar("Options")


def to_plain(options: Any) -> Any:
    """Dataclasses and enums as dictionaries and strings: what YAML and checkpoints may hold."""
    if dataclasses.is_dataclass(options) and not isinstance(options, type):
        return {field.name: to_plain(getattr(options, field.name)) for field in dataclasses.fields(options)}
    if isinstance(options, Enum):
        return options.value
    if isinstance(options, list | tuple):
        return [to_plain(value) for value in options]
    return options


def from_plain(schema: type[Options], plain: Any) -> Options:
    """The reverse of `to_plain`, for a command's options; the task's kind chooses the dataclass of `task`.

    Text is text here: nothing in it is replaced, looked up or run.

    Raises:
        ValueError: a key is unknown, a value has the wrong type or a rule is broken.
    """
    node = OmegaConf.structured(schema)
    if TrainOptions in schema.__mro__:  # its type stays
        task = plain.get("task") if isinstance(plain, dict) else None
        kind = task.get("kind") if isinstance(task, dict) else None
        if not isinstance(kind, str) or kind not in TASKS:
            raise ValueError(f"task.kind ({kind}) is none of {', '.join(TASKS)}")
        node.task = OmegaConf.structured(TASKS[kind])
    try:
        options = OmegaConf.to_object(OmegaConf.merge(node, _without_interpolation(without_removed(plain))))
    except OmegaConfBaseException as error:
        key = getattr(error, "full_key", None)
        message = str(getattr(error, "msg", None) or error).splitlines()[0]
        raise ValueError(f"{key}: {message}" if key else message) from error
    assert isinstance(options, schema)
    return options


def _without_interpolation(plain: Any) -> Any:
    """The same for OmegaConf, to which `${...}` in a text would be something to look up."""
    if isinstance(plain, dict):
        return {name: _without_interpolation(value) for name, value in plain.items()}
    if isinstance(plain, list):
        return [_without_interpolation(value) for value in plain]
    if isinstance(plain, str):
        return re.sub(r"(\\*)\$\{", lambda found: found[1] * 2 + r"\${", plain)
    return plain
