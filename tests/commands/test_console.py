"""`seq2see COMMAND ...`, as those type it who install the package."""

import subprocess
import sys

import pytest

from seq2see.commands import shell
from seq2see.commands.console import main
from seq2see.options import COMMANDS


def test_help_lists_the_commands_and_loads_neither_torch_nor_hydra() -> None:
    code = (
        "import sys, seq2see.commands.console as console\n"
        "for sys.argv in (['seq2see', '--help'], ['seq2see', 'train', '--help']):\n"
        "    try: console.main()\n"
        "    except SystemExit as end: assert end.code == 0\n"
        "assert not {'torch', 'hydra', 'lightning'} & set(sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    general, train = done.stdout.split("Examples:")
    listed = [line for line in general.splitlines() if line.startswith("  ")]
    assert set(COMMANDS) <= {line.split()[0] for line in listed} and max(map(len, listed)) <= 80
    assert "seq2see train task=copy" in train and "scripts/train.py" not in train


def test_a_command_is_done_with_its_arguments_and_its_exit_code(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[object] = []
    monkeypatch.setattr(shell, "_call", lambda command, options: done.append((command, options.seed)))
    monkeypatch.setattr(shell, "listen", lambda: None)
    for typed, code in ((["train", "seed=3"], 0), (["train", "sed=3"], 2), (["trian"], 2)):
        monkeypatch.setattr(sys, "argv", ["seq2see", *typed])
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == code
    assert done == [("train", 3)]
    assert "there is no command trian: choose one of attention, " in capsys.readouterr().err
