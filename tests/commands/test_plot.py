"""Figures of finished runs."""

import json
import shutil
from pathlib import Path

import pytest

from seq2see.commands.shell import run


def seeds_of(small_run: Path, folder: Path) -> list[str]:
    """The run, and the same of another seed with another score."""
    paths = [folder / "0", folder / "1"]
    for path in paths:
        shutil.copytree(small_run, path)
    config, result = paths[1] / "config.yaml", paths[1] / "result.json"
    config.write_text(config.read_text().replace("seed: 0", "seed: 1", 1))
    result.write_text(json.dumps({**json.loads(result.read_text()), "test": {"exact_match": 0.5}}))
    return list(map(str, paths))


def test_runs_are_drawn_without_a_word_more_than_what_was_written(
    small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    runs = seeds_of(small_run, tmp_path)
    assert run("plot", runs) == 0
    svg = (tmp_path / "curves.svg").read_text(encoding="utf-8")
    for text in ("training loss", "validation loss", "validation exact match", "step"):
        assert f">{text}<" in svg
    assert run("plot", [*runs, "what=lengths", "metric=ser"]) == 0
    assert ">SER by length<" in (tmp_path / "lengths.svg").read_text(encoding="utf-8")
    assert run("plot", [*runs, "what=comparison", "output=x.png"]) == 0
    assert (tmp_path / "x.png").read_bytes().startswith(b"\x89PNG")
    assert capsys.readouterr().out.splitlines() == ["curves.svg", "lengths.svg", "x.png"]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["output=x.jpg"], "output (x.jpg) must end in .svg, .png or .pdf"),
        (["metric=loudness"], "metric (loudness)"),
        (["output=nowhere/x.svg"], "output: nowhere/x.svg cannot be written (No such file or directory)"),
        (["what=lengths"], "cannot be read (there is no such file): write it anew with evaluate.py ckpt="),
    ],
)
def test_what_cannot_be_drawn_is_told_in_one_message(
    small_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    first, _ = seeds_of(small_run, tmp_path)
    (tmp_path / "0/evaluation/test.json").unlink()
    assert run("plot", [first, *arguments]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line
