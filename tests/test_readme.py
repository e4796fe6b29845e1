"""What the README shows can be typed."""

import re
import shlex
from pathlib import Path

import pytest

from seq2see.runs.config import config_folder
from seq2see.runs.overrides import read_overrides

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = sorted(set(re.findall(r"python scripts/[^`|#\n]+", README)))


def test_it_has_at_most_200_lines() -> None:
    assert len(README.splitlines()) <= 200


@pytest.mark.parametrize("line", COMMANDS)
def test_each_command_names_a_script_and_keys_that_exist(line: str) -> None:
    words = [word for word in shlex.split(line.split("<")[0].split(" > ")[0])[1:]]
    script, arguments = ROOT / words[0], [word for word in words[1:] if word != "-m"]
    assert script.is_file()
    if any("config=RUN" in argument for argument in arguments):
        return
    read_overrides(script.stem, arguments, config_folder())


@pytest.mark.parametrize("link", re.findall(r"\]\(([^)]+)\)", README))
def test_each_link_leads_to_a_file(link: str) -> None:
    assert (ROOT / link).exists()


def test_the_tree_lists_every_room() -> None:
    rooms = {
        path.name.removesuffix(".py") for path in (ROOT / "src/seq2see").iterdir() if not path.name.startswith("_")
    }
    listed = set(re.findall(r"^  (\w+)(?:/|\.py) ", README, flags=re.MULTILINE))
    assert rooms == listed


def test_the_python_example_runs() -> None:
    import torch

    import seq2see

    code = README.split("```python")[1].split("```")[0]
    code = code[: code.index("model = load")]
    names = {"x": torch.randn(2, 5, 64), "mask": torch.ones(2, 5, dtype=torch.bool)}
    exec(code, names)
    assert names["weights"].shape == (2, 4, 5, 5)
    assert callable(seq2see.load)
