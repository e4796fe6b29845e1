"""What a person types, checked and quoted before Hydra's grammar sees it; torch-free, and Hydra-free where it can be.

A key that does not exist is refused with the nearest ones, also behind `+` and `++`. Values of path keys may hold
anything that a shell can name. What a run begins with (`config=`, `resume=`, `init=`) stands below what is typed.
"""

import dataclasses
import difflib
import os
import re
import zlib
from pathlib import Path
from typing import Any, get_args, get_type_hints

import yaml

from seq2see.options import COMMANDS, PATH_KEYS, TASKS, TINY, TrainOptions
from seq2see.options.rules import without_removed

TEXT_KEYS = ("task.source", "task.target", "task.features", "task.features_separator", "data.delimiter", "prefix")
TEXTS_KEYS = ("must", "forbid")  # quoted too, a text or [a,b]
LIST_KEYS = ("ckpt", "run", "task.train", "task.valid", "task.test")  # path keys that take [a,b]
GROUPS = ("task", "model", "experiment")  # folders of configs/, chosen by the commands that have a task
_PART = re.compile(r"\s*('(?:[^'\\]|\\.)*'|\[[^\]]*\]|\{[^}]*\}|[^,]*)\s*(?:,|$)")  # of values with commas between
_SIDES = re.compile(r"\{\s*(source|target)\s*:\s*(.+?)\s*,\s*(source|target)\s*:\s*(.+?)\s*\}")  # of parallel files
_FORM = "settings have the form key=value, without spaces (see --help)"
Typed = tuple[str, str]  # key and value


class UsageError(ValueError):
    """A mistake in what was typed; the message is for the user."""


def read_overrides(command: str, arguments: list[str], *, multirun: bool = False) -> list[str]:
    """What was typed as Hydra overrides.

    Args:
        command: one of `options.COMMANDS`.
        arguments: `key=value`, or runs without `=`.
        multirun: whether path keys, too, take `a,b` as one after the other.

    Raises:
        UsageError: an argument is none of both, its key does not exist, or its value cannot be meant.
    """
    types = key_types(command)
    _require_whole(arguments)
    typed = [_split(argument, types) for argument in _with_ckpt(arguments, types)]
    if has_task(COMMANDS[command]):
        ckpt, others = dict(typed).get("ckpt", "null"), [f"{key}={value}" for key, value in typed if key != "ckpt"]
        if ckpt != "null" and others:
            raise UsageError(f"{others[0]}: ckpt={ckpt} has its own configuration: leave out one of them")
        typed = _with_beginning(typed, multirun)
    return [f"{key}={_value(key, value, multirun)}" for key, value in typed]


def has_task(schema: type) -> bool:
    """Whether a command's options hold a task, so that `task=` chooses the dataclass of `task`."""
    return issubclass(schema, TrainOptions)


def key_types(command: str) -> dict[str, Any]:
    """All keys that the command takes, those of every task among them, with the types of their values."""
    types = _leaves(COMMANDS[command])
    if has_task(COMMANDS[command]):
        for schema in TASKS.values():
            types |= _leaves(schema, "task.")
        del types["task"], types["task.kind"]  # the group sets it
        types |= dict.fromkeys((*GROUPS, "config"), str)
    return types


def _leaves(schema: type, prefix: str = "") -> dict[str, Any]:
    """The dotted names of a dataclass's keys, with the types of their values."""
    types: dict[str, Any] = {}
    hints = get_type_hints(schema)
    for field in dataclasses.fields(schema):
        if dataclasses.is_dataclass(hints[field.name]):
            types |= _leaves(hints[field.name], f"{prefix}{field.name}.")
        else:
            types[f"{prefix}{field.name}"] = hints[field.name]
    return types


def no_such_key(key: str, typed: str, names: list[str], task: str = "the chosen task") -> str:
    """What is wrong with a key, typed as `key=value`, that a command with these keys or its task does not use."""
    tasks = [kind for kind, schema in TASKS.items() if key in _leaves(schema, "task.")]
    if key == "task.kind":
        return f"{typed}: choose the task with task="
    if key in ("task.path", "task.train") and key not in names and "task.test" in names:  # of evaluate.py
        return f"{typed}: name the pairs to score, a file or a folder, with task.test="
    if tasks and key in names:
        return f"{typed}: {task} does not use this key; it belongs to task={' and '.join(tasks)}"
    near = difflib.get_close_matches(key, names, n=2, cutoff=0.7)
    near += [other for other in names if other.split(".")[-1] == key.split(".")[-1] and other not in near]
    hint = f"did you mean {' or '.join(near[:2])}?" if near else "--cfg job shows all keys"
    return f"{typed}: there is no key {key}; {hint}"


