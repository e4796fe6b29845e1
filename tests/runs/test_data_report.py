"""`scripts/data.py`: what is counted is exact, what is drawn is true and fits, and nothing else happens."""

import io
import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rich.cells import cell_len

from seq2see.options import Normalize
from seq2see.runs.config import compose_options, config_folder, to_yaml
from seq2see.runs.data_report import DataReport, counts, data_report
from seq2see.runs.data_report.bars import bar, histogram
from seq2see.runs.data_report.console import Glyphs, printable
from seq2see.runs.data_report.overlap import Keys, folded, leak, repeats_in
from seq2see.runs.data_report.page import page
from seq2see.runs.data_report.picture import alignment
from seq2see.runs.overrides import UsageError, read_overrides
from seq2see.runs.shell import run
from seq2see.tasks import Pair

SMALL = ("task.train_size=60", "task.valid_size=10", "task.test_size=20")


def report(*arguments: str) -> DataReport:
    return data_report(compose_options("data", read_overrides("data", list(arguments), config_folder())))


def report_of(folder: Path, *arguments: str, **splits: str) -> DataReport:
    """The report on files of these lines."""
    for split, lines in splits.items():
        (folder / f"{split}.tsv").write_text(lines, encoding="utf-8", newline="\n")
    return report("task=files", *(f"task.{split}={folder / split}.tsv" for split in splits), *arguments)


def shown(found: DataReport, encoding: str = "utf-8") -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n")
    page(found, stream)
    return stream.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]


def section(text: str, heading: str) -> str:
    return re.split(r"\n(?=\S)", text.split(f"{heading}\n")[1])[0]


# What is read


def test_white_space_that_a_word_model_cannot_write_is_counted(tmp_path: Path) -> None:
    lines = "a\tx y\nb\tx  y\nc\tx y \nd\tx\u00a0y\n"
    for kind, count in (("word", ["3 targets have other white space than one space"]), ("char", [])):
        found = report_of(tmp_path, f"tokenizer.target={kind}", train=lines, valid=lines[:6], test=lines[:6])
        assert [note[: len(count[0])] for note in found.notes if "white space" in note] == count
    assert not any("white space" in note for note in report("task=copy", *SMALL).notes)


# What it takes


@pytest.mark.parametrize(
    "arguments",
    [
        ["task=sort", "task.max_length=5", "tokenizer.source=char", "data.batch_size=8", "seed=3"],
        ["experiment=reverse", "model=small", "optim.lr=1e-3", "trainer.max_steps=5", "run_dir=it's here"],
        ["task=files", "task.train=a b.tsv", "logger=none", "training.patience=2", "decode.batch_size=3"],
    ],
)
def test_it_takes_the_settings_of_any_train_command(arguments: list[str]) -> None:
    as_typed = read_overrides("train", arguments, config_folder())
    assert read_overrides("data", arguments, config_folder()) == as_typed


