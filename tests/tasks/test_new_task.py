"""What a new task takes: its options in the one registry, and its class in a file of that name."""

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

import seq2see
from seq2see.options import TASKS, GeneratedOptions
from seq2see.runs import config
from seq2see.runs.train import train_run
from seq2see.tasks import Pair


@dataclass
class DoubledOptions(GeneratedOptions):
    kind: str = "doubled"
    times: int = 2


class Doubled:
    def __init__(self, options: DoubledOptions) -> None:
        self.notes, self.ood, self.options = list[str](), "", options

    def pairs(self, split: str) -> list[Pair]:
        sizes = {"train": self.options.train_size, "valid": self.options.valid_size, "test": self.options.test_size}
        words = [format(number, "b") for number in range(sizes.get(split, 0))]
        return [Pair(word, " ".join([word] * self.options.times)) for word in words]


def test_a_task_is_an_entry_its_class_and_its_yaml(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, short_run: Callable[..., list[str]]
) -> None:
    monkeypatch.setitem(TASKS, "doubled", DoubledOptions)
    file = ModuleType("seq2see.tasks.doubled")
    monkeypatch.setattr(file, "Doubled", Doubled, raising=False)
    monkeypatch.setitem(sys.modules, file.__name__, file)
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "doubled.yaml").write_text("defaults:\n  - /schema@_here_: doubled\nkind: doubled\n")
    config._store_schemas.cache_clear()
    typed = short_run(tmp_path / "run", "task.times=3", f"hydra.searchpath=[file://{tmp_path}]")
    result = train_run(config.compose_options("train", ["task=doubled", *typed[1:]]))
    assert result.status == "completed"
    trained = seq2see.load(result.folder)
    assert trained.options.task == DoubledOptions(train_size=300, valid_size=20, test_size=30, times=3)
    assert trained.evaluate([("101", "101 101 101")]).scores["loss"] > 0
