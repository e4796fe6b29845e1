"""Every step of the walk from one attention call to the whole model runs, in its order, in both languages."""

import re
from pathlib import Path

import pytest
import torch

import seq2see.transformer

ROOM = Path(seq2see.transformer.__file__).parent
both_languages = pytest.mark.parametrize("walk", [ROOM / "README.md", ROOM / "README.zh-CN.md"], ids=["en", "zh"])


@both_languages
def test_every_block_runs_and_every_promise_holds(walk: Path) -> None:
    text = walk.read_text(encoding="utf-8")
    names: dict[str, object] = {}
    with torch.random.fork_rng():
        for block in re.finditer(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL):
            line = text[: block.start()].count("\n") + 2
            exec(compile("\n" * (line - 1) + block[1], str(walk), "exec"), names)
    assert "maps" in names


@both_languages
def test_its_contents_name_its_sections_and_its_links_lead_to_files(walk: Path) -> None:
    text = walk.read_text(encoding="utf-8")
    sections = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    assert sections == re.findall(r"^- \[(.+)\]\(#", text, flags=re.MULTILINE)
    for link in re.findall(r"\]\(([^#)]+)\)", text):
        assert (walk.parent / link).exists(), link