def _require_whole(arguments: list[str]) -> None:
    """Refuses what a shell, a script or another machine has made of what was meant."""
    try:
        here = os.getcwd()
    except OSError as error:
        raise UsageError("the working directory is gone: change to one that exists") from error
    for text in (here, *arguments):
        if any("\ud800" <= char <= "\udfff" for char in text):  # what the system puts in for such bytes
            raise UsageError(f"{text}: there are bytes in this that are not UTF-8: give it another name")
        if text.endswith("\r"):
            raise UsageError(
                f"{text}: a carriage return at the end: the script with this command has the line ends of Windows "
                "(CRLF): save it with those of Unix (LF)"
            )


def _with_ckpt(arguments: list[str], types: dict[str, Any]) -> list[str]:
    """The arguments, those without `=` as the value of `ckpt`."""
    runs = [argument for argument in arguments if "=" not in argument]
    settings = [argument for argument in arguments if "=" in argument]
    if not runs:
        return settings
    if "ckpt" not in types or "" in runs:
        raise UsageError(f"{runs[0]}: {_FORM}")
    several = [text for text in settings if text.startswith("ckpt=")] + (runs[1:] if types["ckpt"] is not Any else [])
    if several:
        raise UsageError(f"{several[0]}: {runs[0]} is a run too: leave out one")
    names = ",".join(map(quoted, runs))
    return [*settings, f"ckpt=[{names}]" if len(runs) > 1 else f"ckpt={runs[0]}"]


def _split(argument: str, types: dict[str, Any]) -> Typed:
    """Key and value, if they can be meant; `+` and `++` make no difference, for there are none but the known keys."""
    key, value = argument.split("=", 1)
    if not key.strip("+") or not value:
        raise UsageError(f"{argument}: {_FORM}; a key that is left out has its default")
    if key.lstrip("+~").startswith(("hydra.", "hydra/")):
        return key, value
    key = key.lstrip("+")
    if key not in types:
        raise UsageError(no_such_key(key, f"{key}={value}", list(types)))
    if key in GROUPS and (value[0] in "{[" or (key, value) == ("task", "null")):
        raise UsageError(f"{key}={value}: choose a {key} by its name")
    if _is_bool(types[key]) and re.fullmatch(r"[-+\d._e]+", value) and value not in "01":
        raise UsageError(f"{key}={value}: this must be true or false")
    if key in PATH_KEYS:
        _require_path(key, value)
    return key, value


def _is_bool(kind: Any) -> bool:
    return bool in (kind, *get_args(kind))


def _require_path(key: str, value: str) -> None:
    if value.startswith(" ") and not os.path.lexists(value):
        raise UsageError(f"{key}={value}: a space before the value: write {key}={value.strip()}")
    for path in value.strip("[]").split(","):
        if len(path) > 4_000 or any(len(name.encode()) > 255 for name in path.split("/")):
            raise UsageError(f"{key}={value}: this is longer than a path or a name in it can be")


def _value(key: str, value: str, multirun: bool) -> str:
    """A value in Hydra's grammar: of path keys and text keys quoted, of others as it was typed."""
    if key in TEXTS_KEYS and value.startswith("[") and value.endswith("]"):
        return f"[{','.join(quoted(_unquoted(part.strip())) for part in _PART.findall(value[1:-1]) if part.strip())}]"
    if key not in (*PATH_KEYS, *TEXT_KEYS, *TEXTS_KEYS):
        return value
    parts = _several(value) if multirun else [value]
    return ",".join(_path(key, part) if key in PATH_KEYS else _text(part) for part in parts)


def _several(value: str) -> list[str]:
    """The values of a sweep, unless there is a file with the whole as its name, or there are none between commas."""
    chosen = re.fullmatch(r"choice\((.*)\)", value)
    parts = [part.strip() for part in _PART.findall(chosen[1] if chosen else value) if part.strip()]
    return [value] if os.path.lexists(value) or not parts else [_unquoted(part) for part in parts]


def _text(value: str) -> str:
    return value if value == "null" or (value.isascii() and value.isdigit()) else quoted(value)


def _path(key: str, value: str) -> str:
    """One path, or, where the key takes them and no file has the whole as its name, those of a list or of two sides."""
    if value == "null":
        return value
    exists = os.path.lexists(value)
    sides = _SIDES.fullmatch(value)
    if sides and sides[1] != sides[3] and not exists:
        first, second = (_path("", _unquoted(path)) for path in (sides[2], sides[4]))
        return f"{{{sides[1]}:{first},{sides[3]}:{second}}}"
    if key in LIST_KEYS and value.startswith("[") and value.endswith("]") and not exists:
        return f"[{','.join(_path('', part) for part in _several(value[1:-1]) if part)}]"
    return quoted(from_home(value), resolved=not exists)


def _unquoted(part: str) -> str:
    is_quoted = len(part) > 1 and part[0] == part[-1] == "'"
    return re.sub(r"\\(['\\])", r"\1", part[1:-1]) if is_quoted else part


