"""`scripts/data.py`: what is counted is exact, what is shown fits any console, and nothing else happens."""

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

from seq2see.commands.data import Report, data_report, keys_of, leak_of, page, repeats_of
from seq2see.commands.shell import run
from seq2see.options import Normalize
from seq2see.runs.config import compose_options, to_yaml
from seq2see.tasks import Pair

Capture = pytest.CaptureFixture[str]
SMALL = ("task.train_size=60", "task.valid_size=10", "task.test_size=20")
TAGS = ("task.features=0", "task.source=1", "task.target=2")
WORDS = ("tokenizer.source=word", "tokenizer.target=word")


def report(*arguments: str) -> Report:
    return data_report(compose_options("data", list(arguments)))


def report_of(folder: Path, *arguments: str, **splits: str) -> Report:
    """The report on files of these lines."""
    for split, lines in splits.items():
        (folder / f"{split}.tsv").write_text(lines, encoding="utf-8", newline="\n")
    return report("task=files", *(f"task.{split}={folder / split}.tsv" for split in splits), *arguments)


def shown(found: Report, encoding: str = "utf-8") -> str:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding, newline="\n")
    page(found, stream)
    stream.flush()
    return stream.buffer.getvalue().decode(encoding)  # type: ignore[attr-defined]


def section(found: Report, heading: str) -> str:
    """A section of the page, in one line, with one space between words."""
    return " ".join(re.split(r"\n(?=\S)", shown(found).split(f"{heading}\n")[1])[0].split())


def test_it_repeats_what_a_run_was_trained_on(tmp_path: Path) -> None:
    config = tmp_path / "config.yaml"
    run_options = compose_options("train", ["task=copy", "task.valid_size=10", "model.d_model=32", "seed=3"])
    config.write_text(to_yaml(run_options), encoding="utf-8")
    found = report(f"config={config}", "task.train_size=50")
    assert found["task"] == "copy" and [found["splits"][split]["pairs"] for split in ("train", "valid")] == [50, 10]
    assert found["options"]["model"]["d_model"] == 32


@pytest.mark.parametrize("kind", ["translation", "scan", "numbers"])
def test_generated_tasks_have_a_report_on_all_their_splits(kind: str) -> None:
    found = report(f"task={kind}", "task.train_size=60", "task.valid_size=10")
    assert [found["splits"][split]["pairs"] for split in ("train", "valid")] == [60, 10]
    assert ("ood" in found["splits"]) == bool(found["ood"]) and found["ood"] in section(found, f"Pairs of task={kind}")


def test_what_is_left_out_or_changed_is_told(tmp_path: Path) -> None:
    train = "a\tbb\n\n \nc\td\te\na\tbbb\naaaa\tb\n"
    keys = ("data.on_bad_line=skip", "data.max_length=3")
    found = report_of(tmp_path, *keys, train=train, valid="aaaaa\tb\n", test="a\tb\n")
    notes = section(found, "Pairs of task=files")
    assert "2 blank lines skipped" in notes and "1 bad line skipped, the first is line 4: 3 fields" in notes
    assert [found["splits"][split]["too_long"] for split in ("train", "valid")] == [2, 0]
    assert "2 of 3 training pairs will be left out for more than 3 tokens" in notes
    spaces = "a\tx y\nb\tx  y\nc\tx y \nd\tx\u00a0y\n"
    for kind, count in (("word", ["3 targets have other white space than one space"]), ("char", [])):
        found = report_of(tmp_path, f"tokenizer.target={kind}", train=spaces, valid=spaces[:6], test=spaces[:6])
        assert [note[: len(count[0])] for note in found["notes"] if "white space" in note] == count
    assert report("task=copy", *SMALL)["notes"] == []


