r"""What a person types, checked and quoted before Hydra's grammar sees it; torch-free and Hydra-free.

A key that does not exist, or that the chosen task does not use, is refused with the nearest ones, also behind `+` and
`++`. Values of path keys may hold anything that a shell can name.
"""

import dataclasses
import difflib
import re
from pathlib import Path
from typing import Any

import yaml

from seq2see.options import COMMANDS, PATH_KEYS, TASKS, TrainOptions

TEXT_KEYS = ("task.source", "task.target", "task.features", "task.features_separator")  # quoted like paths
Typed = tuple[str, str]  # key and value
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
    runs = [argument for argument in arguments if "=" not in argument]
    if any(run.startswith("-") for run in runs):
        flag = next(run for run in runs if run.startswith("-"))
        raise UsageError(f"{flag}: there are no flags; settings have the form key=value (see --help)")
    if runs:
        if "ckpt" not in {field.name for field in dataclasses.fields(COMMANDS[command])}:
            raise UsageError(f"{runs[0]}: settings have the form key=value (see --help)")
        value = runs[0] if len(runs) == 1 else "[" + ",".join(quoted(run) for run in runs) + "]"
        arguments = [argument for argument in arguments if "=" in argument]
        arguments.append(f"ckpt={value}")
    typed = [_split(argument) for argument in arguments]
    if has_task(COMMANDS[command]):
        typed = _expand_config(typed)
    keys = valid_keys(command, typed, config_folder)
    for key, value in typed:
        _require_known(key, value, keys, typed)
    return [f"{key}={_value(key, value)}" for key, value in typed]


def _split(argument: str) -> Typed:
    """Key and value; `+` and `++` make no difference, for there are no other keys than the known ones."""
    key, value = argument.split("=", 1)
    if key.startswith("~"):
        raise UsageError(f"{argument}: keys cannot be taken away; set another value instead")
    return key.lstrip("+"), value


def has_task(schema: type) -> bool:
    """Whether a command's options hold a task, so that `task=` chooses the dataclass of `task`."""
    return issubclass(schema, TrainOptions)


def valid_keys(command: str, typed: list[Typed], config_folder: Path) -> list[str]:
    """All keys that the command takes, given the task that was chosen."""
    keys = _leaves(COMMANDS[command])
    if not has_task(COMMANDS[command]):
        return keys
    kind = chosen_task(typed, config_folder)
    of_task = [f"task.{key}" for key in _leaves(TASKS[kind]) if key != "kind"]  # `task=` sets task.kind
    return [*keys, *of_task, *GROUPS]


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
        return values["task"].split(",")[0]
    if values.get("experiment") in (None, "null"):
        return "translation"
    recipe = yaml.safe_load((config_folder / "experiment" / f"{values['experiment']}.yaml").read_text(encoding="utf-8"))
    return next(
        (entry["override /task"] for entry in recipe.get("defaults", []) if "override /task" in entry), "translation"
    )


def _check_choice(group: str, value: str, config_folder: Path) -> None:
    choices = sorted(path.stem for path in (config_folder / group).glob("*.yaml"))
    for name in value.split(","):
        if name not in choices and not (name == "null" and group != "task"):
            raise UsageError(f"{group}={name}: there is no such {group}; choose one of {', '.join(choices)}")


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


def _nearest(name: str, names: list[str]) -> str:
    near = difflib.get_close_matches(name, names, n=2, cutoff=0.7)
    near += [other for other in names if other.split(".")[-1] == name.split(".")[-1] and other not in near]
    return f"; did you mean {' or '.join(near[:2])}?" if near else "; --help lists the keys"


def _leaves(schema: type, prefix: str = "") -> list[str]:
    """The dotted names of a dataclass's keys."""
    names = []
    for field in dataclasses.fields(schema):
        inner = field.default_factory if isinstance(field.default_factory, type) else None
        if has_task(schema) and field.name == "task":
            continue
        if inner is not None and dataclasses.is_dataclass(inner):
            names += _leaves(inner, f"{prefix}{field.name}.")
        else:
            names.append(f"{prefix}{field.name}")
    return names


def _value(key: str, value: str) -> str:
    if key in TEXT_KEYS:
        return value if value == "null" or (value.isascii() and value.isdigit()) else quoted(value)
    if key not in PATH_KEYS or value == "null":
        return value
    is_list = value.startswith("[") and value.endswith("]") and not Path(value).exists()
    if not is_list:
        return quoted(value)
    return "[" + ",".join(quoted(part) for part in _list_parts(value[1:-1])) + "]"


def _list_parts(inside: str) -> list[str]:
    """The elements of a list, some of which may be quoted already."""
    parts = re.findall(r"\s*(?:'((?:[^'\\]|\\.)*)'|([^,]*))\s*(?:,|$)", inside)
    return [
        re.sub(r"\\(['\\])", r"\1", in_quotes) if in_quotes else bare.strip()
        for in_quotes, bare in parts
        if in_quotes or bare
    ]


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
    path = Path(files[-1]).expanduser()
    try:
        saved = yaml.safe_load(path.read_text(encoding="utf-8"))
        kind = saved["task"]["kind"]
    except OSError as error:
        raise UsageError(f"config: {path} cannot be read ({error.strerror}): name a run's config.yaml") from error
    except (yaml.YAMLError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise UsageError(f"config: {path} is not the config.yaml of a run: name one") from error
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


def _flatten(tree: dict[str, Any], prefix: str = "") -> list[tuple[str, str]]:
    flat: list[tuple[str, str]] = []
    for name, value in tree.items():
        key = f"{prefix}{name}"
        if isinstance(value, dict):
            flat += _flatten(value, f"{key}.")
        else:
            flat.append((key, _typed(key, value)))
    return flat


def _typed(key: str, value: Any) -> str:
    """A YAML value as a person would type it."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list):
        return "[" + ",".join(quoted(part) if isinstance(part, str) else str(part) for part in value) + "]"
    if isinstance(value, str) and key not in PATH_KEYS + TEXT_KEYS:
        return quoted(value)
    return str(value)
