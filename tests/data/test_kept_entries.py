"""What is kept between runs: whole or not at all, where it belongs, and not for ever."""

import os
import time

import pytest

from seq2see.data import cache

KEY = "0" * 32


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("SEQ2SEE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def write(folder):
    (folder / "file").write_text("x" * 100, encoding="utf-8")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def last_used(folder, days):
    moment = time.time() - days * 86_400
    os.utime(folder, (moment, moment))


def test_a_full_disk_is_no_error_and_leaves_nothing(place):
    def fail(folder):
        write(folder)
        raise OSError(28, "No space left on device")

    assert cache.keep(KEY, fail) is cache.find(KEY) is None and names(place) == []


def test_two_that_make_the_same_entry_do_not_disturb_each_other(place):
    def write_late(folder):
        write(folder)
        assert cache.keep(KEY, write) == place / KEY  # another process is quicker
        (place / KEY / "file").write_text("first", encoding="utf-8")

    assert cache.keep(KEY, write_late) == place / KEY
    assert (place / KEY / "file").read_text(encoding="utf-8") == "first"
    assert names(place) == [KEY]


def test_beyond_ten_gigabytes_what_was_not_used_for_longest_goes_but_never_the_newest_or_what_is_not_ours(
    place, monkeypatch
):
    keys = [str(number) * 32 for number in range(4)]
    for days, key in enumerate(keys):
        last_used(cache.keep(key, write), days)
    cache.find(keys[3])  # used now
    (place / f"{KEY}.killed").mkdir()
    write(place / f"{KEY}.killed")  # what a killed process has left
    last_used(place / f"{KEY}.killed", 9)
    (place / "letters").mkdir()

    monkeypatch.setattr(cache, "MOST_BYTES", 350)
    cache.keep("a" * 32, write)
    assert names(place) == [keys[0], keys[3], "a" * 32, "letters"]
    monkeypatch.setattr(cache, "MOST_BYTES", 1)
    cache.keep("b" * 32, write)
    assert names(place) == ["b" * 32, "letters"]


@pytest.mark.parametrize(("variable", "folder"), [("XDG_CACHE_HOME", "chosen/seq2see"), ("HOME", ".cache/seq2see")])
def test_it_is_in_the_users_cache_unless_that_cannot_be_written(tmp_path, monkeypatch, variable, folder):
    for name in ("SEQ2SEE_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    for name in ("HOME", "USERPROFILE"):
        monkeypatch.setenv(name, str(tmp_path))
    if variable == "XDG_CACHE_HOME":
        monkeypatch.setenv(variable, str(tmp_path / "chosen"))

    assert cache.keep(KEY, write) == tmp_path / folder / KEY
    monkeypatch.setenv("SEQ2SEE_CACHE", str(tmp_path / folder / KEY / "file" / "cache"))
    assert cache.keep(KEY, write) is cache.find(KEY) is None
