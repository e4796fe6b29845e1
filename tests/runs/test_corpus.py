"""Pairs are read and tokenised once; the next start finds them, as long as nothing that matters has changed."""

import os
import threading
from dataclasses import replace

import pytest
import torch

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
from seq2see.runs.prepare import prepare
from seq2see.tasks import Pair
from seq2see.text import DataError

SPLITS = ["train", "valid", "test"]


@pytest.fixture(autouse=True)
def place(tmp_path, monkeypatch):
    monkeypatch.setenv("SEQ2SEE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    return tmp_path / "cache"


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "pairs.tsv"
    path.write_text("".join(f"source {number}\ttarget {number}\n" for number in range(100)), encoding="utf-8")
    return path


def options_for(path, **task):
    return TrainOptions(task=FilesOptions(train=str(path), **task), data=DataOptions(on_bad_line=OnBadLine.skip))


def entries(place):
    return sorted(path.name for path in place.iterdir()) if place.exists() else []


def content(found):
    """All that a corpus is."""
    arrays = found.train.batch(range(len(found.train)))
    others = [list(found.task.pairs(split)) for split in ("valid", "test", "ood")]
    tokenizers = (found.source_tokenizer.state(), found.target_tokenizer.state())
    return (
        [part.tolist() for part in arrays],
        others,
        tokenizers,
        found.task.notes,
        found.facts,
        found.train.num_dropped,
        found.digests,
    )


def no_reading(monkeypatch):
    def fail(*arguments, **options):
        raise AssertionError("read again")

    monkeypatch.setattr("seq2see.tasks.files.read_pairs", fail)
    monkeypatch.setattr("seq2see.tasks.hub.pairs_of_objects", fail)
    monkeypatch.setattr(corpus, "fit_tokenizers", fail)


def test_a_second_start_reads_no_text_and_has_all_that_the_first_had(file, monkeypatch):
    file.write_text(file.read_text(encoding="utf-8") + "one\n", encoding="utf-8")
    first = content(corpus_of(options_for(file)))
    no_reading(monkeypatch)

    assert content(corpus_of(options_for(file))) == first
    assert first[3][0] == f"{file}: 1 bad line skipped, the first is line 101: 1 field where 2 were expected"


def test_training_pairs_are_read_again_when_somebody_asks_for_them(file):
    corpus_of(options_for(file))

    task = corpus_of(options_for(file)).task

    assert len(task.pairs("train")) == 92
    assert task.pairs("train")[0] == Pair("source 0", "target 0")


def test_the_pairs_of_an_edited_file_are_new_also_with_the_same_size_and_time_stamp(file):
    corpus_of(options_for(file))
    status = file.stat()
    file.write_text(file.read_text(encoding="utf-8").replace("target 7\n", "TARGET 7\n"), encoding="utf-8")
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))

    found = corpus_of(options_for(file))

    assert file.stat().st_size == status.st_size
    assert "T" in found.target_tokenizer.decode(found.target_tokenizer.encode("T"))
    assert any(Pair("source 7", "TARGET 7") in found.task.pairs(split) for split in SPLITS)


def test_a_file_that_is_only_touched_or_other_keys_than_those_of_the_text_change_nothing(file, place, monkeypatch):
    corpus_of(options_for(file))
    os.utime(file, (1, 1))
    no_reading(monkeypatch)

    corpus_of(replace(options_for(file), seed=5, optim=OptimOptions(lr=1e-3)))
    assert len(entries(place)) == 1


def test_every_key_that_the_ids_depend_on_makes_another_corpus(file, place, tmp_path):
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

    assert len(entries(place)) == len(variants)


def test_tokenizers_that_are_given_are_kept_and_grow_and_make_another_corpus(file, place, tmp_path):
    (tmp_path / "others.tsv").write_text("tree\teert\n" * 30 + "sore\teros\n" * 30, encoding="utf-8")
    given = corpus_of(options_for(tmp_path / "others.tsv"))
    tokenizers = given.source_tokenizer, given.target_tokenizer

    found, again = (corpus_of(options_for(file), tokenizers) for _ in range(2))

    assert found.source_tokenizer.encode("tree") == given.source_tokenizer.encode("tree")
    assert found.source_tokenizer.decode(found.source_tokenizer.encode("source 7")) == "source 7"
    assert content(again) == content(found) != content(corpus_of(options_for(file)))
    assert len(entries(place)) == 3


