r"""What a person types, checked and quoted before Hydra's grammar sees it; torch-free and Hydra-free.

A key that does not exist, or that the chosen task does not use, is refused with the nearest ones, also behind `+` and
`++`. Values of path keys may hold anything that a shell can name.
"""

import dataclasses
import difflib
import os
import re
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_type_hints

import yaml

from seq2see.options import COMMANDS, PATH_KEYS, TASKS, TINY, TrainOptions
from seq2see.options.rules import without_removed

TEXT_KEYS = ("task.source", "task.target", "task.features", "task.features_separator", "data.delimiter")  # quoted too
_SIDES = re.compile(r"\{\s*(source|target)\s*:\s*(.+?)\s*,\s*(source|target)\s*:\s*(.+?)\s*\}")  # of parallel files
_BOOLEANS = ("true", "false", "yes", "no", "on", "off", "1", "0", "null")
Typed = tuple[str, str]  # key and value
_LONGEST_NAME, _LONGEST_PATH = 255, 4_095  # bytes; file systems take no more
_DEEPEST = 1  # dots in a key
GROUPS = ("task", "model", "experiment")  # folders of configs/, chosen by train.py and data.py


class UsageError(ValueError):
    """A mistake in what was typed; the message is for the user."""


def read_overrides(command: str, arguments: list[str], config_folder: Path) -> list[str]:
    """The arguments as Hydra overrides.

    Args:
        command: one of `options.COMMANDS`.
        arguments: `key=value`, or runs without `=`.
        config_folder: where the groups' YAML files are.

    Raises:
        UsageError: an argument is none of both, or its key does not exist.
    """
    _require_place(command)
    _require_as_meant(arguments)
    runs = [argument for argument in arguments if "=" not in argument]
    if any(run.startswith("-") for run in runs):
        flag = next(run for run in runs if run.startswith("-"))
        raise UsageError(f"{flag}: there are no flags; settings have the form key=value (see --help)")
    if runs:
        if "ckpt" not in {field.name for field in dataclasses.fields(COMMANDS[command])}:
            raise UsageError(f"{runs[0]}: settings have the form key=value (see --help)")
        if len(runs) > 1 and _leaves(COMMANDS[command])["ckpt"] is not Any:
            raise UsageError(f"{runs[1]}: {command} takes one run: leave out all but {runs[0]}")
        value = runs[0] if len(runs) == 1 else "[" + ",".join(quoted(run) for run in runs) + "]"
        arguments = [argument for argument in arguments if "=" in argument]
        for argument in arguments:
            if argument.startswith("ckpt="):
                raise UsageError(f"{argument}: {runs[0]} is a run too: leave out one, or write ckpt=[A,B]")
        arguments.append(f"ckpt={value}")
    typed = [_split(argument) for argument in arguments]
    if has_task(COMMANDS[command]):
        _require_one_origin(command, typed)
        typed = _with_resumed(_expand_config(_with_init(typed)))
    types = key_types(command, typed, config_folder)
    for key, value in typed:
        _require_known(key, value, list(types), typed)
        _require_value(key, value, types[key])
    return [f"{key}={_value(key, value, types[key])}" for key, value in typed]


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
    for argument, following in zip(arguments, [*arguments[1:], ""], strict=False):
        if not argument:
            raise UsageError("an argument is empty; settings have the form key=value (see --help)")
        if _is_not_utf8(argument):
            raise UsageError(
                f"{argument}: there are bytes in this that are not UTF-8: give the file or folder another name"
            )
        if argument.endswith("\r"):
            raise UsageError(
                f"{argument}: a carriage return at the end: the script with this command has the line ends of Windows "
                "(CRLF): save it with those of Unix (LF)"
            )
        if (argument.find("=") == len(argument) - 1 and following and "=" not in following) or following.startswith(
            "="
        ):
            key, value = argument.rstrip("="), following.lstrip("=") or "VALUE"
            raise UsageError(f"{argument} {following}: a space beside the sign: write {key}={value}, without any")


def _split(argument: str) -> Typed:
    """Key and value; `+` and `++` make no difference, for there are no other keys than the known ones."""
    key, value = argument.split("=", 1)
    if not key.strip("+"):
        raise UsageError(f"{argument}: there is no key before the sign; settings have the form key=value (see --help)")
    if key.startswith("~"):
        raise UsageError(f"{argument}: keys cannot be taken away; set another value instead")
    key = key.lstrip("+")
    return key, value if key in PATH_KEYS + TEXT_KEYS else value.strip(" ")


