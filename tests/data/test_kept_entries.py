"""What is kept between runs: whole or not at all, where it belongs, and not for ever."""

import os
import sys
import time

import pytest

from seq2see.data import cache

KEY, OTHER = "0" * 32, "1" * 32


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("SEQ2SEE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    return tmp_path / "cache"


def writer(content="x" * 100):
    return lambda folder: (folder / "file").write_text(content, encoding="utf-8")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def last_used(folder, days):
    moment = time.time() - days * 86_400
    os.utime(folder / "manifest.json", (moment, moment))


def test_what_is_kept_is_found_by_its_key_alone(place):
    assert cache.find(KEY) is None

    entry = cache.keep(KEY, writer())

    assert entry == cache.find(KEY) == place / KEY
    assert (entry / "file").read_text(encoding="utf-8") == "x" * 100
    assert cache.find(OTHER) is None


@pytest.mark.parametrize("error", [ValueError("line 7"), OSError(28, "No space left on device")], ids=repr)
def test_a_writer_that_fails_leaves_nothing_and_a_full_disk_is_no_error(place, error):
    def fail(folder):
        writer()(folder)
        raise error

    if isinstance(error, OSError):
        assert cache.keep(KEY, fail) is None
    else:
        with pytest.raises(ValueError, match="line 7"):
            cache.keep(KEY, fail)
    assert cache.find(KEY) is None and names(place) == []


@pytest.mark.parametrize("damage", ["shorter", "other", "gone", "no manifest", "no JSON", "a file"])
def test_a_damaged_entry_is_not_found_and_made_anew(place, damage):
    entry = cache.keep(KEY, writer())
    if damage == "shorter":
        (entry / "file").write_text("x" * 99, encoding="utf-8")
    elif damage == "other":
        (entry / "file").write_text("x" * 99 + "y", encoding="utf-8")
    elif damage == "gone":
        (entry / "file").unlink()
    elif damage == "no manifest":
        (entry / "manifest.json").unlink()
    elif damage == "no JSON":
        (entry / "manifest.json").write_text('{"file": [100', encoding="utf-8")
    else:
        cache._remove(entry)
        entry.write_text("", encoding="utf-8")

    assert cache.find(KEY) is None
    assert cache.keep(KEY, writer("new")) == cache.find(KEY) == entry
    assert (entry / "file").read_text(encoding="utf-8") == "new"
    assert names(place) == [KEY]


def test_two_that_make_the_same_entry_do_not_disturb_each_other(place):
    def write(folder):
        writer()(folder)
        assert cache.keep(KEY, writer()) == place / KEY  # another process is quicker
        with (place / KEY / "file").open(encoding="utf-8") as file:  # and reads what it has made
            opened.append(file)
            assert file.read(1) == "x"

    opened = []
    assert cache.keep(KEY, write) == cache.find(KEY) == place / KEY
    assert names(place) == [KEY]


def test_beyond_ten_gigabytes_what_was_not_used_for_longest_goes(place, monkeypatch):
    keys = [str(number) * 32 for number in range(4)]
    for days, key in enumerate(keys):
        last_used(cache.keep(key, writer()), days)
    cache.find(keys[3])  # used now
    monkeypatch.setattr(cache, "MOST_BYTES", 3.5 * sum(file.stat().st_size for file in (place / KEY).iterdir()))

    cache.keep("a" * 32, writer())

    assert names(place) == [keys[0], keys[3], "a" * 32]


def test_the_newest_entry_stays_however_large_and_what_is_not_ours_stays(place, monkeypatch):
    cache.keep(KEY, writer())
    (place / "letters").mkdir()
    (place / "letters" / "x").write_text("dear", encoding="utf-8")
    monkeypatch.setattr(cache, "MOST_BYTES", 1)

    cache.keep(OTHER, writer())

    assert names(place) == [OTHER, "letters"]


def test_what_a_killed_process_has_left_goes_after_a_day(place):
    cache.keep(KEY, writer())
    for name, days in ((f".{KEY}-old", 2), (f".{KEY}-new", 0.5)):
        (place / name).mkdir()
        os.utime(place / name, (time.time() - days * 86_400,) * 2)

    cache.keep(OTHER, writer())

    assert names(place) == [f".{KEY}-new", KEY, OTHER]


def test_where_the_cache_cannot_be_written_a_temporary_folder_serves_unless_it_is_somebody_elses(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("", encoding="utf-8")
    monkeypatch.setenv("SEQ2SEE_CACHE", str(tmp_path / "file" / "cache"))
    entry = cache.keep(KEY, writer())
    assert entry == cache.find(KEY) and entry.is_relative_to(tmp_path / "temporary")
    if hasattr(os, "getuid"):
        other = os.getuid() + 1
        monkeypatch.setattr("os.getuid", lambda: other)
        (tmp_path / "temporary" / f"seq2see-{other}").mkdir()
        assert cache.keep(KEY, writer()) is None
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))  # nothing can be written anywhere
    assert cache.keep(KEY, writer()) is cache.find(KEY) is None


@pytest.mark.parametrize(
    ("platform", "variable", "folder"),
    [
        ("linux", "XDG_CACHE_HOME", "chosen"),
        ("linux", None, ".cache"),
        ("darwin", None, "Library/Caches"),
        ("win32", "LOCALAPPDATA", "chosen"),
        ("win32", None, "AppData/Local"),
    ],
)
def test_the_users_cache_is_where_the_system_has_it(tmp_path, monkeypatch, platform, variable, folder):
    for name in ("SEQ2SEE_CACHE", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    if variable is not None:
        monkeypatch.setenv(variable, str(tmp_path / folder))
    monkeypatch.setattr(sys, "platform", platform)

    assert cache.keep(KEY, writer()) == tmp_path / folder / "seq2see" / KEY
