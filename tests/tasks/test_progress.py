"""What takes long shows how far it is, on a terminal and nowhere else."""

import io

import pytest

from seq2see.tasks import progress
from seq2see.tasks.progress import watched


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.mark.parametrize(("stderr", "patience", "shown"), [(Terminal, 0, True), (Terminal, 60, False)])
def test_a_bar_appears_after_a_while(monkeypatch, stderr, patience, shown):
    monkeypatch.setattr(progress, "_PATIENCE", patience)
    monkeypatch.setattr("sys.stderr", console := stderr())

    assert list(watched(range(5_000), "reading x.tsv", total=5_000)) == list(range(5_000))
    assert ("reading x.tsv" in console.getvalue()) is shown


def test_without_a_terminal_nothing_stands_between():
    items = [1, 2]

    assert watched(items, "reading x.tsv") is items


def test_the_bar_goes_when_reading_fails(monkeypatch):
    monkeypatch.setattr(progress, "_PATIENCE", 0)
    monkeypatch.setattr("sys.stderr", console := Terminal())

    def failing():
        yield from range(5_000)
        raise ValueError("line 5001")

    with pytest.raises(ValueError, match="line 5001"):
        list(watched(failing(), "reading x.tsv"))
    assert console.getvalue().endswith(("\x1b[2K", "\x1b[?25h")) or "\x1b[?25h" in console.getvalue()
