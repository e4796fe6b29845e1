"""What a run keeps of its pairs, so that they can be scored when the file is gone."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2see.options import FilesOptions, HubOptions, Normalize, Split, TokenizerOptions, TrainOptions
from seq2see.runs.data import keep_split_off, pairs_of
from seq2see.tasks import Pair

text = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=8).filter(lambda text: text.strip())
AS_IT_IS = TokenizerOptions(normalize=Normalize.none)


class Given:
    """A task of these validation and test pairs."""

    def __init__(self, valid, test=()):
        self.notes, self.ood = [], ""
        self._pairs = {"valid": valid, "test": test}

    def pairs(self, split):
        return self._pairs[split]


def options_for(task):
    return TrainOptions(task=task, tokenizer=AS_IT_IS)


@settings(max_examples=25)
@given(st.lists(st.builds(Pair, text, text, st.none()), min_size=1, max_size=5))
def test_any_pairs_that_were_split_off_come_back_from_the_run(tmp_path_factory, pairs):
    run = tmp_path_factory.mktemp("run")
    options = options_for(FilesOptions(train="gone.tsv"))

    keep_split_off(run / "data", Given(pairs), options)

    assert list(pairs_of(options, Split.valid, run=run)) == pairs
    assert len(list((run / "data").iterdir())) == 1


@pytest.mark.parametrize(
    "pair",
    [("a", "b"), ("source", "target"), ("\ufeffa", "b"), ("a\tb", "c"), ("a", "b\tc"), ("a", "b\r"), ("a\nb", "c")],
)
def test_a_file_of_lines_is_kept_where_lines_can_hold_the_pairs(tmp_path, pair):
    options = options_for(FilesOptions(train="gone.tsv"))

    keep_split_off(tmp_path / "data", Given([Pair(*pair)]), options)

    plain = pair in (("a", "b"), ("source", "target"))
    assert [path.name for path in (tmp_path / "data").iterdir()] == ["valid.tsv" if plain else "valid.jsonl"]
    assert list(pairs_of(options, Split.valid, run=tmp_path)) == [Pair(*pair)]


def test_given_files_are_not_copied_and_what_came_from_a_hub_is(tmp_path):
    task = Given([Pair("a", "b")], [Pair("c", "d")])

    keep_split_off(tmp_path / "files", task, options_for(FilesOptions(train="x.tsv", valid="valid.tsv")))
    keep_split_off(tmp_path / "hub", task, options_for(HubOptions(path="x", source=0, target=1)))

    names = [sorted(path.name for path in (tmp_path / kind).iterdir()) for kind in ("files", "hub")]
    assert names == [["test.tsv"], ["test.tsv", "valid.tsv"]]


def test_tags_stand_in_a_column_of_their_own(tmp_path):
    rows = [("gehen", "V;PST", "ging"), ("Haus", "N", "Häuser")] * 8
    path = tmp_path / "x.jsonl"
    path.write_text(
        "".join(json.dumps({"word": word, "tags": tags, "form": form}) + "\n" for word, tags, form in rows),
        encoding="utf-8",
    )
    options = options_for(FilesOptions(train=str(path), test=str(path), source="word", target="form", features="tags"))
    pairs = list(pairs_of(options, Split.test, run=None))

    keep_split_off(tmp_path / "data", Given(pairs), options)

    assert list(pairs_of(options, Split.valid, run=tmp_path)) == pairs
