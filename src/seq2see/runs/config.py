"""Configuration: Hydra composes it, dataclasses type it, and nothing behind this file sees a DictConfig."""

from functools import cache
from pathlib import Path
from typing import Any

import yaml
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from omegaconf import MISSING, OmegaConf

from seq2see.options import COMMANDS, TASKS
from seq2see.options.plain import to_plain
from seq2see.runs.overrides import has_task


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


def to_yaml(options: Any) -> str:
    """The options as a file that `config=` reads again."""
    return yaml.safe_dump(to_plain(options), sort_keys=False, allow_unicode=True)
