"""The house rules that a program can check."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "seq2see"
ROOMS = "atomic_write options attention transformer text tasks data training decoding evaluation maps runs".split()
SHOWN_WHILE_TRAINING = {"decoding", "evaluation", "maps"}


def room_of(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def imported_rooms(path: Path) -> set[str]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    names = [node.module or "" for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)]
    names += [alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names]
    return {name.split(".")[1] for name in names if name.startswith("seq2see.")}


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*/**/*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_a_room_imports_only_rooms_above_it(path: Path) -> None:
    room = room_of(path)
    allowed = set(ROOMS[: ROOMS.index(room) + 1])
    if room == "training":
        allowed |= SHOWN_WHILE_TRAINING
    if room in SHOWN_WHILE_TRAINING:
        allowed -= {"training"}
    assert imported_rooms(path) <= allowed


def test_options_load_without_torch() -> None:
    code = "import sys, seq2see.options, seq2see.runs.overrides; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_checkpoint_loads_without_the_compiler_and_the_trainer(small_run: Path) -> None:
    """Each takes seconds to import, and everybody who translates a line would wait for it."""
    code = (
        "import sys, seq2see; seq2see.load(sys.argv[1]).translate(['a b'])\n"
        "assert not {'torch._dynamo', 'sympy', 'lightning', 'datasets'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, str(small_run)], check=True)
