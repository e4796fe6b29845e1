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

TEXT_KEYS = ("task.source", "task.target", "task.features", "task.features_separator", "task.name", "data.delimiter")
LIST_KEYS = ("ckpt", "task.train", "task.valid", "task.test")  # of several paths, as [a,b]
GROUPS = ("task", "model", "experiment")  # folders of configs/, chosen by the commands that have a task
BATCH_KEYS = ("batch_size", "batch_tokens")  # one takes the place of the other
_LONGEST_NAME, _LONGEST_PATH = 255, 4_095  # bytes; file systems take no more
_PART = re.compile(r"\s*('(?:[^'\\]|\\.)*'|\[[^\]]*\]|\{[^}]*\}|[^,]*)\s*(?:,|$)")  # of values with commas between
_SIDES = re.compile(r"\{\s*(source|target)\s*:\s*(.+?)\s*,\s*(source|target)\s*:\s*(.+?)\s*\}")  # of parallel files
Typed = tuple[str, str]  # key and value


class UsageError(ValueError):
    """A mistake in what was typed; the message is for the user."""


def read_overrides(command: str, arguments: list[str], *, multirun: bool = False) -> list[str]:
    """The arguments as Hydra overrides.

    Args:
        command: one of `options.COMMANDS`.
        arguments: `key=value`, or runs without `=`.
        multirun: whether path keys, too, take `a,b` as one after the other.

    Raises:
        UsageError: an argument is none of both, its key does not exist, or its value cannot be meant.
    """
    _require_place(command)
    _require_as_meant(arguments)
    types = key_types(command)
    typed = [_split(argument) for argument in _with_runs(command, arguments, types)]
    for key, value in typed:
        if not _is_hydras(key):
            _require_key(key, value, types)
    if has_task(COMMANDS[command]):
        _require_one_origin(typed, types)
        typed = _with_beginning(typed, multirun)
    return [f"{key}={_for_hydra(key, value, multirun)}" for key, value in typed]


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
    if tasks and key in names:
        return f"{typed}: {task} does not use this key; it belongs to task={' and '.join(tasks)}"
    near = difflib.get_close_matches(key, names, n=2, cutoff=0.7)
    near += [other for other in names if other.split(".")[-1] == key.split(".")[-1] and other not in near]
    hint = f"did you mean {' or '.join(near[:2])}?" if near else "--cfg job shows all keys"
    return f"{typed}: there is no key {key}; {hint}"


def _require_place(command: str) -> None:
    try:
        here = os.getcwd()
    except OSError as error:
        raise UsageError("the working directory is gone: change to one that exists") from error
    if command == "train" and _is_not_utf8(here):
        raise UsageError(f"{here}: the working directory has a name that is not UTF-8: train in another one")


def _is_not_utf8(text: str) -> bool:
    """Whether the system has put in lone surrogates for bytes that it could not read."""
    return any("\ud800" <= char <= "\udfff" for char in text)


def _require_as_meant(arguments: list[str]) -> None:
    """Refuses what a shell, a script or another machine has made of what was meant."""
    for argument in arguments:
        if _is_not_utf8(argument):
            raise UsageError(f"{argument}: there are bytes in this that are not UTF-8: rename the file or folder")
        if argument.endswith("\r"):
            raise UsageError(
                f"{argument}: a carriage return at the end: the script with this command has the line ends of Windows "
                "(CRLF): save it with those of Unix (LF)"
            )


def _with_runs(command: str, arguments: list[str], types: dict[str, Any]) -> list[str]:
    """The arguments, with those without `=` as the value of `ckpt`."""
    runs = [argument for argument in arguments if "=" not in argument]
    settings = [argument for argument in arguments if "=" in argument]
    if not runs:
        return settings
    if "ckpt" not in types or "" in runs:
        raise UsageError(f"{runs[0]}: settings have the form key=value (see --help)")
    if len(runs) > 1 and types["ckpt"] is not Any:
        raise UsageError(f"{runs[1]}: {command} takes one run: leave out all but {runs[0]}")
    for setting in settings:
        if setting.startswith("ckpt="):
            raise UsageError(f"{setting}: {runs[0]} is a run too: leave out one, or write ckpt=[A,B]")
    several = ",".join(map(quoted, runs))
    return [*settings, f"ckpt=[{several}]" if len(runs) > 1 else f"ckpt={runs[0]}"]


def _split(argument: str) -> Typed:
    """Key and value; `+` and `++` make no difference, for there are no other keys than the known ones."""
    key, value = argument.split("=", 1)
    if not key.strip("+") or not value:
        raise UsageError(
            f"{argument}: settings have the form key=value, without spaces (see --help); a key that is left out has "
            "its default"
        )
    return key if _is_hydras(key) else key.lstrip("+"), value


def _is_hydras(key: str) -> bool:
    return key.lstrip("+~").startswith(("hydra.", "hydra/"))


def _require_key(key: str, value: str, types: dict[str, Any]) -> None:
    """Refuses an unknown key, and values of which Hydra would make something that nobody means."""
    if key not in types:
        raise UsageError(no_such_key(key, f"{key}={value}", list(types)))
    if key in GROUPS and (value[0] in "{[" or (key, value) == ("task", "null")):
        raise UsageError(f"{key}={value}: choose a {key} by its name")
    if bool in (types[key], *get_args(types[key])) and re.fullmatch(r"[-+\d._e]+", value) and value not in "01":
        raise UsageError(f"{key}={value}: this must be true or false")
    if key in PATH_KEYS:
        _require_path(key, value)