def test_another_version_of_the_code_makes_its_own(file, place, monkeypatch):
    corpus_of(options_for(file))
    monkeypatch.setattr(corpus, "_code", lambda: "other")

    corpus_of(options_for(file))

    assert len(entries(place)) == 2


def test_choices_that_have_come_to_differ_are_made_anew(file, monkeypatch):
    first = corpus_of(options_for(file))
    choose = corpus.choose

    def choose_words(options, facts):
        filled, notes = choose(options, facts)
        words = replace(filled.tokenizer, source=TokenizerKind.word, target=TokenizerKind.word, vocab_size=None)
        return replace(filled, tokenizer=words), notes

    monkeypatch.setattr(corpus, "choose", choose_words)
    found = [corpus_of(options_for(file)) for _ in range(2)]

    assert first.source_tokenizer.kind is not TokenizerKind.word
    assert all(each.source_tokenizer.kind is TokenizerKind.word for each in found)


@pytest.mark.parametrize("name", ["train.arrow", "valid.arrow", "about.json", "manifest.json"])
@pytest.mark.parametrize("damage", ["truncated", "overwritten", "removed", "signed again"])
def test_a_damaged_entry_is_made_anew(file, place, name, damage):
    first = content(corpus_of(options_for(file)))
    (key,) = entries(place)
    broken = place / key / name
    data = broken.read_bytes()
    if damage == "removed":
        broken.unlink()
    else:
        broken.write_bytes(data[: len(data) // 2] if damage == "truncated" else bytes(len(data)))
    if damage == "signed again" and name != "manifest.json":
        (place / key / "manifest.json").unlink()
        cache._sign(place / key)

    assert content(corpus_of(options_for(file))) == first
    assert cache.find(key) is not None
    assert content(corpus_of(options_for(file))) == first


def test_without_a_place_to_keep_things_all_is_in_memory(file, tmp_path, monkeypatch):
    first = content(corpus_of(options_for(file)))
    monkeypatch.setenv("SEQ2SEE_CACHE", str(file / "cache"))
    monkeypatch.setattr("seq2see.data.cache.tempfile.gettempdir", lambda: str(file))

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


def test_a_missing_file_is_named_as_ever(tmp_path):
    with pytest.raises(DataError, match=r"gone.tsv: no such file"):
        corpus_of(options_for(tmp_path / "gone.tsv"))


def test_generated_pairs_are_kept_if_they_have_cost_much(place, monkeypatch):
    options = TrainOptions(task=LettersOptions("reverse", train_size=50, valid_size=5, test_size=5))
    first = content(corpus_of(options))
    assert entries(place) == []

    monkeypatch.setattr(corpus, "WORTH_KEEPING", 0)
    corpus_of(options)
    assert len(entries(place)) == 1
    no_reading(monkeypatch)
    found = corpus_of(options)
    assert content(found) == first
    assert found.task.pairs("valid")[0].links and found.task.ood == "24 to 48 letters"
    assert found.source_tokenizer is found.target_tokenizer


def test_pairs_of_a_hub_are_kept_like_those_of_files(file, tmp_path, place, monkeypatch):
    (tmp_path / "hub").mkdir()
    rows = "".join(f'{{"source": "source {number}", "target": "target {number}"}}\n' for number in range(100))
    (tmp_path / "hub" / "train.jsonl").write_text(rows, encoding="utf-8")
    options = TrainOptions(task=HubOptions(path=str(tmp_path / "hub"), source="source", target="target"))
    first = content(corpus_of(options))
    no_reading(monkeypatch)

    assert content(corpus_of(options)) == first
    assert first[:3] == content(corpus_of_files(file, monkeypatch))[:3]


def corpus_of_files(file, monkeypatch):
    monkeypatch.undo()
    return corpus_of(options_for(file))


def test_runs_are_the_same_from_memory_and_from_the_cache(file, monkeypatch):
    first, second = (prepare(options_for(file)) for _ in range(2))

    assert first.options == second.options and first.notes == second.notes
    weights = [prepared.trained.model.state_dict() for prepared in (first, second)]
    assert all(torch.equal(weights[0][name], weights[1][name]) for name in weights[0])
    assert first.valid_pairs == second.valid_pairs and len(second.valid) == 4
    assert second.task.pairs("ood") == []
