"""`compare.py` names what runs differ in, and nothing else."""

from pathlib import Path

import pytest

from seq2see.commands.compare import compare
from seq2see.options import CompareOptions


def table(capsys: pytest.CaptureFixture[str], small_run: Path, folder: Path, *changes: dict[str, str]) -> list[str]:
    """What is shown of runs like this one, with these changes to their configuration."""
    runs = []
    for number, change in enumerate(changes):
        runs.append(folder / str(number))
        runs[-1].mkdir()
        config = (small_run / "config.yaml").read_text(encoding="utf-8")
        for old, new in change.items():
            assert old in config
            config = config.replace(old, new)
        (runs[-1] / "config.yaml").write_text(config, encoding="utf-8")
        (runs[-1] / "result.json").write_bytes((small_run / "result.json").read_bytes())
    compare(CompareOptions(ckpt=[str(run) for run in runs]))
    lines = capsys.readouterr().out.splitlines()
    assert all(len(line) <= 80 for line in lines)
    return [" ".join(line[:34].split()) for line in lines]


def test_a_row_is_named_by_its_folder_and_the_keys_that_differ_between_recipes(
    small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    heads, seed = {"num_heads: 4": "num_heads: 2"}, {"seed: 0\nrun_dir": "seed: 1\nrun_dir"}
    names = table(capsys, small_run, tmp_path, {}, seed, heads, {"log_every_n_steps: ": "log_every_n_steps: 1"})
    assert names[0] == "run"
    assert sorted(names[1:]) == sorted(
        ["0 num_heads=4", "3 num_heads=4", "1 num_heads=4", "mean of 3", "lowest of 3", "highest of 3", "2 num_heads=2"]
    )


def test_runs_of_one_recipe_have_their_folders_names_alone(
    small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert table(capsys, small_run, tmp_path, {}, {})[1:3] == ["0", "1"]


def test_many_differences_go_on_below_and_are_cut(
    small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    change = {"dropout: 0.0": "dropout: 0.1", "position: rope": "position: none", "d_ff: 64": "d_ff: 128"}
    names = table(capsys, small_run, tmp_path, {}, {**change, "weight_decay: 0.01": "weight_decay: 0.0"})
    first = names.index("0 d_ff=64 dropout=0.0")
    assert names[first + 1 : first + 3] == ["attention_dropout=0.0", "position=rope ..."]