def _require_path(key: str, value: str) -> None:
    for path in _several(value.strip("[]")):
        longest = max(len(os.fsencode(name)) for name in re.split(r"[/\\]", path))
        length = len(os.fsencode(os.path.abspath(path)))
        if longest > _LONGEST_NAME or length > _LONGEST_PATH:
            raise UsageError(
                f"{key}={value}: this path has {length} bytes in all and a name of {longest}; a file's has at most "
                f"{_LONGEST_PATH} and {_LONGEST_NAME}"
            )
    if value.startswith(" ") and not os.path.lexists(value):
        raise UsageError(f"{key}={value}: a space before the value: write {key}={value.strip()}")


def _require_one_origin(typed: list[Typed], types: dict[str, Any]) -> None:
    """Refuses keys of training beside a checkpoint, which says all of them itself."""
    others = [f"{key}={value}" for key, value in typed if key != "ckpt" and not _is_hydras(key)]
    ckpt = dict(typed).get("ckpt", "null")
    if "ckpt" in types and ckpt != "null" and others:
        raise UsageError(f"{others[0]}: ckpt={ckpt} has its own configuration: leave out one of them")


def _for_hydra(key: str, value: str, multirun: bool) -> str:
    """The value in Hydra's grammar: of path keys and text keys quoted, of others as it was typed."""
    if key not in (*PATH_KEYS, *TEXT_KEYS):
        return value
    parts = _several(value) if multirun else [value]
    return ",".join(_path(key, part) if key in PATH_KEYS else _text(key, part) for part in parts)


def _several(value: str) -> list[str]:
    """The values of a sweep, unless there is a file with the whole as its name, or there are none between commas."""
    chosen = re.fullmatch(r"choice\((.*)\)", value)
    parts = [part.strip() for part in _PART.findall(chosen[1] if chosen else value) if part.strip()]
    return [value] if os.path.lexists(value) or not parts else [_unquoted(part) for part in parts]


def _text(key: str, value: str) -> str:
    is_number = key != "task.name" and value.isascii() and value.isdigit()
    return value if value == "null" or is_number else quoted(value)


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
        return {"init": path} | _shape(path, values)
    if key == "config":
        return _read_config(path, values)
    folder = Path(from_home(values.get("run_dir", "")) if path == "auto" else path)
    file = (folder.parent.parent if folder.suffix == ".ckpt" else folder) / "config.yaml"
    return {"resume": path} | _read_config(str(file), values) if os.path.isfile(file) else None


def _shape(path: str, values: dict[str, str]) -> dict[str, Any]:
    """The model and tokenizer keys of a checkpoint; a group of sizes that is typed takes the place of its own."""
    from seq2see.runs.init import keys_of, read_init  # torch

    saved: dict[str, Any] = {"model": {}, "tokenizer": {}}
    for key, value in keys_of(read_init(path), values.get("init_tokenizer", "keep")).items():
        part, name = key.split(".")
        if not ("model" in values and part == "model" and name in TINY):
            saved[part][name] = value
    return saved


class _Loader(yaml.SafeLoader):
    """Reads YAML in which text is text, and refuses a key that stands twice, of which YAML readers keep one."""

    def construct_scalar(self, node: yaml.ScalarNode) -> Any:
        return _escaped(super().construct_scalar(node))

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        names = [name.value for name, _ in node.value]
        for name in names:
            if names.count(name) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"{name} stands there twice")
        return super().construct_mapping(node, deep)


def _read_config(path: str, values: dict[str, str]) -> dict[str, Any]:
    """What a run's config.yaml says of the keys and groups that are not typed, with the choice of its task.

    Raises:
        UsageError: it cannot be read, or is something else.
    """
    try:
        with open(path, encoding="utf-8") as file:
            saved = yaml.load(file, _Loader)
    except OSError as error:
        raise UsageError(f"config: {path} cannot be read ({error.strerror}): name a run's config.yaml") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: not UTF-8, or a date that is none
        raise _no_config(path, str(getattr(error, "problem", None) or error)) from error
    try:
        kind = saved["task"]["kind"]
        TASKS[kind]
    except (KeyError, TypeError) as error:
        raise _no_config(path, "its task.kind is none") from error
    try:
        saved = without_removed(saved)
    except ValueError as error:
        raise UsageError(f"config: {path}: {error}") from None
    saved = {name: part for name, part in saved.items() if name not in (*values, "run_dir", "resume")}
    if isinstance(saved.get("data"), dict) and any(f"data.{name}" in values for name in BATCH_KEYS):
        saved["data"] = {name: value for name, value in saved["data"].items() if name not in BATCH_KEYS}
    return saved | ({"defaults": [{"override /task": kind}]} if "task" in saved else {})


def _no_config(path: str, reason: str) -> UsageError:
    return UsageError(f"config: {path} is not the config.yaml of a run ({' '.join(reason.split())}): name one")


def _stored(saved: dict[str, Any]) -> str:
    """The name of a configuration that Hydra finds from now on in the group `begin`."""
    from hydra.core.config_store import ConfigStore
    from omegaconf import OmegaConf
    from omegaconf.errors import OmegaConfBaseException

    try:
        node = OmegaConf.create(saved)
    except (OmegaConfBaseException, RecursionError) as error:
        raise UsageError(f"config: this is not the config.yaml of a run ({' '.join(str(error).split())})") from error
    name = f"saved-{zlib.crc32(repr(node).encode()):08x}"
    ConfigStore.instance().store(name=name, node=node, group="begin", package="_global_")
    return name