def _require_one_origin(command: str, typed: list[Typed]) -> None:
    """Refuses keys of training beside a checkpoint, which says all of them itself."""
    others = [f"{key}={value}" for key, value in typed if key != "ckpt"]
    ckpt = dict(typed).get("ckpt", "null")
    if "ckpt" in _leaves(COMMANDS[command]) and ckpt != "null" and others:
        raise UsageError(f"{others[0]}: ckpt={ckpt} has its own configuration: leave out one of them")


def has_task(schema: type) -> bool:
    """Whether a command's options hold a task, so that `task=` chooses the dataclass of `task`."""
    return issubclass(schema, TrainOptions)


def key_types(command: str, typed: list[Typed], config_folder: Path) -> dict[str, Any]:
    """All keys that the command takes, given the task that was chosen, with the types of their values."""
    types = _leaves(COMMANDS[command])
    if not has_task(COMMANDS[command]):
        return types
    kind = chosen_task(typed, config_folder)
    of_task = _leaves(TASKS[kind], "task.")
    del of_task["task.kind"]  # `task=` sets it
    return types | of_task | dict.fromkeys(GROUPS, str | None)


def chosen_task(typed: list[Typed], config_folder: Path) -> str:
    """The task that `task=`, or else the experiment, chooses.

    Raises:
        UsageError: there is no such task or experiment.
    """
    values = dict(typed)
    for group in GROUPS:
        if group in values:
            _check_choice(group, values[group], config_folder)
    if "task" in values:
        return _choices(values["task"])[0]
    experiment = _choices(values.get("experiment", "null"))[0]
    if experiment == "null":
        return "translation"
    recipe = yaml.safe_load((config_folder / "experiment" / f"{experiment}.yaml").read_text(encoding="utf-8"))
    return next(
        (entry["override /task"] for entry in recipe.get("defaults", []) if "override /task" in entry), "translation"
    )


def _check_choice(group: str, value: str, config_folder: Path) -> None:
    choices = sorted(path.stem for path in (config_folder / group).glob("*.yaml"))
    for name in _choices(value):
        if name not in choices and not (name == "null" and group != "task"):
            raise UsageError(f"{group}={name}: there is no such {group}; choose one of {', '.join(choices)}")


def _choices(value: str) -> list[str]:
    """What a group is to be, one after the other: `a,b`, or `choice(a,b)`."""
    listed = re.fullmatch(r"choice\((.*)\)", value)
    return [name.strip(" ") for name in (listed[1] if listed else value).split(",")]


def _require_known(key: str, value: str, keys: list[str], typed: list[Typed]) -> None:
    if key in keys:
        return
    if key == "task.kind":
        raise UsageError(f"{key}={value}: write task={value}")
    elsewhere = [kind for kind, schema in TASKS.items() if key.removeprefix("task.") in _leaves(schema)]
    if key.startswith("task.") and elsewhere:
        chosen = dict(typed).get("task")
        where = f"task={chosen}" if chosen else "the chosen task"
        raise UsageError(f"{key}={value}: {where} does not use this key; it belongs to task={' and '.join(elsewhere)}")
    raise UsageError(f"{key}={value}: there is no key {key}{_nearest(key, keys)}")


def _require_value(key: str, value: str, kind: Any) -> None:
    """Refuses what Hydra would make something of that nobody means."""
    if not value:
        raise UsageError(f"{key}=: there is no value behind the sign; leave the key out to have its default")
    if key in PATH_KEYS:
        for path in _paths(value, kind):
            _require_path(key, value, path)
    if key in PATH_KEYS + TEXT_KEYS:
        return
    if value == "???":
        raise UsageError(f"{key}={value}: this is no value; leave the key out to have its default")
    if value == "null" and kind is not Any and NoneType not in get_args(kind):
        raise UsageError(f"{key}={value}: this key needs a value; leave it out to have its default")
    if bool in (kind, *get_args(kind)) and value.strip().lower() not in _BOOLEANS:
        raise UsageError(f"{key}={value}: this must be true or false")


