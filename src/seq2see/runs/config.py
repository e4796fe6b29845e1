"""Configuration: Hydra composes it, dataclasses type it, and nothing behind this file sees a DictConfig."""

import dataclasses
from enum import Enum
from pathlib import Path
from typing import Any, TypeVar

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from omegaconf import MISSING, OmegaConf

from seq2see.options import COMMANDS, TASKS
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
    _store_schemas()
    GlobalHydra.instance().clear()
    with initialize_config_dir(str(config_folder()), version_base="1.3"):
        config = compose(config_name=command, overrides=overrides)
    return OmegaConf.to_object(config)


def _store_schemas() -> None:
    store = ConfigStore.instance()
    for command, schema in COMMANDS.items():
        node = schema(task=MISSING) if has_task(schema) else schema
        store.store(name=f"{command}_schema", node=node)
    for kind, schema in TASKS.items():
        store.store(group="task", name=f"{kind}_schema", node=schema)


def to_plain(options: Any) -> Any:
    """Dataclasses and enums as dictionaries and strings: what YAML and checkpoints may hold."""
    if dataclasses.is_dataclass(options) and not isinstance(options, type):
        return {field.name: to_plain(getattr(options, field.name)) for field in dataclasses.fields(options)}
    if isinstance(options, Enum):
        return options.value
    if isinstance(options, list | tuple):
        return [to_plain(value) for value in options]
    return options


def from_plain(schema: type[Options], plain: dict[str, Any]) -> Options:
    """The reverse of `to_plain`, for a command's options; the task's kind chooses the dataclass of `task`.

    Raises:
        ValueError: a rule is broken.
        omegaconf.errors.OmegaConfBaseException: a key is unknown or a value has the wrong type.
    """
    node = OmegaConf.structured(schema)
    if has_task(schema):
        node.task = OmegaConf.structured(TASKS[plain["task"]["kind"]])
    options = OmegaConf.to_object(OmegaConf.merge(node, plain))
    assert isinstance(options, schema)
    return options


def to_yaml(options: Any) -> str:
    """The options as a file that `config=` reads again."""
    return yaml.safe_dump(to_plain(options), sort_keys=False, allow_unicode=True)