def test_lengths_are_counted_in_words_without_tags_and_in_tokens_with_the_end(tmp_path: Path) -> None:
    kinds = ("tokenizer.source=char", "tokenizer.target=word")
    found = report_of(tmp_path, *TAGS, *kinds, train="V;X\tab c\tx\nN\td\tx y z\n")
    train = found["splits"]["train"]
    assert train["source"]["words"] == {1: 1, 2: 1} and train["source"]["tokens"] == {3: 1, 7: 1}
    assert train["target"]["words"] == {1: 1, 3: 1} and train["target"]["tokens"] == {2: 1, 4: 1}
    assert "train source 2 1 1 2 2 3 3 7 7 train target 2 1 1 3 3 2 2 4 4" in section(found, "Pairs of task=files")


def test_the_vocabulary_says_what_is_frequent_and_unknown(tmp_path: Path) -> None:
    train = "the cat\tdie Katze\nthe dog\tder Hund\n"
    found = report_of(tmp_path, *WORDS, train=train, valid="the bird sang\tder Hund\n", test="a bird\tder Hund\n")
    source, target = found["vocabularies"]
    assert (source["side"], source["kind"], source["size"]) == ("source", "word", 4 + 3)
    assert source["frequent"] == [("the", 2), ("cat", 1), ("dog", 1)]
    assert (source["unknown"]["valid"]["tokens"], source["unknown"]["valid"]["of"]) == (2, 3)
    assert source["unknown"]["test"]["examples"] == ["a", "bird"]
    assert not any(unknown["tokens"] for unknown in target["unknown"].values())
    text = section(found, "Vocabulary")
    assert "unknown train 0 unknown valid 2 (66.7%) bird sang unknown test 2 (100.0%) a bird" in text
    (both,) = report("task=copy", *SMALL, "task.vocab_size=5")["vocabularies"]
    assert (both["side"], both["size"]) == ("both", 4 + 5)


@pytest.mark.parametrize("kind", ["char", "word", "bpe"])
def test_tags_are_entries_of_their_own_and_bpe_knows_every_text(tmp_path: Path, kind: str) -> None:
    lines, kinds = "V;PST\tgo\twent\nV\tgo\tgo\n", (f"tokenizer.source={kind}", f"tokenizer.target={kind}")
    source, target = report_of(tmp_path, *TAGS, *kinds, train=lines, valid="N\t数\t据\n", test=lines)["vocabularies"]
    assert ("[V]", 2) in source["frequent"] and ("[PST]", 1) in source["frequent"]
    unknown = [side["unknown"]["valid"]["examples"] for side in (source, target)]
    assert unknown == ([["[N]"], []] if kind == "bpe" else [["[N]", "数"], ["据"]])


def test_samples_are_spread_over_the_training_pairs_and_keep_their_links() -> None:
    found = report("task=reverse", *SMALL, "task.min_length=2", "task.max_length=2")
    places = [(sample["split"], sample["number"]) for sample in found["samples"]]
    assert places[:3] == [("train", 11), ("train", 31), ("train", 51)]
    assert "train, pair 11 source " in section(found, "Samples") and "links 1-0 0-1" in section(found, "Samples")


def test_repeats_within_a_split_are_shown_with_an_example(tmp_path: Path) -> None:
    found = report_of(tmp_path, train="go\tgeh\ngo\tgeh\ngo\tgehe\nrun\tlauf\n", valid="x\ty\n", test="z\ty\n")
    text = section(found, "Repeats")
    assert "train 1 (25.0%) 2 (50.0%) 1 0.750" in text and text.endswith("train go | geh (2) | gehe (1)")


def test_sources_under_other_tags_and_shared_targets_are_figures_of_their_own(tmp_path: Path) -> None:
    train = "V;PST\tgo\twent\nV;PRS\tgo\tgoes\nV;PST\tsee\tsaw\n"
    found = report_of(tmp_path, *TAGS, train=train, valid="N\tsaw\tsaw\n", test="V\tgo\tgo\nV;PST\tsee\tsaw\n")
    assert found["repeats"]["train"]["same_source"] == 0  # of the whole line, which is what a model sees
    leakage = section(found, "Leakage")
    assert "valid in train 0 0 1 (100.0%) test in train 2 (100.0%) 1 (50.0%) 1 (50.0%)" in leakage
    assert r"Tags before a source count in pairs alone. test and train V\tgo" in leakage