def _require_path(key: str, value: str, path: str) -> None:
    longest = max(len(os.fsencode(name)) for name in re.split(r"[/\\]", path))
    if longest > _LONGEST_NAME:
        raise UsageError(
            f"{key}={value}: a name in this path has {longest} bytes, a file's has at most {_LONGEST_NAME}"
        )
    length = len(os.fsencode(os.path.abspath(path)))
    if length > _LONGEST_PATH:
        raise UsageError(f"{key}={value}: this path has {length} bytes in all, a file's has at most {_LONGEST_PATH}")
    if path.startswith(" ") and not os.path.lexists(path):
        raise UsageError(f"{key}={value}: a space before the value: write {key}={value.strip()}")


def _nearest(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name, names, n=2, cutoff=0.7)
    near += [other for other in names if other.split(".")[-1] == name.split(".")[-1] and other not in near]
    return f"; did you mean {' or '.join(near[:2])}?" if near else "; --help says where all keys stand"


def _leaves(schema: type, prefix: str = "") -> dict[str, Any]:
    """The dotted names of a dataclass's keys, with the types of their values."""
    types: dict[str, Any] = {}
    hints = get_type_hints(schema)
    for field in dataclasses.fields(schema):
        inner = field.default_factory if isinstance(field.default_factory, type) else None
        if has_task(schema) and field.name == "task":
            continue
        if inner is not None and dataclasses.is_dataclass(inner):
            types |= _leaves(inner, f"{prefix}{field.name}.")
        else:
            types[f"{prefix}{field.name}"] = hints[field.name]
    return types


def _value(key: str, value: str, kind: Any) -> str:
    if key == "task.name":
        return value if value == "null" else quoted(value)
    if key in TEXT_KEYS:
        return value if value == "null" or (value.isascii() and value.isdigit()) else quoted(value)
    if key not in PATH_KEYS or value == "null":
        return value
    sides = None if os.path.lexists(value) else _SIDES.fullmatch(value)
    if sides and sides[1] != sides[3]:
        first, second = (quoted(from_home(_unquoted(path))) for path in (sides[2], sides[4]))
        return f"{{{sides[1]}:{first},{sides[3]}:{second}}}"
    paths = [quoted(from_home(path)) for path in _paths(value, kind)]
    return f"[{','.join(paths)}]" if _is_list(value, kind) else paths[0]


def from_home(path: str) -> str:
    """A path whose `~` at the beginning is a home folder, unless there is a file of that name or no such user."""
    return path if os.path.lexists(path) else os.path.expanduser(path)


def _is_list(value: str, kind: Any) -> bool:
    """Whether several paths are meant: the key takes them, and no file has the whole as its name."""
    return kind is Any and value.startswith("[") and value.endswith("]") and not os.path.lexists(value)


def _paths(value: str, kind: Any) -> list[str]:
    """The path, or those of a list."""
    return _list_parts(value[1:-1]) if _is_list(value, kind) else [value]


def _list_parts(inside: str) -> list[str]:
    """The elements of a list, some of which may be quoted already."""
    parts = re.findall(r"\s*('(?:[^'\\]|\\.)*'|[^,]*)\s*(?:,|$)", inside)
    return [_unquoted(part.strip()) for part in parts if part]


def _unquoted(part: str) -> str:
    is_quoted = len(part) > 1 and part[0] == part[-1] == "'"
    return re.sub(r"\\(['\\])", r"\1", part[1:-1]) if is_quoted else part


def quoted(value: str) -> str:
    """Any text as one value in Hydra's grammar, without interpolation."""
    if value == "???":  # means "missing" to OmegaConf, even in quotes
        value = "./???"
    value = re.sub(r"(\\*)\$\{", lambda match: match[1] * 2 + r"\${", value)
    return "'" + re.sub(r"(\\*)('|\Z)", lambda match: match[1] * 2 + ("\\'" if match[2] else ""), value) + "'"


def _expand_config(typed: list[Typed]) -> list[Typed]:
    """`config=FILE` as the overrides that make that configuration, with the other overrides on top."""
    files = [value for key, value in typed if key == "config"]
    typed = [(key, value) for key, value in typed if key != "config"]
    if not files:
        return typed
    path = Path(from_home(files[-1]))
    saved = _read_config(path)
    kind = saved["task"]["kind"]
    own = {key for key, _ in typed}
    groups = own & set(GROUPS)
    flat = _flatten({name: value for name, value in saved.items() if name not in ("run_dir", "resume")})
    kept = [
        (key, value)
        for key, value in flat
        if key not in own and key.split(".")[0] not in groups and key != "task.kind"
        and not (key in ("data.batch_size", "data.batch_tokens") and own & {"data.batch_size", "data.batch_tokens"})
    ]  # fmt: skip
    return [*([] if "task" in groups else [("task", kind)]), *kept, *typed]


