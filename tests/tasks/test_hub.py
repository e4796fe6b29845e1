"""Data sets of the hub, on folders that are laid out as there: nothing here needs a network."""

import datetime
import json
import os
import subprocess
import sys

import pyarrow as pa
import pytest
from datasets import Dataset, DatasetDict
from pyarrow import parquet

from seq2see.options import DataOptions, FilesOptions, HubOptions, OnBadLine
from seq2see.tasks import Pair, make_task
from seq2see.text import DataError

CHOSEN = "(chosen by usual names, or by task.train_split, task.valid_split, task.test_split)"
ROWS = [{"source": f"source {number}", "target": f"target {number}"} for number in range(100)]
PAIRS = [Pair(row["source"], row["target"]) for row in ROWS]
PARTS = {"train": ROWS[:60], "eval": ROWS[60:80], "devtest": ROWS[80:]}
SPLITS = ["train", "valid", "test"]


def write_jsonl(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


def laid_out(folder, **splits):
    """A folder with these splits as parquet files, named as the hub names them."""
    for split, rows in splits.items():
        path = folder / "data" / f"{split}-00000-of-00001.parquet"
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("wb") as file:
            parquet.write_table(rows if isinstance(rows, pa.Table) else pa.Table.from_pylist(rows), file)
    (folder / "README.md").write_text("---\nlicense: cc0-1.0\n---\n# Some pairs\n", encoding="utf-8")
    return folder


def saved(folder, splits):
    """A folder that `datasets` has saved these splits into."""
    DatasetDict({split: Dataset.from_list(rows) for split, rows in splits.items()}).save_to_disk(folder)
    return folder


def task_of(folder, *, skip=False, source="source", target="target", **options):
    chosen = HubOptions(path=str(folder), source=source, target=target, **options)
    return make_task(chosen, DataOptions(on_bad_line=OnBadLine.skip if skip else OnBadLine.error))


def complaint(folder, **options):
    with pytest.raises(DataError) as error:
        task_of(folder, **options).pairs("train")
    return str(error.value).replace(str(folder), "FOLDER")


def all_of(task):
    return [list(task.pairs(split)) for split in SPLITS]


@pytest.mark.parametrize(
    ("layout", "valid", "test", "keys"),
    [
        ("files", "validation", "test", {}),
        ("files", "dev", "test", {}),
        ("saved", "eval", "devtest", {"valid_split": "eval", "test_split": "devtest"}),
        ("saved side by side", "eval", "devtest", {"valid_split": "eval", "test_split": "devtest"}),
    ],
)
def test_its_splits_are_used_by_their_usual_names_or_as_keys_choose_among_them(tmp_path, layout, valid, test, keys):
    parts = {"train": ROWS[:60], valid: ROWS[60:80], test: ROWS[80:]}
    laid_out(tmp_path, **parts) if layout == "files" else saved(tmp_path, parts)
    if layout == "saved side by side":
        (tmp_path / "dataset_dict.json").unlink()

    task = task_of(tmp_path, **keys)

    assert all_of(task) == [PAIRS[:60], PAIRS[60:80], PAIRS[80:]]
    assert task.pairs("ood") == [] and task.ood == ""
    used = f"train (60 rows) to train on, {valid} (20 rows) to validate on, {test} (20 rows) to test on"
    assert task.notes == [f"{tmp_path}: {used} {CHOSEN}"]


def test_missing_splits_are_split_off_by_the_rule_of_files(tmp_path):
    hub = task_of(laid_out(tmp_path, train=ROWS))
    [file] = (tmp_path / "data").iterdir()

    assert all_of(hub) == all_of(make_task(FilesOptions(train=str(file))))
    assert hub.notes == [
        f"{tmp_path}: train (100 rows) to train on {CHOSEN}",
        *(f"{split} split off {tmp_path}, split train: 4 of 100 pairs" for split in ("validation", "test")),
    ]
    given = task_of(laid_out(tmp_path, test=ROWS[:3]), train_size=50)
    assert [len(pairs) for pairs in all_of(given)] == [50, 4, 3]
    assert f"{tmp_path}, split test: " in given.notes[-1] and "also in training (kept)" in given.notes[-1]


def test_a_single_saved_data_set_is_the_training_split_whatever_format_it_was_saved_in(tmp_path):
    Dataset.from_list(ROWS).with_format("numpy", columns=["source"]).save_to_disk(tmp_path)

    train, valid, test = all_of(task_of(tmp_path))

    assert (len(train), len(valid), len(test)) == (92, 4, 4) and set(train) < set(PAIRS)
    assert "(ValueError: a saved data set has no configurations), check" in complaint(tmp_path, name="one")


@pytest.mark.parametrize(
    ("splits", "keys", "said"),
    [
        (
            ["train", "eval", "devtest"], {},
            "no split to validate on and to test on by a usual name, there are: train, eval, devtest; choose with "
            "task.valid_split and task.test_split, or set task.train_split=train to split off what is missing",
        ),
        (["train", "dev", "test", "validation"], {}, "dev and validation may both be meant to validate on, set task."),
        (["a", "test"], {}, "no split 'train', there are: a, test; choose with task.train_split, or another task.path"),
        (["train", "test"], {"test_split": "devset"}, "no split 'devset' (task.test_split), there are: train, test"),
    ],
)  # fmt: skip
def test_no_split_is_guessed_at_or_vanishes_in_silence(tmp_path, splits, keys, said):
    assert complaint(saved(tmp_path, dict.fromkeys(splits, ROWS[:20])), **keys).startswith(f"FOLDER: {said}")


@pytest.mark.parametrize(
    ("splits", "keys", "note"),
    [
        (["train", "validation", "test", "devtest"], {}, "test (9 rows) to test on; not used: devtest"),
        (["train", "hard"], {"train_split": "train"}, "train (9 rows) to train on; not used: hard"),
        (["train", "test"], {"valid_split": "test"}, "train (9 rows) to train on, test (9 rows) to validate on"),
    ],
)
def test_splits_without_a_use_are_named(tmp_path, splits, keys, note):
    task = task_of(saved(tmp_path, dict.fromkeys(splits, ROWS[:9])), **keys)

    assert len(task.pairs("train")) == 9
    assert task.notes[0].endswith(f"{note} {CHOSEN}")


def test_another_data_set_is_scored_by_all_of_its_test_split_or_of_its_only_one(tmp_path):
    saved(tmp_path / "many", PARTS)
    Dataset.from_list(ROWS).save_to_disk(tmp_path / "one")

    assert task_of(tmp_path / "many", test_split="devtest").scored() == PAIRS[80:]
    assert task_of(tmp_path / "one", test_split="devtest").scored() == PAIRS
    with pytest.raises(DataError, match="no split 'test' to score, there are: train, eval, devtest; name a folder"):
        task_of(tmp_path / "many").scored()


def test_a_split_is_chosen_for_one_use_alone():
    with pytest.raises(ValueError, match=r"task.valid_split \(x\) and task.test_split \(x\) must differ"):
        HubOptions(path="x", source=0, target=1, valid_split="x", test_split="x")


def test_what_datasets_does_in_silence_is_said(tmp_path):
    for split, rows in PARTS.items():
        write_jsonl(tmp_path / f"{split}.jsonl", rows)
    task = task_of(tmp_path)
    assert list(task.pairs("test")) == PAIRS[60:80]
    assert task.notes[:2] == ["eval.jsonl: read as the split test", "devtest.jsonl: not read, its name says no split"]

    (tmp_path / "table").mkdir()
    (tmp_path / "table" / "train.csv").write_text("source,target\na,b\n", encoding="utf-8")
    task = task_of(tmp_path / "table")
    assert list(task.pairs("train")) == [Pair("a", "b")]
    assert "task=files reads them exactly" in task.notes[1]


@pytest.mark.parametrize("form", ["parquet", "jsonl"])
def test_columns_are_chosen_by_name_number_or_language_and_features_stand_before_the_source(tmp_path, form):
    rows = [{"translation": {"en": f"the {n}", "de": f"das {n}"}, "tags": "V;PST", "id": n} for n in range(9)]
    if form == "jsonl":
        write_jsonl(tmp_path / "train.jsonl", rows)
    else:
        laid_out(tmp_path, train=rows)

    pairs = [Pair(f"the {n}", f"das {n}") for n in range(9)]
    for source, target in (("en", "de"), (0, "1")):
        assert list(task_of(tmp_path, source=source, target=target).pairs("train")) == pairs
    tagged = task_of(tmp_path, source="en", target="de", features="tags")
    assert tagged.pairs("train")[0] == Pair("V;PST\tthe 0", "das 0")
    for column in ("fr", 5):
        said = complaint(tmp_path, source="en", target=column)
        assert (
            f"FOLDER, split train: no column '{column}' (task.target), " in said and "there are: en, de, tags" in said
        )


def test_any_text_comes_as_it_is(tmp_path):
    texts = ["NA", "null", "007", "1e5", "a\tb", 'say "hi"', "\ufefftext", "🙂", "a\nb", "<pad>", " a "]
    rows = [{"source": text, "target": text} for text in texts]
    write_jsonl(tmp_path / "lines" / "train.jsonl", rows)
    laid_out(tmp_path / "table", train=rows)

    for folder in ("lines", "table"):
        assert [pair.source for pair in task_of(tmp_path / folder).pairs("train")] == texts


@pytest.mark.parametrize("name", ["数据", "it's mine", "a=b,c", "{a}", "[1] a*b?", "a::b", "~x", "a.b"])
def test_any_folder_name_is_read(tmp_path, monkeypatch, name):
    monkeypatch.chdir(tmp_path)
    for decoy in ("1 aab", "axb"):  # what `datasets` would find in place of a pattern
        laid_out(tmp_path / decoy, train=ROWS[50:])
    laid_out(tmp_path / name, train=ROWS[:9])

    assert list(task_of(name).pairs("train")) == PAIRS[:9]


@pytest.mark.parametrize(
    ("value", "fault"),
    [
        (None, "'target' is null, not text"),
        (["a"], "'target' is ['a'], not text"),
        (datetime.datetime(2020, 1, 1), "'target' is datetime.datetime(2020, 1, 1, 0, 0), not text"),
    ],
)
def test_a_row_without_two_texts_is_named_with_its_split_or_skipped_and_counted(tmp_path, value, fault):
    column = ["a", value] if value is None else [value, value]
    laid_out(tmp_path, train=pa.table({"source": ["b", "c"], "target": pa.array(column)}))
    number = column.index(value) + 1

    said = complaint(tmp_path)
    assert said.startswith(f"FOLDER, split train, row {number}: {fault}, ")
    assert said.endswith(", or set data.on_bad_line=skip")
    if number == 1:
        assert complaint(tmp_path, skip=True).startswith("FOLDER, split train: no pairs (2 bad rows skipped, the first")
        return
    task = task_of(tmp_path, skip=True)
    assert list(task.pairs("train")) == [Pair("b", "a")]
    assert f"{tmp_path}, split train: 1 bad row skipped, the first is row 2: {fault}" in task.notes


def test_a_configuration_is_chosen_by_name(tmp_path):
    for name, rows in (("one", ROWS[:5]), ("two", ROWS[5:9])):
        laid_out(tmp_path / name, train=rows)
    entry = "- config_name: {0}\n  data_files:\n  - split: train\n    path: {0}/data/train-*\n"
    readme = f"---\nconfigs:\n{entry.format('one')}{entry.format('two')}---\n"
    (tmp_path / "README.md").write_text(readme, encoding="utf-8")

    assert list(task_of(tmp_path, name="two").pairs("train")) == PAIRS[5:9]
    for name in ("three", None):
        said = complaint(tmp_path, name=name)
        assert "['one', 'two']" in said and "check task.path and task.name" in said


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("./nosuch", "./nosuch: no such folder, nearest in {}: nosuck"),
        ("nosuch", "nosuch: no folder of this name here, and the hub cannot be reached (Couldn't reach 'nosuch'"),
        ("file.jsonl", "file.jsonl: a file, not a folder, read it with task=files task.train=file.jsonl"),
        ("nosuck", "nosuck: `datasets` cannot load it (EmptyDatasetError: "),
        ("broken", "broken: `datasets` cannot load it (DatasetGenerationError: "),
    ],
)
def test_what_cannot_be_had_is_named_with_the_remedy(tmp_path, monkeypatch, name, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "nosuck").mkdir()
    (tmp_path / "file.jsonl").write_text("{}", encoding="utf-8")
    (tmp_path / "broken").mkdir()
    (tmp_path / "broken" / "train.jsonl").write_text('{"source": "a"}\n{"source": ', encoding="utf-8")

    with pytest.raises(DataError) as error:
        task_of(name).pairs("train")

    assert str(error.value).startswith(said.format(tmp_path)) and "\n" not in str(error.value)


