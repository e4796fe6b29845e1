"""The house rules that a program can check."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "src" / "seq2see"
ROOMS = "_version atomic_write ranks options attention transformer text tasks data decoding evaluation maps".split()
ROOMS += ["training", "runs", "commands", "api"]


def name_of(path: Path) -> str:
    return ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts).removesuffix(".__init__")


FILES = {name_of(path): path for path in sorted(PACKAGE.rglob("*.py"))}


def imported_by(name: str) -> set[str]:
    """Files that this one imports anywhere in it, also in functions and for types alone."""
    tree = ast.parse(FILES[name].read_text(encoding="utf-8"))
    found = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom):
            inside = {f"{node.module}.{alias.name}" for alias in node.names}
            found |= {path if path in FILES else str(node.module) for path in inside}
    return (found & set(FILES)) - {name}


@pytest.mark.parametrize("name", [name for name in FILES if name != "seq2see"])
def test_a_room_imports_only_rooms_above_it(name: str) -> None:
    rooms = [imported.split(".")[1] if "." in imported else imported for imported in imported_by(name)]
    assert set(rooms) <= set(ROOMS[: ROOMS.index(name.split(".")[1]) + 1])


def test_no_file_imports_itself_around_a_corner() -> None:
    imports = {name: imported_by(name) for name in FILES}
    while free := [name for name, own in imports.items() if not own & set(imports)]:
        for name in free:
            del imports[name]
    circles = {name: sorted(own & set(imports)) for name, own in imports.items()}
    assert not circles, "some of these import each other in a circle, and the others import them"


def test_a_checkpoint_loads_without_the_compiler_and_the_trainer(small_run: Path) -> None:
    """Each takes seconds to import, and everybody who translates a line would wait for it."""
    code = (
        "import sys, seq2see; seq2see.load(sys.argv[1]).translate(['a b'])\n"
        "assert not {'torch._dynamo', 'sympy', 'lightning', 'datasets'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code, str(small_run)], check=True)