def from_home(path: str) -> str:
    """A path whose `~` at the beginning is a home folder, unless there is a file of that name or no such user."""
    return path if os.path.lexists(path) else os.path.expanduser(path)


def quoted(value: str, *, resolved: bool = False) -> str:
    """Any text as one value in Hydra's grammar; `resolved`: `${...}` in it is looked up, as elsewhere in Hydra."""
    if not (resolved and re.search(r"\$\{[^${}]+\}", value)):
        value = _escaped(value)
    return "'" + re.sub(r"(\\*)('|\Z)", lambda match: match[1] * 2 + ("\\'" if match[2] else ""), value) + "'"


def _escaped(text: str) -> str:
    """Text in which OmegaConf finds nothing to look up; `???` means "missing" to it."""
    return "./???" if text == "???" else re.sub(r"(\\*)\$\{", lambda match: match[1] * 2 + r"\${", text)


def _with_beginning(typed: list[Typed], multirun: bool) -> list[Typed]:
    """What a run begins with as a choice of the group `begin`, a configuration below what is typed."""
    values = dict(typed)
    for key in ("config", "resume", "init"):
        value = values.get(key, "null")
        paths = [from_home(path) for path in (_several(value) if multirun else [value]) if path != "null"]
        saved = [tree for path in paths if (tree := _saved(key, path, values)) is not None]
        if saved and len(saved) == len(paths):
            return [("begin", ",".join(map(_stored, saved))), *((name, own) for name, own in typed if name != key)]
    return typed


def _saved(key: str, path: str, values: dict[str, str]) -> dict[str, Any] | None:
    """What a configuration, a run to go on with or a checkpoint to start from says; None: there is no such run yet."""
    if key == "init":
        return {"init": _escaped(path)} | _shape(path, values)
    if key == "config":
        return _read_config(path, values)
    folder = Path(from_home(values.get("run_dir", "")) if path == "auto" else path)
    file = (folder.parent.parent if folder.suffix == ".ckpt" else folder) / "config.yaml"
    return {"resume": _escaped(path)} | _read_config(str(file), values) if os.path.isfile(file) else None


def _shape(path: str, values: dict[str, str]) -> dict[str, Any]:
    """The model and tokenizer keys of a checkpoint; a group of sizes that is typed takes the place of its own."""
    from seq2see.runs.init import keys_of, read_init  # torch

    saved: dict[str, Any] = {"model": {}, "tokenizer": {}}
    for key, value in keys_of(read_init(path), values.get("init_tokenizer", "keep")).items():
        part, name = key.split(".")
        if not ("model" in values and part == "model" and name in TINY):
            saved[part][name] = value
    return saved


def _read_config(path: str, values: dict[str, str]) -> dict[str, Any]:
    """What a run's config.yaml says of the keys and groups that are not typed, with the choice of its task."""
    from omegaconf import OmegaConf

    try:
        with open(path, encoding="utf-8") as file:
            text = _escaped(file.read())
        if OmegaConf.missing_keys(OmegaConf.create(text)):  # which refuses a key that stands twice, too
            raise ValueError("??? is no value")
        saved = yaml.safe_load(text)
        node = OmegaConf.create(saved)  # refuses what no key takes
        for key in (key for key, kind in key_types("train").items() if _is_bool(kind)):
            if OmegaConf.select(node, key) not in (None, False, True):
                raise ValueError(f"{key} must be true or false")
        kind = saved["task"]["kind"]
        TASKS[kind]
    except OSError as error:
        raise UsageError(f"config: {path} cannot be read ({error.strerror}): name a run's config.yaml") from error
    except Exception as error:  # of YAML, of its encoding, of its depth
        reason = " ".join(str(getattr(error, "problem", None) or error).split())[:200]
        raise UsageError(f"config: {path} is not the config.yaml of a run ({reason}): name one") from error
    try:
        saved = without_removed(saved)
    except ValueError as error:
        raise UsageError(f"config: {path}: {error}") from None
    saved = {name: part for name, part in saved.items() if name not in (*values, "run_dir", "resume")}
    sizes = ("batch_size", "batch_tokens")  # one takes the place of the other
    if isinstance(saved.get("data"), dict) and any(f"data.{name}" in values for name in sizes):
        saved["data"] = {name: value for name, value in saved["data"].items() if name not in sizes}
    return saved | ({"defaults": [{"override /task": kind}]} if "task" in saved else {})


def _stored(saved: dict[str, Any]) -> str:
    """The name under which Hydra finds this from now on in the group `begin`."""
    from hydra.core.config_store import ConfigStore

    name = f"saved-{zlib.crc32(repr(saved).encode()):08x}"
    ConfigStore.instance().store(name=name, node=saved, group="begin", package="_global_")
    return name
