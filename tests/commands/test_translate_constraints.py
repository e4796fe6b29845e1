"""What translations begin with, hold and lack, which unknown words they copy, and given ones that are scored."""

import json
import math
from dataclasses import replace
from pathlib import Path

import pytest
from test_translate import TEXTS, untrained

import seq2see
from seq2see.commands.evaluate import evaluate
from seq2see.commands.translate import translate
from seq2see.commands.translate.lines import split_last
from seq2see.commands.translate.prompt import Conversation
from seq2see.decoding import Constraints
from seq2see.maps.attended import aligning_head, require_copies, with_copies, with_details
from seq2see.options import EvaluateOptions, LastColumn, TokenizerKind
from seq2see.runs.config import compose_options
from seq2see.text import UNK


@pytest.fixture
def outputs(small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    def of(lines: str, *typed: str) -> list[str]:
        (tmp_path / "in.txt").write_text(lines, encoding="utf-8")
        paths = [f"ckpt={small_run}", f"input={tmp_path / 'in.txt'}", f"output={tmp_path / 'out.txt'}"]
        translate(compose_options("translate", [*paths, *typed]))
        return (tmp_path / "out.txt").read_text(encoding="utf-8").splitlines()

    return of


def test_keys_are_texts_of_any_signs() -> None:
    typed = ["ckpt=x", "must=[a b,'c, d',1e5]", "forbid=ein: «Hund»", "prefix=12"]
    options = compose_options("translate", typed)
    assert (options.must, options.forbid, options.prefix) == (["a b", "c, d", "1e5"], "ein: «Hund»", "12")


def test_lines_begin_with_their_own_prefix_or_that_of_all_and_hold_what_they_must(outputs) -> None:
    lines = outputs("a b c\tb a \n\nb c\t\na\td\n", "last_column=prefix", "must=[c]", "forbid=[a a,e]")
    plain = outputs("a b c\n\nb c\na\n")
    assert lines[0].startswith("b a ") and lines[1] == "" and lines[3].startswith("d")
    for line in (lines[0], lines[2], lines[3]):
        assert "c" in line.split() and "a a" not in line and "e" not in line.split()
    assert lines != plain
    assert all(line.startswith("c d") for line in outputs("a b c\nb\n", "prefix=c d") if line)


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["last_column=prefix"], r"line 2 \(b c\) has no tab, and last_column=prefix reads SOURCE<tab>PREFIX: write"),
        (["last_column=prefix", "prefix=x"], r"prefix \(x\) is for all lines, and last_column=prefix has one in each"),
        (["last_column=target", "must=[a]"], r"must .* last_column=target scores what is given: leave out one"),
        (["must=[zebra]"], r"must \(zebra\) cannot be written: the model has no symbol for zebra"),
        (["prefix=zebra "], r"line 1: prefix \(zebra \) cannot be written"),
        (["must=[a]", "decode.sample=true"], "decode.sample=true draws at random, and must= needs a search"),
    ],
)
def test_what_makes_no_sense_is_refused_in_a_line(outputs, typed: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        outputs("a\ta\nb c\n", *typed)


def test_given_targets_have_the_score_of_the_model_whole_and_token_by_token(outputs, small_run: Path) -> None:
    pairs = [("a b c", "c b a"), ("", ""), ("b", "b zebra"), ("c c", "")]
    lines = "".join(f"{source}\t{target}\n" for source, target in pairs)
    wanted = seq2see.load(str(small_run)).score(pairs)
    text = outputs(lines, "last_column=target")
    assert text[1] == "" and [float(text[i]) for i in (0, 2, 3)] == pytest.approx(
        [wanted[i] for i in (0, 2, 3)], abs=1e-4
    )
    found = list(map(json.loads, outputs(lines, "last_column=target", "format=jsonl")))
    for place in (0, 2, 3):
        (one,) = found[place]["hypotheses"]
        assert one["text"] == pairs[place][1] and one["score"] == pytest.approx(wanted[place], abs=1e-4)
        assert sum(one["log_probs"]) == pytest.approx(wanted[place], abs=1e-4)
    assert found[1]["hypotheses"] == []


def test_the_last_tab_parts_a_line_so_that_tags_stay_with_the_source() -> None:
    assert split_last(["V;PST\tgehen\tging", " "], LastColumn.target, first=1) == [("V;PST\tgehen", "ging"), ("", " ")]


def test_evaluate_keeps_the_log_probabilities_of_the_references(small_run: Path, tmp_path: Path) -> None:
    options = EvaluateOptions(ckpt=str(small_run), output=str(tmp_path), report=False, baselines=False, scores=True)
    evaluation, files = evaluate(options)
    rows = [json.loads(line) for line in (tmp_path / "test.scores.jsonl").read_text(encoding="utf-8").splitlines()]
    assert tmp_path / "test.scores.jsonl" in files and len(rows) == len(evaluation.pairs)
    wanted = seq2see.load(str(small_run)).score([(pair.source, pair.target) for pair in evaluation.pairs])
    assert [row["score"] for row in rows] == pytest.approx(wanted, abs=1e-4)
    assert [math.fsum(row["log_probs"]) for row in rows] == pytest.approx(wanted, abs=1e-4)
    assert all(row["tokens"][-1] == "<eos>" and len(row["tokens"]) == len(row["log_probs"]) for row in rows)
    _, files = evaluate(replace(options, output=str(tmp_path / "other"), scores=False))
    assert not any("scores" in file.name for file in files)


def test_the_prompt_completes_the_last_line_and_says_what_cannot_be() -> None:
    talk = Conversation(untrained(max_positions=20), prefix="cat")
    assert talk.answer(":begin the") == "there is no line yet: type one"
    assert talk.answer("the dog sleeps").startswith("cat")
    assert talk.answer(":begin a sma").startswith("a small")
    assert talk.last is not None and talk.last.source == "the dog sleeps"
    assert "cannot be written" in talk.answer(":begin zebra")
    assert talk.answer(":map").startswith("cross attention")


def test_an_unknown_word_is_the_source_word_that_it_attends_to_most() -> None:
    model = untrained(max_positions=20)
    unsure = Constraints(model.target_tokenizer, must=["<unk>"])
    lines = model.translations(["a zebra reads 数据", "", *TEXTS], constraints=unsure)
    detailed = [line for line in with_details(model, lines, aligning_head(model)) if line.translations]
    links = [{target: source for source, target in line.translations[0].links} for line in detailed]
    done = [line for line in with_copies(model, lines, aligning_head(model)) if line.translations]
    for line, own in zip(done, links, strict=True):
        (found,) = line.translations
        assert UNK in found.ids
        unknown = [place for place, number in enumerate(found.ids) if number == UNK]
        words = model.target_tokenizer.decode(found.ids).split(" ")
        for place in unknown:
            words[place] = line.source.split()[own[place]]
        assert found.text == " ".join(words) and found.copied == tuple(unknown)


@pytest.mark.parametrize("kind", [TokenizerKind.char, TokenizerKind.bpe])
def test_copying_is_refused_where_tokens_are_no_words(kind: TokenizerKind) -> None:
    with pytest.raises(ValueError, match=f"tokenizer.target={kind.value}: leave it out, or train with"):
        require_copies(untrained(kind))


def test_copied_words_are_counted(outputs, capsys: pytest.CaptureFixture[str]) -> None:
    (line,) = map(json.loads, outputs("x y z\n", "copy_unknown=true", "format=jsonl", "must=[<unk>]"))
    (one,) = line["hypotheses"]
    assert one["copied"] and "<unk>" in one["tokens"] and "<unk>" not in one["text"]
    assert all(one["text"].split()[place] in ("x", "y", "z") for place in one["copied"])
    said = f"1 line has words copied for unknown ones (line 1): {len(one['copied'])} in all"
    assert said in " ".join(capsys.readouterr().err.split())
