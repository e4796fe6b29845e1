"""Configuration: Hydra composes it, dataclasses type it, and nothing behind this file sees a DictConfig."""

import os
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import hydra
import yaml
from hydra.core.config_store import ConfigStore
from hydra.core.global_hydra import GlobalHydra
from hydra.core.hydra_config import HydraConfig
from hydra.errors import HydraException, MissingConfigException, OverrideParseException
from hydra.types import RunMode
from omegaconf import MISSING, DictConfig, OmegaConf, open_dict
from omegaconf.errors import ConfigAttributeError, ConfigKeyError, OmegaConfBaseException

from seq2see.options import COMMANDS, TASKS
from seq2see.options.plain import to_plain
from seq2see.runs.overrides import UsageError, has_task, key_types, no_such_key, read_overrides


def config_folder() -> Path:
    """The YAML files: beside the package in a wheel, at the top level in a checkout."""
    inside = Path(__file__).parents[1] / "configs"
    return inside if inside.is_dir() else Path(__file__).parents[3] / "configs"


def compose_options(command: str, typed: list[str]) -> Any:
    """The options of a command for what a person types behind it, as `task=copy`, `model.d_model=64`.

    Raises:
        ValueError: a key, a value or a rule is wrong; the message is for the user.
    """
    overrides = read_overrides(command, typed)
    _store_schemas(command)
    GlobalHydra.instance().clear()
    try:
        with hydra.initialize_config_dir(str(config_folder()), version_base="1.3"):
            config = hydra.compose(config_name=command, overrides=overrides, return_hydra_config=True)
        HydraConfig.instance().set_config(config)  # for ${hydra:...}
        with open_dict(config):
            del config["hydra"]
        return to_options(command, config)
    except (HydraException, OmegaConfBaseException) as error:
        raise explained(command, error, overrides) from error


def jobs_of(command: str, overrides: list[str], flags: list[str]) -> list[Any]:
    """The options of what Hydra's command line makes of this; none where it only shows something.

    Raises:
        ValueError: a key, a value or a rule is wrong in one of them.
    """
    jobs: list[Any] = []

    def look(config: DictConfig) -> None:
        try:
            jobs.append(to_options(command, config))
        except Exception as error:  # raised below: Hydra would print it
            jobs.append(error)

    try:
        hydra_main(command, look, [*overrides, *flags])
        for job in jobs:
            if isinstance(job, Exception):
                raise job
    except (HydraException, OmegaConfBaseException) as error:
        raise explained(command, error, overrides) from error
    return jobs


def hydra_main(command: str, task: Callable[[DictConfig], object], arguments: list[str]) -> None:
    """Hydra's own command line, for one job or many: calls the task with the configuration of each."""
    _store_schemas(command)
    os.environ["HYDRA_FULL_ERROR"] = "1"  # what is wrong is raised, not printed
    before, sys.argv = sys.argv, [sys.argv[0], *arguments]
    try:
        hydra.main(version_base="1.3", config_path=str(config_folder()), config_name=command)(task)()
    finally:
        sys.argv = before


def job_of(command: str, config: DictConfig) -> tuple[int, Any]:
    """The number of Hydra's job, 0 if it is alone, and its options."""
    about = HydraConfig.get()
    return about.job.num if about.mode is RunMode.MULTIRUN else 0, to_options(command, config)


def to_options(command: str, config: DictConfig) -> Any:
    """The command's dataclass, with all that stands for something else looked up."""
    options = OmegaConf.to_object(config)
    if not isinstance(options, COMMANDS[command]):
        raise UsageError(f"--config-name: the defaults of this configuration must begin with {command}")
    return options


@cache
def _store_schemas(command: str) -> None:
    schema, store = COMMANDS[command], ConfigStore.instance()
    store.store(name=f"{command}_schema", node=schema(task=MISSING) if has_task(schema) else schema)
    for kind, of_task in TASKS.items():
        store.store(group="schema", name=kind, node=of_task)


def explained(command: str, error: BaseException, overrides: list[str]) -> UsageError:
    """What Hydra says is wrong, with the key and the value that was typed."""
    cause: BaseException | None = error
    while cause is not None:
        key = getattr(cause, "full_key", None)
        if isinstance(cause, OverrideParseException):
            name = cause.override.split("=", 1)[0]
            hint = f"a text with such characters is quoted twice, as in \"{name}='...'\""
            return UsageError(f"{cause.override}: this cannot be read as a value; {hint}")
        if isinstance(cause, MissingConfigException) and cause.options:
            group, _, name = str(cause.missing_cfg_file).rpartition("/")
            extra = next((start for start in ("joblib", "submitit", "optuna") if name.startswith(start)), None)
            if extra and group.startswith("hydra/") and not any(other.startswith(extra) for other in cause.options):
                return UsageError(f"{group}={name}: its package is not installed: pip install 'seq2see[sweep]'")
            return UsageError(f"{group}={name}: there is no such {group}; choose one of {', '.join(cause.options)}")
        if key:
            place = f"config: {key}" if any(text.startswith("begin=") for text in overrides) else key
            typed = next((text for text in reversed(overrides) if text.startswith(f"{key}=")), place)
            if isinstance(cause, ConfigAttributeError | ConfigKeyError):
                task = [text for text in overrides if text.startswith("task=")]
                return UsageError(no_such_key(key, typed, list(key_types(command)), *task[-1:]))
            return UsageError(f"{typed}: {str(getattr(cause, 'msg', None) or cause).splitlines()[0]}")
        cause = cause.__cause__ or cause.__context__
    message = str(error).split("\n\n")[0]
    if "--multirun" in message:
        values = message.split("'")[1]
        return UsageError(f"{values}: several values: add -m for one run after the other, or write [A,B] for a list")
    return UsageError(" ".join(message.split()))


def to_yaml(options: Any) -> str:
    """The options as a file that `config=` reads again."""
    return yaml.safe_dump(to_plain(options), sort_keys=False, allow_unicode=True)
