"""What a run keeps of its pairs, so that they can be scored when the file is gone; and how other files are read."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2see.options import (
    DataOptions,
    FilesOptions,
    HubOptions,
    LettersOptions,
    Normalize,
    OnBadLine,
    OtherData,
    OtherText,
    Split,
    TokenizerOptions,
    TrainOptions,
)
from seq2see.runs.data import keep_split_off, pairs_of, read_pairs, with_whole_paths
from seq2see.tasks import Pair

text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(lambda text: text.strip())


class Given:
    """A task of these validation and test pairs."""

    def __init__(self, valid, test=()):
        self.notes, self.ood = [], ""
        self._pairs = {"valid": valid, "test": test}

    def pairs(self, split):
        return self._pairs[split]


def options_for(task):
    return TrainOptions(task=task, tokenizer=TokenizerOptions(normalize=Normalize.none))


def kept(run, options, pairs):
    """The names of the files that a run keeps of validation pairs, which come back from them."""
    keep_split_off(run / "data", Given(pairs), options.task)
    assert list(pairs_of(options, Split.valid, run=run)) == pairs
    return [path.name for path in (run / "data").iterdir()]


@settings(max_examples=25)
@given(st.lists(st.builds(Pair, text, text, st.none()), min_size=1, max_size=5))
def test_any_pairs_that_were_split_off_come_back_from_the_run(tmp_path_factory, pairs):
    assert len(kept(tmp_path_factory.mktemp("run"), options_for(FilesOptions(train="gone.tsv")), pairs)) == 1


@pytest.mark.parametrize(
    "pair",
    [("a", "b"), ("source", "target"), ("\ufeffa", "b"), ("a\tb", "c"), ("a", "b\tc"), ("a", "b\r"), ("a\nb", "c")],
)
def test_a_file_of_lines_is_kept_where_lines_can_hold_the_pairs(tmp_path, pair):
    plain = pair in (("a", "b"), ("source", "target"))
    names = kept(tmp_path, options_for(FilesOptions(train="gone.tsv")), [Pair(*pair)])
    assert names == ["valid.tsv" if plain else "valid.jsonl"]


def test_given_files_are_not_copied_and_what_came_from_a_hub_is(tmp_path):
    for kind, task, names in (
        ("files", FilesOptions(train="x.tsv", valid="valid.tsv"), ["test.tsv"]),
        ("hub", HubOptions(path="x", source=0, target=1), ["test.tsv", "valid.tsv"]),
    ):
        keep_split_off(tmp_path / kind, Given([Pair("a", "b")], [Pair("c", "d")]), task)
        assert sorted(path.name for path in (tmp_path / kind).iterdir()) == names


def test_tags_stand_in_a_column_of_their_own(tmp_path):
    rows = [("gehen", "V;PST", "ging"), ("Haus", "N", "Häuser")] * 8
    path = tmp_path / "x.jsonl"
    lines = [json.dumps({"word": word, "tags": tags, "form": form}) + "\n" for word, tags, form in rows]
    path.write_text("".join(lines), encoding="utf-8")
    options = options_for(FilesOptions(train=str(path), test=str(path), source="word", target="form", features="tags"))
    assert kept(tmp_path, options, list(pairs_of(options, Split.test, run=None))) == ["valid.tsv"]


def other_pairs(path, data, task, *, text=None, **columns):
    """The pairs of a test file with these bytes for a run with this task, and the notes."""
    path.write_bytes(data if isinstance(data, bytes) else data.encode("utf-8"))
    notes, run = [], options_for(task)
    run.data = DataOptions(delimiter=None)
    pairs = read_pairs(OtherData(str(path), **columns), text or OtherText(), run, notes)
    return [pair[:2] for pair in pairs], [note for note in notes if "split off" not in note]


COPY, PARALLEL = LettersOptions("copy"), FilesOptions(train=["a.en", "a.de"])
SWAPPED, NAMED = FilesOptions(train="x.tsv", source=1, target=0), FilesOptions(train="x.csv", source="sv", target="en")
HUB = HubOptions(path="x", source="sv", target="en")
TAGS = FilesOptions(train="x", source=1, target=2, features=0)


@pytest.mark.parametrize(
    ("name", "data", "tasks", "pairs"),
    [
        ("x.tsv", "a\tb\n", [SWAPPED], [("b", "a")]),
        ("x.tsv", "1\ta\tb\n", [FilesOptions(train="x", source=1, target=2)], [("a", "b")]),
        ("x.tsv", "a\tb\n", [COPY, PARALLEL, FilesOptions(train="x.tsv")], [("a", "b")]),
        ("x.tsv", "V;PST\tgo\twent\n", [TAGS], [("V;PST\tgo", "went")]),
        ("x.csv", "en,id,sv\na,1,b\n", [NAMED, HUB], [("b", "a")]),
        ("x.jsonl", '{"en": "a", "sv": "b"}\n', [NAMED, HUB], [("b", "a")]),
    ],
)
def test_other_files_are_read_as_the_runs_own(tmp_path, name, data, tasks, pairs):
    for task in tasks:
        assert other_pairs(tmp_path / name, data, task) == (pairs, [])


def test_a_header_that_is_read_as_one_is_told(tmp_path):
    for task in (COPY, PARALLEL, FilesOptions(train="x.tsv")):
        pairs, (note,) = other_pairs(tmp_path / "x.tsv", "target\tsource\nb\ta\n", task)
        assert pairs == [("a", "b")] and "read as the names of the columns" in note


def test_every_part_of_how_other_files_are_read_can_be_replaced(tmp_path):
    path = tmp_path / "x.tsv"
    for task in (COPY, PARALLEL, SWAPPED, NAMED, HUB):
        assert other_pairs(path, "a\tb\tc\n", task, source=2, target=1)[0] == [("c", "b")]
        keys = {"source": "x", "target": "y"}
        assert other_pairs(tmp_path / "x.jsonl", '{"x": "a", "y": "b"}', task, **keys)[0] == [("a", "b")]
    text = OtherText(OnBadLine.skip, delimiter=";", encoding="cp1252")
    pairs, notes = other_pairs(path, "\u00f6;b\n\na\n".encode("cp1252"), COPY, text=text)
    skipped = "1 bad line skipped, the first is line 3: 1 field where 2 were expected"
    assert pairs == [("\u00f6", "b")] and notes == [f"{path}: 1 blank line skipped", f"{path}: {skipped}"]
    tags = FilesOptions(train="x", source=0, target=1, features=2)
    keys = {"source": 1, "target": 2, "features": 0, "features_separator": "|"}
    assert other_pairs(path, "V|PST\tgo\twent\n", tags, **keys)[0] == [("V|PST\tgo", "went")]


@pytest.mark.parametrize(
    ("name", "data", "task", "keys", "message"),
    [
        ("x.tsv", "a\tb\n", HUB, {}, r"no column 'sv' \(task.source\).* as in task.source=0 task.target=1, if this"),
        ("x.jsonl", '{"source": "a", "target": "b"}', SWAPPED, {}, r"no key '1'.* choose with task.source"),
        ("x.tsv", "a\tb\n", COPY, {"features": 2}, "the model was trained without tags"),
    ],
)
def test_a_file_without_the_runs_columns_is_refused_with_the_keys_to_set(tmp_path, name, data, task, keys, message):
    with pytest.raises(ValueError, match=message):
        other_pairs(tmp_path / name, data, task, **keys)


def test_parallel_files_are_read_whatever_columns_the_run_has_unless_these_are_of_tags(tmp_path):
    sides = {"source": str(tmp_path / "x.en"), "target": str(tmp_path / "x.de")}
    for side, text in zip(sides.values(), ("a", "b"), strict=True):
        (tmp_path / side).write_text(text)
    for task in (COPY, PARALLEL, SWAPPED, NAMED, HUB):
        for files in (sides, list(sides.values())):
            assert list(read_pairs(OtherData(files), OtherText(), options_for(task), [])) == [Pair("a", "b")]
    with pytest.raises(ValueError, match=r"reads tags \(task.features=0\), and parallel files have no columns"):
        read_pairs(OtherData(sides), OtherText(), options_for(TAGS), [])


def test_the_paths_of_a_run_are_whole_so_that_it_goes_on_from_another_folder(tmp_path, monkeypatch):
    here = tmp_path / "a [b]"
    (here / "hub").mkdir(parents=True)
    (here / "part-1.tsv").write_text("a\tb\n")
    monkeypatch.chdir(here)
    monkeypatch.setenv("HOME", str(tmp_path))
    files = FilesOptions(train="part-*.tsv", valid=["~/x.src", "x.tgt"], test={"source": "../a", "target": "/b"})
    whole = with_whole_paths(files)
    hubs = [with_whole_paths(HubOptions(path=path, source=0, target=1)).path for path in ("hub", "org/name")]
    monkeypatch.chdir(tmp_path)
    assert list(pairs_of(options_for(FilesOptions(train=whole.train)), Split.train, run=None)) == [Pair("a", "b")]
    assert whole.valid == [f"{tmp_path}/x.src", f"{here}/x.tgt"]
    assert whole.test == {"source": f"{here}/../a", "target": "/b"}
    assert with_whole_paths(whole) == whole and hubs == [str(here / "hub"), "org/name"]
