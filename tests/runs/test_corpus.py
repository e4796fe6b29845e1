"""Pairs are read and tokenised once; the next start finds them, as long as nothing that matters has changed."""

import os
import threading
from dataclasses import replace

import pytest

from seq2see.data import cache
from seq2see.options import (
    DataOptions,
    FilesOptions,
    HubOptions,
    LettersOptions,
    OnBadLine,
    OptimOptions,
    TokenizerKind,
    TokenizerOptions,
    TrainOptions,
)
from seq2see.runs import corpus
from seq2see.runs.corpus import corpus_of
from seq2see.tasks import Pair
from seq2see.text import DataError

SPLITS = ["train", "valid", "test"]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("SEQ2SEE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"source {number}\ttarget {number}\n" for number in range(100)), encoding="utf-8")
    return path


@pytest.fixture
def no_reading(monkeypatch):
    """Call it, and nothing can be read or learned any more."""

    def fail(*arguments, **options):
        raise AssertionError("read again")

    def forbid():
        for name in ("seq2see.tasks.files.Files.pairs", "seq2see.tasks.hub.Hub.pairs"):
            monkeypatch.setattr(name, fail)
        monkeypatch.setattr(corpus, "fit_tokenizers", fail)

    return forbid


def options_for(path, **task):
    return TrainOptions(task=FilesOptions(train=str(path), **task), data=DataOptions(on_bad_line=OnBadLine.skip))


def entries(place):
    return sorted(path.name for path in place.iterdir()) if place.exists() else []


def content(found):
    """All that an encoded data set is."""
    arrays = [part.tolist() for part in found.train.batch(range(len(found.train)))]
    others = [list(found.task.pairs(split)) for split in ("valid", "test", "ood")]
    tokenizers = found.source_tokenizer.state(), found.target_tokenizer.state()
    return arrays, others, tokenizers, found.task.notes, found.facts, found.train.num_dropped, found.digests


def test_a_second_start_reads_no_text_and_has_all_that_the_first_had(file, place, no_reading):
    file.write_text(file.read_text(encoding="utf-8") + "one\n", encoding="utf-8")
    first = content(corpus_of(options_for(file)))
    assert first[3][0] == f"{file}: 1 bad line skipped, the first is line 101: 1 field where 2 were expected"
    assert corpus_of(options_for(file)).task.pairs("train")[0] == Pair("source 0", "target 0"), "read when asked for"
    no_reading()

    os.utime(file, (1, 1))  # touched
    assert content(corpus_of(replace(options_for(file), seed=5, optim=OptimOptions(lr=1e-3)))) == first
    assert len(entries(place)) == 1


def test_the_pairs_of_an_edited_file_are_new_also_with_the_same_size_and_time_stamp(file):
    corpus_of(options_for(file))
    status = file.stat()
    file.write_text(file.read_text(encoding="utf-8").replace("target 7\n", "TARGET 7\n"), encoding="utf-8")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))

    found = corpus_of(options_for(file))

    assert file.stat().st_size == status.st_size
    assert "T" in found.target_tokenizer.decode(found.target_tokenizer.encode("T"))
    assert any(Pair("source 7", "TARGET 7") in found.task.pairs(split) for split in SPLITS)


def test_every_key_that_the_ids_depend_on_and_other_code_make_another_data_set(file, place, tmp_path, monkeypatch):
    usual = options_for(file, source=0, target=1)
    (tmp_path / "valid.tsv").write_text("a\tb\n", encoding="utf-8")
    variants = [
        usual,
        replace(usual, tokenizer=TokenizerOptions(source=TokenizerKind.char)),
        replace(usual, tokenizer=TokenizerOptions(shared=True)),
        replace(usual, data=replace(usual.data, max_length=20)),
        replace(usual, data=replace(usual.data, on_bad_line=OnBadLine.error)),
        options_for(file, source=1, target=0),
        options_for(file, source=0, target=1, train_size=50),
        options_for(file, source=0, target=1, valid=str(tmp_path / "valid.tsv")),
    ]
    for variant in variants:
        corpus_of(variant)
    monkeypatch.setattr(corpus, "_code", lambda: "other")
    corpus_of(usual)

    assert len(entries(place)) == len(variants) + 1


