"""Configuration: Hydra composes it, dataclasses type it, and nothing behind this file sees a DictConfig."""

import dataclasses
import re
from enum import Enum
from functools import cache
from pathlib import Path
from typing import Any, TypeVar

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from omegaconf import MISSING, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from seq2see.options import COMMANDS, TASKS
from seq2see.options.rules import without_removed
from seq2see.runs.overrides import has_task

Options = TypeVar("Options")


def config_folder() -> Path:
    """The YAML files: beside the package in a wheel, at the top level in a checkout."""
    inside = Path(__file__).parents[1] / "configs"
    return inside if inside.is_dir() else Path(__file__).parents[3] / "configs"


def compose_options(command: str, overrides: list[str]) -> Any:
    """The typed options of a command, from its YAML files and Hydra overrides.

    Args:
        command: one of `options.COMMANDS`.
        overrides: such as `task=copy`, `model.d_model=64`.

    Raises:
        hydra.errors.HydraException, omegaconf.errors.OmegaConfBaseException: Hydra cannot compose it.
        ValueError: a rule is broken.
    """
    _store_schemas(command)
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        config = compose(config_name=command, overrides=overrides)
    return OmegaConf.to_object(config)


@cache
def _store_schemas(command: str) -> None:
    schema, store = COMMANDS[command], ConfigStore.instance()
    store.store(name=f"{command}_schema", node=schema(task=MISSING) if has_task(schema) else schema)
    for kind, of_task in TASKS.items():
        store.store(group="task", name=f"{kind}_schema", node=of_task)


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
    if has_task(schema):
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


def to_yaml(options: Any) -> str:
    """The options as a file that `config=` reads again."""
    return yaml.safe_dump(to_plain(options), sort_keys=False, allow_unicode=True)