def test_it_repeats_what_a_run_was_trained_on(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    run_options = compose_options("train", ["task=copy", "task.valid_size=10", "model.d_model=32", "seed=3"])
    config.write_text(to_yaml(run_options), encoding="utf-8")
    found = report(f"config={config}", "task.train_size=50")
    assert found.task == "copy" and found.splits["train"].pairs == 50 and found.splits["valid"].pairs == 10
    assert found.options["model"]["d_model"] == 32


@pytest.mark.parametrize(
    ("argument", "message"),
    [
        ("model.d_modle=64", "did you mean model.d_model"),
        ("task.train=x", "the chosen task does not use this key"),
        ("task=revers", "there is no such task"),
        ("ckpt=x", "there is no key ckpt"),
    ],
)
def test_mistakes_are_refused_as_by_train(argument: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        read_overrides("data", [argument], config_folder())


# What it counts


def test_every_split_is_counted_the_one_out_of_distribution_too() -> None:
    found = report("task=copy", *SMALL, "task.ood_size=5")
    assert {split: each.pairs for split, each in found.splits.items()} == {
        "train": 60,
        "valid": 10,
        "test": 20,
        "ood": 5,
    }
    assert "24 to 48 letters" in shown(found)


@pytest.mark.parametrize("kind", ["translation", "reverse", "sort", "numbers", "dates", "scan"])
def test_every_generated_task_has_a_report(kind: str) -> None:
    sizes = ("task.train_size=60", "task.valid_size=10")
    found = report(f"task={kind}", *sizes)
    assert found.task == kind and found.splits["train"].pairs == 60
    assert f"Pairs of task={kind}" in shown(found)


def test_lines_that_were_skipped_are_told_with_the_reason(tmp_path: Path) -> None:
    found = report_of(tmp_path, "data.on_bad_line=skip", train="a\tb\n\n \nc\td\te\nf\tg\n")
    notes = section(shown(found), "Pairs of task=files").replace("\n    ", " ")
    assert "2 blank lines skipped" in notes and "1 bad line skipped, the first is line 4: 3 fields" in notes


def test_lengths_are_counted_in_words_and_in_tokens_with_the_end(tmp_path: Path) -> None:
    found = report_of(tmp_path, "tokenizer.source=char", "tokenizer.target=word", train="ab c\tx\nd\tx y z\n")
    train = found.splits["train"]
    assert train.source.words == {1: 1, 2: 1} and train.source.tokens == {2: 1, 5: 1}
    assert train.target.words == {1: 1, 3: 1} and train.target.tokens == {2: 1, 4: 1}


def test_training_pairs_that_are_too_long_are_counted_and_no_others(tmp_path: Path) -> None:
    found = report_of(
        tmp_path, "data.max_length=3", train="a\tbb\na\tbbb\naaaa\tb\n", valid="aaaaa\tb\n", test="a\tb\n"
    )
    assert [found.splits[split].too_long for split in ("train", "valid")] == [2, 0]
    assert "2 of 3 training pairs for having more than 3 tokens" in shown(found).replace("\n" + " " * 13, " ")


def test_the_vocabulary_says_what_is_frequent_rare_and_unknown(tmp_path: Path) -> None:
    found = report_of(
        tmp_path,
        "tokenizer.source=word",
        "tokenizer.target=word",
        train="the cat\tdie Katze\nthe dog\tder Hund\n",
        valid="the bird sang\tder Hund\n",
        test="a bird\tder Hund\n",
    )
    source, target = found.vocabularies
    assert (source.side, source.kind, source.size) == ("source", "word", 4 + 3)
    assert source.frequent == [("the", 2), ("cat", 1), ("dog", 1)]
    assert (source.once, source.once_examples, source.never) == (2, ["cat", "dog"], 0)
    assert (source.unknown["valid"].tokens, source.unknown["valid"].of) == (2, 3)
    assert source.unknown["test"].examples == ["a", "bird"]
    assert not any(unknown.tokens for unknown in target.unknown.values())
    assert re.search(r"unknown +valid 2 \(67 %\): bird  sang", shown(found))


def test_a_shared_vocabulary_is_one_of_both_sides() -> None:
    (both,) = report("task=copy", *SMALL, "task.vocab_size=5").vocabularies
    assert (both.side, both.size) == ("both", 4 + 5)


def test_tags_are_entries_of_their_own(tmp_path: Path) -> None:
    lines = "V;PST\tgo\twent\nV\tgo\tgo\n"
    columns = ("task.features=0", "task.source=1", "task.target=2")
    source, _ = report_of(tmp_path, *columns, train=lines, valid="N\tgo\tgo\n", test=lines).vocabularies
    assert ("[V]", 2) in source.frequent and ("[PST]", 1) in source.frequent and ("g", 2) in source.frequent
    assert source.unknown["valid"].examples == ["[N]"]


def test_bpe_knows_every_text(tmp_path: Path) -> None:
    found = report_of(
        tmp_path, "tokenizer.source=bpe", "tokenizer.target=bpe", train="a\tb\n", valid="数\t据\n", test="c\td\n"
    )
    assert not any(unknown.tokens for each in found.vocabularies for unknown in each.unknown.values())


def test_what_is_counted_in_some_pairs_only_is_said_to_be(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts, "MAX_ENCODED", 10)
    lines = "".join(f"a {number}\tb\n" for number in range(40))
    found = report_of(tmp_path, "tokenizer.source=bpe", train=lines, valid="a\tb\n", test="a\tb\n")
    train = found.splits["train"]
    assert (train.pairs, train.pairs_encoded) == (40, 10)
    assert sum(train.source.words.values()) == 40 and sum(train.source.tokens.values()) == 10
    assert "Tokens of train were counted in 10 pairs, evenly over all." in shown(found)


def test_samples_are_spread_over_the_training_pairs_and_keep_their_links() -> None:
    found = report("task=reverse", *SMALL)
    assert [(sample.split, sample.number) for sample in found.samples][:3] == [
        ("train", 11),
        ("train", 31),
        ("train", 51),
    ]
    assert all(sample.links for sample in found.samples)


# Repeats and leakage


def test_repeats_within_a_split_are_counted_and_shown(tmp_path: Path) -> None:
    lines = "go\tgeh\ngo\tgeh\ngo\tgehe\nrun\tlauf\n"
    found = report_of(tmp_path, train=lines, valid="x\ty\n", test="z\ty\n")
    repeats = found.repeats["train"]
    assert (repeats.same_pair, repeats.same_source, repeats.several_targets) == (1, 2, 1)
    assert repeats.best_exact_match == 0.75
    assert repeats.pair_examples == [("go", "geh", 2)] and repeats.target_examples == [("go", ["geh", "gehe"])]
    assert "train, 2 times: go | geh" in shown(found) and "train: go | geh | gehe" in shown(found)


def test_leakage_is_exact_or_near_and_shown_with_examples(tmp_path: Path) -> None:
    found = report_of(
        tmp_path, train="Go!\tGeh\nRun\tLauf\n", valid="Go!\tGeh\nStay\tBleib\n", test="go\tGEH.\n R un\tx\nstop\tx\n"
    )
    by_names = {(each.split, each.other): each for each in found.leaks}
    valid, test = by_names["valid", "train"], by_names["test", "train"]
    assert (valid.same_source, valid.same_pair, valid.near_source, valid.near_pair) == (1, 1, 0, 0)
    assert (test.same_source, test.same_pair, test.near_source, test.near_pair) == (0, 0, 2, 1)
    assert test.near_examples == [("go", "Go!"), (" R un", "Run")]
    assert by_names["test", "valid"].near_source == 1
    text = shown(found)
    assert "valid and train: Go!" in text and "test and train: go | Go!" in text


def test_the_splits_of_a_generated_task_share_nothing() -> None:
    found = report("task=sort", *SMALL)
    assert all(each.is_none for each in found.leaks) and len(found.leaks) == 6
    assert "none between train, valid, test and ood" in shown(found)


def test_sources_under_other_tags_and_shared_targets_are_figures_of_their_own(tmp_path: Path) -> None:
    columns = ("task.features=0", "task.source=1", "task.target=2")
    train = "V;PST\tgo\twent\nV;PRS\tgo\tgoes\nV;PST\tsee\tsaw\n"
    found = report_of(tmp_path, *columns, train=train, valid="N\tsaw\tsaw\n", test="V\tgo\tgo\nV;PST\tsee\tsaw\n")
    by_names = {(each.split, each.other): each for each in found.leaks}
    test, valid = by_names["test", "train"], by_names["valid", "train"]
    assert (test.same_source, test.same_target, test.same_pair, test.pairs) == (2, 1, 1, 2)
    assert (valid.same_source, valid.same_target, valid.is_none) == (0, 1, True)
    assert found.repeats["train"].same_source == 0  # of the whole line, which is what a model sees
    leakage = section(shown(found), "Leakage")
    assert re.search(r"test in train +2 \(100 %\) +1 \(50 %\)", leakage)
    assert "Tags before a source count in pairs alone." in " ".join(leakage.split())
    assert "Pairs whose target train has too: valid 1 (100 %), test 1 (50 %)" in leakage


def test_none_is_said_of_sources_where_targets_are_shared_and_alone_where_nothing_is(tmp_path: Path) -> None:
    columns = ("task.features=0", "task.source=1", "task.target=2")
    forms = "".join(f"{tag}\tlemma{n}\tform{n}{tag}\n" for n in range(60) for tag in ("PST", "PRS", "INF"))
    assert "none between train, valid and test" in section(shown(report_of(tmp_path, *columns, train=forms)), "Leakage")
    shared = report_of(tmp_path, train="a\tx\n", valid="b\tx\n", test="c\ty\n")
    leakage = " ".join(section(shown(shared), "Leakage").split())
    assert leakage == (
        "no source is the same in two of train, valid and test, also not up to case, punctuation and white space "
        "Pairs whose target train has too: valid 1 (100 %)"
    )


TEXTS = st.text("aAB .!", min_size=1, max_size=3)
PAIRS = st.lists(st.builds(Pair, TEXTS, TEXTS), min_size=1, max_size=12)


@settings(max_examples=50)
@given(PAIRS, PAIRS)
def test_the_counts_are_those_of_sets_of_any_pairs(first: list[Pair], second: list[Pair]) -> None:
    pairs = {"train": first, "test": second}
    keys = {split: Keys.of(some, Normalize.nfc, has_tags=False) for split, some in pairs.items()}
    texts = [(pair.source, pair.target) for pair in first]
    targets = {source: Counter(target for other, target in texts if other == source) for source, _ in texts}
    repeats = repeats_in(first, keys["train"])
    assert repeats.same_pair == len(first) - len(set(texts))
    assert repeats.same_source == len(first) - len(targets)
    assert repeats.several_targets == sum(len(each) > 1 for each in targets.values())
    assert repeats.best_exact_match == sum(max(each.values()) for each in targets.values()) / len(first)
    near_texts = {(folded(source), folded(target)) for source, target in texts}
    near_sources = {source for source, _ in near_texts}
    found = leak("test", "train", pairs, keys)
    assert found.same_source == sum(pair.source in targets for pair in second)
    assert found.same_target == sum(pair.target in {target for _, target in texts} for pair in second)
    assert found.same_pair == sum((pair.source, pair.target) in texts for pair in second)
    assert found.near_source == sum(p.source not in targets and folded(p.source) in near_sources for p in second)
    assert found.near_pair == sum(
        (p.source, p.target) not in texts and (folded(p.source), folded(p.target)) in near_texts for p in second
    )
    assert found.is_none == (not near_sources & {folded(pair.source) for pair in second})


@given(st.text(st.characters(categories=["Ll", "Lo", "Nd"]), min_size=1), st.text(" \t\u3000.,!?-¿、", max_size=5))
def test_case_punctuation_and_white_space_make_texts_near(text: str, added: str) -> None:
    assert folded(added + text.casefold() + added) == folded(text.casefold()) == folded(f"«{text}»")


def test_texts_of_punctuation_alone_are_not_all_the_same() -> None:
    assert folded("?") != folded("!") and folded("...") != folded("")


# What it draws


def grid(
    above: str, below: str, links: list[tuple[int, int]], width: int = 78, glyphs: Glyphs | None = None
) -> list[str]:
    return alignment(above.split(), below.split(), links, width=width, glyphs=glyphs or Glyphs())


def test_letters_are_a_grid_whose_rows_are_the_target() -> None:
    assert grid("a b c", "c b a", [(2, 0), (1, 1), (0, 2)]) == [
        "  a b c",
        "c · · ■",
        "b · ■ ·",
        "a ■ · ·",
    ]  # fmt: skip


def test_wide_characters_keep_the_columns_of_a_grid() -> None:
    assert grid("我 好", "好 a", [(1, 0), (0, 1)]) == [
        "   我 好",
        "好 ·  ■",
        "a  ■  ·",
    ]  # fmt: skip


def test_sentences_are_joined_by_lines_from_word_to_word() -> None:
    above, *canvas, below = grid("yes please", "ja bitte", [(0, 0), (1, 1)])
    assert (above, below) == ("yes please", " ja bitte")
    assert [[place for place, dots in enumerate(row) if dots > " "] for row in canvas] == [[1, 6], [1, 6]]


def test_a_word_without_a_link_has_no_line() -> None:
    _, *canvas, _ = grid("yes please", "ja bitte", [(0, 0)])
    assert all(len(row) <= 3 for row in canvas)


def test_a_long_target_is_a_grid_of_narrow_columns_labelled_by_the_source() -> None:
    lines = grid("walk thrice", " ".join(["WALK"] * 24), [(0, target) for target in range(24)])
    assert lines[-3:] == ["       1    6    11   16   21", "walk   " + "■" * 24, "thrice " + "·" * 24]


def test_many_letters_are_a_grid_of_dots() -> None:
    letters = " ".join("ab" * 14)
    lines = grid(letters, letters, [(place, place) for place in range(28)])
    assert lines[-7:] == [("⠑⢄" if not row else " " * 2 * row + "⠑⢄") for row in range(7)]


WORDS = st.lists(st.text("aé数ｗ́", min_size=1, max_size=12), min_size=1, max_size=40)


@settings(max_examples=50)
@given(st.data(), WORDS, WORDS, st.sampled_from(["utf-8", "ascii", "gbk"]))
def test_any_alignment_fits_the_width(data: st.DataObject, above: list[str], below: list[str], encoding: str) -> None:
    ends = st.tuples(st.integers(0, len(above) - 1), st.integers(0, len(below) - 1))
    links = data.draw(st.lists(ends, unique=True))
    above, below = ([printable(word, encoding) for word in side] for side in (above, below))
    lines = alignment(above, below, links, width=78, glyphs=Glyphs.of(encoding))
    assert max(map(cell_len, lines)) <= 78
    "\n".join(lines).encode(encoding)


def test_bars_end_in_eighths_and_nothing_that_exists_is_invisible() -> None:
    assert bar(0.5, 5, Glyphs()) == "██▌  " and bar(1e-9, 3, Glyphs()) == "▏  " and bar(0, 3, Glyphs()) == "   "
    assert bar(0.5, 4, Glyphs.of("ascii")) == "##  " and bar(1e-9, 3, Glyphs.of("ascii")) == "#  "


@given(*2 * [st.dictionaries(st.integers(1, 3000), st.integers(1, 9), min_size=1, max_size=30)])
def test_a_histogram_has_few_rows_that_hold_every_length_once(one: dict[int, int], other: dict[int, int]) -> None:
    rows = list(histogram(dict(sorted(one.items())), dict(sorted(other.items())), Glyphs()))
    assert 1 <= len(rows) <= 11 and max(map(cell_len, rows)) <= 78
    ends = [[int(number.replace(",", "")) for number in row.split()[0].split("-")] for row in rows]
    assert ends[0][0] == min(*one, *other) and ends[-1][-1] == max(*one, *other)
    assert all(before[-1] + 1 == after[0] for before, after in zip(ends, ends[1:], strict=False))


# The page

HARD = (
    "a\u3000b\u00a0c\td\x1b[31m red\n"
    + "数据" * 60
    + "\tשלום עולם "
    + "word " * 50
    + "\n[bold]x[/bold] :smile:\t<script>\n"
    + "".join(f"source {number}\ttarget ä{number}\n" for number in range(30))
)


@pytest.fixture(scope="module")
def reports(tmp_path_factory: pytest.TempPathFactory) -> list[DataReport]:
    hard = report_of(tmp_path_factory.mktemp("hard"), train=HARD)
    return [hard, report(*SMALL), report("task=reverse", *SMALL)]


@pytest.mark.parametrize("encoding", ["utf-8", "ascii", "gbk"])
def test_the_page_fits_into_80_columns_of_any_console(reports: list[DataReport], encoding: str) -> None:
    for found in reports:
        lines = shown(found, encoding).splitlines()
        assert max(map(cell_len, lines)) <= 80, max(lines, key=cell_len)


def test_texts_are_shown_as_they_are_and_cannot_command_the_terminal(tmp_path: Path) -> None:
    text = shown(report_of(tmp_path, train="[bold]x[/bold] :smile:\ta\x1b[31m\u202e\n"))
    assert "[bold]x[/bold] :smile:" in text and r"a\x1b[31m\u202e" in text


def test_what_training_would_choose_is_shown_with_its_reasons(reports: list[DataReport]) -> None:
    text = section(shown(reports[0]), "What training would choose")
    assert "what follows from the data:" in text and "25 pairs" in text
    given = shown(report("task=copy", *SMALL, "trainer.max_steps=30", "data.batch_size=20"))
    assert "30 steps of 20 pairs: 10.0 times through all pairs" in given


# The command


def test_it_writes_one_json_file_with_all_of_it_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SEQ2SEE_CACHE", str(tmp_path))
    (tmp_path / "pairs.tsv").write_text(HARD, encoding="utf-8")
    arguments = ["task=files", "task.train=pairs.tsv"]
    assert run("data", arguments) == 0
    assert [path.name for path in tmp_path.iterdir()] == ["pairs.tsv"]
    assert run("data", [*arguments, "output=it's.json"]) == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["it's.json", "pairs.tsv"]
    captured = capsys.readouterr()
    assert captured.out.count("Pairs of task=files") == 2 and "written: it's.json" in captured.err
    found = json.loads((tmp_path / "it's.json").read_text(encoding="utf-8"))
    assert found["splits"]["train"]["pairs"] == 25 and [sample["split"] for sample in found["samples"]] == ["train"] * 3
    assert found["options"]["tokenizer"]["source"] == "bpe" and found["repeats"]["train"]["same_pair"] == 0
    assert {"notes", "vocabularies", "leaks", "reasons"} <= found.keys()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["output=no/such/folder.json"], "name a .json file in a folder that exists"),
        (["output=."], "name a .json file in a folder that exists"),
        (["task=files", "task.train=missing.tsv"], "missing.tsv"),
        (["model.d_model=30", "model.num_heads=4"], "must be divisible"),
    ],
)
def test_a_users_mistake_exits_with_2_and_one_message(
    arguments: list[str],
    message: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("data", arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err and len(captured.err.splitlines()) == 1 and not captured.out


def test_it_needs_no_torch() -> None:
    code = "import sys, seq2see.runs.data_report.page; assert not {'torch', 'lightning', 'datasets'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
