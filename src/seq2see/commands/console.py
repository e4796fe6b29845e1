"""`seq2see train ...` where the package is installed: what `python scripts/train.py ...` does in a checkout."""

import re
import sys
from pathlib import Path
from typing import NoReturn

from seq2see.commands.shell import USER, run


def main() -> NoReturn:
    """Runs the command that is named, or lists them, and exits."""
    folder = _scripts_folder()
    sys.path.append(str(folder))  # the benchmark's parts lie there
    helps = {path.stem: _help_text(path) for path in sorted(folder.glob("*.py"))}
    name, *arguments = sys.argv[1:] or ["--help"]
    if name in ("--help", "-h"):
        print("seq2see COMMAND key=value ...      more about one: seq2see COMMAND --help\n")
        for command, text in helps.items():
            print(f"  {command:<11} {re.split('[.:,?]', text)[0]}")
        sys.exit(0)
    if name not in helps:
        print(f"seq2see: there is no command {name}: choose one of {', '.join(helps)}", file=sys.stderr)
        sys.exit(USER)
    sys.exit(run(name, arguments, helps[name]))


def _scripts_folder() -> Path:
    """The scripts, whose docstrings are the help: beside the package in a wheel, at the top level in a checkout."""
    inside = Path(__file__).parents[1] / "scripts"
    return inside if inside.is_dir() else Path(__file__).parents[3] / "scripts"


def _help_text(script: Path) -> str:
    text = script.read_text(encoding="utf-8").split('"""')[1]
    return re.sub(r"python scripts/(\w+)\.py", r"seq2see \1", text)
