"""Files that appear whole or not at all."""

import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from seq2see.atomic_write import whole_file, write_bytes, write_text


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_and_nothing_else_stays(tmp_path: Path) -> None:
    file = tmp_path / ("数据" * 40)  # as long as a name may get
    for text in ("one\n", "two\n\u2028ä\r\n"):
        write_text(file, text)
        assert file.read_bytes() == text.encode("utf-8")
    write_bytes(file, b"\0\xff")
    assert file.read_bytes() == b"\0\xff" and names(tmp_path) == [file.name]


@pytest.mark.parametrize("at", ["os.fsync", "os.replace"])
def test_a_failed_write_leaves_the_file_before(at: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_space(*_: object) -> None:
        raise OSError("no space left")

    write_bytes(tmp_path / "a", b"old")
    monkeypatch.setattr(at, no_space)
    with pytest.raises(OSError, match="no space left"):
        write_bytes(tmp_path / "a", b"new")
    assert names(tmp_path) == ["a"] and (tmp_path / "a").read_bytes() == b"old"


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_reader_sees_the_file_before_until_the_new_one_is_whole_and_where_its_writer_stops(
    error: type[BaseException], tmp_path: Path
) -> None:
    write_text(tmp_path / "a", "old")
    with pytest.raises(error), whole_file(tmp_path / "a") as file:
        file.write("new" * 100_000)
        file.flush()
        assert (tmp_path / "a").read_text() == "old"
        raise error
    assert names(tmp_path) == ["a"] and (tmp_path / "a").read_text() == "old"


def test_file_and_folder_are_on_the_disk_before_it_is_done(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []

    def synced(descriptor: int) -> None:
        done.append("folder" if stat.S_ISDIR(os.fstat(descriptor).st_mode) else "file")

    def replaced(source: Path, target: Path, replace=os.replace) -> None:
        done.append("replace")
        replace(source, target)

    monkeypatch.setattr("os.fsync", synced)
    monkeypatch.setattr("os.replace", replaced)
    write_text(tmp_path / "a", "x")
    assert done == (["file", "replace", "folder"] if os.name == "posix" else ["file", "replace"])


@pytest.mark.skipif(os.name != "posix", reason="links, pipes and masks of POSIX")
def test_a_link_stays_one_a_pipe_is_written_as_it_stands_and_the_mask_holds(tmp_path: Path) -> None:
    (tmp_path / "target").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "target" / "file")
    write_text(tmp_path / "link", "x")
    assert (tmp_path / "link").is_symlink() and (tmp_path / "target" / "file").read_text() == "x"
    before = os.umask(0o027)
    try:
        write_text(tmp_path / "masked", "x")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "masked").stat().st_mode) == 0o640
    code = "from pathlib import Path; from seq2see.atomic_write import *; write_text(Path('/dev/stdout'), 'ä')"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
    assert done.stdout == "ä".encode()