def test_tokenizers_that_are_given_are_kept_and_grow_and_make_another_data_set(file, place, tmp_path):
    (tmp_path / "others.tsv").write_text("tree\teert\n" * 30 + "sore\teros\n" * 30, encoding="utf-8")
    given = corpus_of(options_for(tmp_path / "others.tsv"))
    tokenizers = given.source_tokenizer, given.target_tokenizer

    found, again = (corpus_of(options_for(file), tokenizers) for _ in range(2))

    assert found.source_tokenizer.encode("tree") == given.source_tokenizer.encode("tree")
    assert found.source_tokenizer.decode(found.source_tokenizer.encode("source 7")) == "source 7"
    assert content(again) == content(found) != content(corpus_of(options_for(file)))
    assert len(entries(place)) == 3


def test_a_damaged_entry_is_made_anew(file, place):
    first = content(corpus_of(options_for(file)))
    (key,) = entries(place)
    for name in ("0.npy", "5.npy", "about.json"):
        broken = place / key / name
        for damage in (lambda data: data[: len(data) // 2], lambda data: bytes(len(data)), None):
            data = broken.read_bytes()
            broken.unlink()
            if damage is not None:
                broken.write_bytes(damage(data))
            assert content(corpus_of(options_for(file))) == first
            assert broken.stat().st_size > 0 and cache.find(key) is not None


def test_without_a_place_to_keep_things_all_is_in_memory(file, monkeypatch):
    first = content(corpus_of(options_for(file)))
    monkeypatch.setenv("SEQ2SEE_CACHE", str(file / "cache"))

    assert content(corpus_of(options_for(file))) == first


def test_a_file_that_changes_while_it_is_read_is_refused_and_not_kept(file, place, monkeypatch):
    fit = corpus.fit_tokenizers

    def fit_while_writing(*arguments):
        with file.open("a", encoding="utf-8") as more:
            more.write("one more\tof them\n")
        return fit(*arguments)

    monkeypatch.setattr(corpus, "fit_tokenizers", fit_while_writing)

    with pytest.raises(DataError, match=r"pairs.tsv: changed while it was read, start again when it is complete"):
        corpus_of(options_for(file))
    assert entries(place) == []


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes here")
def test_a_pipe_is_read_once_and_nothing_of_it_is_kept(file, place, tmp_path):
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(file.read_bytes(),))
    writer.start()

    found = corpus_of(options_for(tmp_path / "pipe"))

    writer.join()
    assert len(found.train) == 92
    assert entries(place) == []


def test_generated_pairs_are_kept_if_they_have_cost_much(place, monkeypatch, no_reading):
    options = TrainOptions(task=LettersOptions("reverse", train_size=50, valid_size=5, test_size=5))
    first = content(corpus_of(options))
    assert entries(place) == []

    monkeypatch.setattr(corpus, "WORTH_KEEPING", 0)
    corpus_of(options)
    assert len(entries(place)) == 1
    no_reading()
    found = corpus_of(options)
    assert content(found) == first
    assert found.task.pairs("valid")[0].links and found.task.ood == "24 to 48 letters"
    assert found.source_tokenizer is found.target_tokenizer


def test_pairs_of_a_hub_are_kept_like_those_of_files(file, tmp_path, no_reading):
    (tmp_path / "hub").mkdir()
    rows = "".join(f'{{"source": "source {number}", "target": "target {number}"}}\n' for number in range(100))
    (tmp_path / "hub" / "train.jsonl").write_text(rows, encoding="utf-8")
    options = TrainOptions(task=HubOptions(path=str(tmp_path / "hub"), source="source", target="target"))
    first, of_files = content(corpus_of(options)), content(corpus_of(options_for(file)))
    no_reading()

    assert content(corpus_of(options)) == first
    assert first[:3] == of_files[:3]