def test_what_was_split_off_shares_no_source_whatever_tags_stand_before_it(tmp_path: Path) -> None:
    forms = "".join(f"{tag}\tlemma{n}\tform{n}{tag}\n" for n in range(60) for tag in ("PST", "PRS", "INF"))
    assert not any(
        leak["same_source"] or leak["same_target"] for leak in report_of(tmp_path, *TAGS, train=forms)["leaks"]
    )


TEXTS = st.text("aäÄ .", min_size=1, max_size=3)
PAIRS = st.lists(st.builds(Pair, TEXTS, TEXTS), min_size=1, max_size=12)


@settings(max_examples=25)
@given(PAIRS, PAIRS)
def test_the_counts_are_those_of_sets_of_any_pairs(first: list[Pair], second: list[Pair]) -> None:
    keys = {split: keys_of(some, Normalize.nfc, has_tags=False) for split, some in (("a", first), ("b", second))}
    texts = [pair[:2] for pair in first]
    targets = {source: Counter(target for other, target in texts if other == source) for source, _ in texts}
    repeats = repeats_of(first, keys["a"], Normalize.nfc)
    assert repeats["same_pair"] == len(first) - len(set(texts))
    assert repeats["same_source"] == len(first) - len(targets)
    assert repeats["several_targets"] == sum(len(each) > 1 for each in targets.values())
    best = sum(max(each.values()) for each in targets.values()) / len(first)
    assert repeats["best_exact_match"] == pytest.approx(best)
    found = leak_of("b", "a", second, keys)
    assert found["same_source"] == sum(pair.source in targets for pair in second)
    assert found["same_target"] == sum(pair.target in {target for _, target in texts} for pair in second)
    assert found["same_pair"] == sum(pair[:2] in texts for pair in second)


HARD = (
    "a\u3000b\u00a0c\td\x1b[31m red\u202e\n"
    + "数据" * 60
    + "\tשלום עולם "
    + "word " * 12_000
    + "\n[bold]x[/bold] :smile:\t<script>\n"
    + "".join(f"source {number}\ttarget ä{number}\n" for number in range(30))
)


def test_the_page_fits_into_80_columns_of_any_console_and_texts_cannot_command_it(tmp_path: Path) -> None:
    hard = report_of(tmp_path, train=HARD)
    for found in (hard, report("task=reverse", *SMALL)):
        for encoding in ("utf-8", "ascii", "gbk"):
            lines = shown(found, encoding).splitlines()
            assert max(map(cell_len, lines)) <= 80, max(lines, key=cell_len)
    assert "trainer max_steps=2000 (25 pairs)" in section(hard, "What training would choose")
    text = shown(report_of(tmp_path, train="[bold]x[/bold] :smile:\ta\x1b[31m\u202e\n"))
    assert "[bold]x[/bold] :smile:" in text and r"a\x1b[31m\u202e" in text


def test_what_training_would_choose_is_shown_with_its_reasons() -> None:
    found = report("task=copy", *SMALL, "trainer.max_steps=30", "data.batch_size=20")
    text = section(found, "What training would choose")
    assert "optim lr=0.008, warmup_steps=100, label_smoothing=0.0 (task=copy)" in text and "max_steps=" not in text


def test_it_writes_one_json_file_with_all_of_it_and_nothing_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
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
    ],
)
def test_a_users_mistake_exits_with_2_and_one_message(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Capture
) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("data", arguments) == 2
    captured = capsys.readouterr()
    assert message in captured.err and len(captured.err.splitlines()) == 1 and not captured.out


def test_it_needs_no_torch() -> None:
    code = "import sys, seq2see.commands.data; assert not {'torch', 'lightning', 'datasets'} & set(sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)