def _with_resumed(typed: list[Typed]) -> list[Typed]:
    """A run that goes on has its own configuration below what is typed, so that nothing is typed twice."""
    file = _resumed_config(typed)
    return typed if file is None else _expand_config([("config", file), *typed])


def _resumed_config(typed: list[Typed]) -> str | None:
    values = dict(typed)
    resume = values.get("resume", "null")
    folder = Path(from_home(values.get("run_dir", "") if resume == "auto" else resume))
    file = (folder.parent.parent if folder.suffix == ".ckpt" else folder) / "config.yaml"
    return str(file) if resume != "null" and os.path.isfile(file) else None


def _with_init(typed: list[Typed]) -> list[Typed]:
    """A run that starts from a checkpoint has the model and tokenizer keys of that below what is typed."""
    values = dict(typed)
    if values.get("init", "null") == "null" or "config" in values or _resumed_config(typed):
        return typed
    from seq2see.runs.init import keys_of, read_init  # torch

    saved = keys_of(read_init(from_home(values["init"])), values.get("init_tokenizer", "keep"))
    if "model" in values:  # a group of sizes
        saved = {key: value for key, value in saved.items() if key.removeprefix("model.") not in TINY}
    return [*((key, _typed(key, value)) for key, value in saved.items() if key not in values), *typed]


class _Loader(yaml.SafeLoader):
    """Reads YAML, but refuses a key that stands twice, of which YAML readers keep one."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        names = [name.value for name, _ in node.value]
        for name in names:
            if names.count(name) > 1:
                raise yaml.constructor.ConstructorError(None, None, f"{name} stands there twice")
        return super().construct_mapping(node, deep)


def _read_config(path: Path) -> dict[str, Any]:
    """What a run's config.yaml says, with a task that there is.

    Raises:
        UsageError: it cannot be read, or is something else.
    """
    try:
        with path.open(encoding="utf-8") as file:
            saved = yaml.load(file, _Loader)
    except OSError as error:
        raise UsageError(f"config: {path} cannot be read ({error.strerror}): name a run's config.yaml") from error
    except (yaml.YAMLError, ValueError, RecursionError) as error:  # ValueError: not UTF-8, or a date that is none
        reason = " ".join(str(getattr(error, "problem", None) or error).split())
        raise UsageError(f"config: {path} is not the config.yaml of a run ({reason}): name one") from error
    task = saved.get("task") if isinstance(saved, dict) else None
    kind = task.get("kind") if isinstance(task, dict) else None
    if not isinstance(kind, str) or kind not in TASKS:
        reason = f"its task.kind is {kind!r:.40}" if isinstance(saved, dict) else "it has no keys"
        raise UsageError(f"config: {path} is not the config.yaml of a run ({reason}): name one")
    try:
        return without_removed(saved)
    except ValueError as error:
        raise UsageError(f"config: {path}: {error}") from None


def _flatten(tree: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    flat: list[tuple[str, str]] = []
    for name, value in tree.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict) and key.count(".") < _DEEPEST:
            flat += _flatten(value, f"{key}.")
        else:
            flat.append((key, _typed(key, value)))
    return flat


def _typed(key: str, value: Any) -> str:
    """A YAML value as a person would type it.

    Raises:
        UsageError: no key takes such a value.
    """
    if isinstance(value, dict) and set(value) == {"source", "target"}:
        return f"{{source: {quoted(str(value['source']))}, target: {quoted(str(value['target']))}}}"
    for part in value if isinstance(value, list) else [value]:
        if part is not None and not isinstance(part, bool | int | float | str):
            raise UsageError(f"config: {key} has a value that no key takes ({type(part).__name__})")
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ",".join(quoted(part) if isinstance(part, str) else str(part) for part in value) + "]"
    if isinstance(value, str) and key not in PATH_KEYS + TEXT_KEYS:
        return quoted(value)
    return str(value)