def test_an_edited_folder_is_read_anew_also_with_the_same_size_and_time_stamps(tmp_path):
    file = laid_out(tmp_path, train=ROWS[:3]) / "data" / "train-00000-of-00001.parquet"
    content, status = file.read_bytes(), file.stat()
    assert list(task_of(tmp_path).pairs("train")) == PAIRS[:3]

    file.write_bytes(content.replace(b"target 2", b"TARGET 2"))
    os.utime(file, ns=(status.st_atime_ns, status.st_mtime_ns))

    assert file.stat().st_size == status.st_size
    assert task_of(tmp_path).pairs("train")[2] == Pair("source 2", "TARGET 2")


def test_the_fingerprint_is_that_of_all_files_with_their_names_and_needs_no_loading(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)  # cannot be imported now
    laid_out(tmp_path, train=ROWS[:3])
    seen = [task_of(tmp_path).fingerprint() for _ in range(2)]
    for change in (
        lambda: (tmp_path / "README.md").write_text("x", encoding="utf-8"),
        lambda: (tmp_path / "data").rename(tmp_path / "date"),
        lambda: write_jsonl(tmp_path / "deep" / "er" / "test.jsonl", ROWS),
    ):
        change()
        seen.append(task_of(tmp_path).fingerprint())

    assert len(set(seen)) == len(seen) - 1 and seen[0] == seen[1]


@pytest.mark.slow
def test_a_folder_is_read_without_writing_into_the_home_folder_or_a_word(tmp_path):
    laid_out(tmp_path / "folder", train=ROWS)
    code = (
        "from seq2see.tasks import make_task; from seq2see.options import HubOptions\n"
        f"task = make_task(HubOptions(path={str(tmp_path / 'folder')!r}, source=0, target=1))\n"
        "print(len(task.pairs('train')))"
    )
    home = {"HOME": str(tmp_path / "home"), "USERPROFILE": str(tmp_path / "home"), "HF_HOME": str(tmp_path / "hf")}

    done = subprocess.run([sys.executable, "-c", code], env={**os.environ, **home}, capture_output=True, text=True)

    assert (done.stdout, done.stderr) == ("92\n", "")
    assert not (tmp_path / "home").exists() and not (tmp_path / "hf").exists()
