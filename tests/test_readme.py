"""What the README shows can be typed."""

import re
import shlex
from pathlib import Path

import pytest
import torch

import seq2see
from seq2see.commands.shell import _flags_apart
from seq2see.runs.overrides import read_overrides

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
CHINESE = (ROOT / "README.zh-CN.md").read_text(encoding="utf-8")
RECIPES = (ROOT / "configs/experiment/README.md").read_text(encoding="utf-8")
ROOMS = [f"src/seq2see/{room}/README.md" for room in ("commands", "commands/export", "commands/serve", "decoding")]
PAGES = README + CHINESE + RECIPES + "".join((ROOT / page).read_text(encoding="utf-8") for page in ROOMS)
COMMANDS = sorted(set(re.findall(r"python scripts/[^`|#\n]+", PAGES.replace("\\\n", ""))))


def test_it_has_at_most_200_lines() -> None:
    assert len(README.splitlines()) <= 200


@pytest.mark.parametrize("line", COMMANDS)
def test_each_command_names_a_script_and_keys_that_exist(line: str) -> None:
    words = [word for word in shlex.split(line.split("<")[0].split(" > ")[0])[1:]]
    script, (_, arguments) = ROOT / words[0], _flags_apart(words[1:])
    assert script.is_file()
    if any(argument.startswith(("config=", "init=")) for argument in arguments):  # files that are read
        return
    read_overrides(script.stem, arguments)


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)]+)\)", README + CHINESE))
def test_each_link_leads_to_a_file(link: str) -> None:
    assert (ROOT / link).exists()


def test_the_tree_lists_every_room() -> None:
    rooms = {
        path.name.removesuffix(".py") for path in (ROOT / "src/seq2see").iterdir() if not path.name.startswith("_")
    }
    listed = set(re.findall(r"^  (\w+)(?:/|\.py) ", README, flags=re.MULTILINE))
    assert rooms == listed


BLOCKS = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)


def test_attention_in_your_own_model_runs() -> None:
    names = {"x": torch.randn(2, 5, 64), "mask": torch.ones(2, 5, dtype=torch.bool)}
    exec(next(block for block in BLOCKS if "MultiHeadAttention" in block), names)
    assert names["weights"].shape == (2, 4, 5, 5)


def test_training_and_using_a_model_from_python_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    block = next(block for block in BLOCKS if "seq2see.train(" in block)
    names = {"seq2see": seq2see, "pairs": [(f"in {n}", f"out {n}") for n in range(40)]}
    exec(block.replace("max_steps=2000", "max_steps=2"), names)
    assert names["result"].status == "completed"
