"""Lines in, as many lines out in the same order, whatever they hold and however they come."""

import gzip
import json
import os
import re
import stat
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seq2see.commands.translate import translate
from seq2see.commands.translate.lines import MOST, Messages, read_chunks, read_lines
from seq2see.commands.translate.prompt import Conversation
from seq2see.decoding import LengthLimit, TranslatedLine, Translation, TranslationModel
from seq2see.decoding.translation_model import unknown_symbols
from seq2see.maps.attended import CrossHead, aligning_head, links_of, with_details, word_numbers
from seq2see.options import (
    DecodeOptions,
    ModelOptions,
    Position,
    TokenizerKind,
    TrainOptions,
    TranslateOptions,
    TranslationFormat,
)
from seq2see.text import EOS, UNK, Tokenizer
from seq2see.transformer import Transformer

SCRIPT = Path(__file__).parents[2] / "scripts" / "translate.py"
TEXTS = ["the dog sleeps", "a cat reads the small book", "数据 and 模型"]
POSIX = pytest.mark.skipif(os.name != "posix", reason="pipes in the file system, and terminals of their own")
each_kind = pytest.mark.parametrize("kind", TokenizerKind)


def untrained(
    kind: TokenizerKind = TokenizerKind.word, *, endless: bool = False, max_positions: int | None = None, **decode
) -> TranslationModel:
    """A model with random weights, which writes nonsense, always the same."""
    torch.manual_seed(3)
    tokenizer = Tokenizer.fit(kind, TEXTS)
    shape = ModelOptions(
        d_model=16,
        num_heads=2,
        num_encoder_layers=1,
        num_decoder_layers=2,
        d_ff=16,
        position=Position.rope if max_positions is None else Position.learned,
        max_positions=max_positions or 1_024,
    )
    transformer = Transformer(shape, tokenizer.vocab_size, tokenizer.vocab_size)
    with torch.no_grad():
        transformer.output_proj.weight.mul_(30)  # so that it is sure of something
        if endless:
            transformer.output_proj.weight[EOS] = 0.0
    limit = LengthLimit(1.0 if max_positions is None else 9.0, slack=2)
    model = TranslationModel(TrainOptions(model=shape), tokenizer, tokenizer, limit, transformer.eval())
    model.decode_as(DecodeOptions(**decode))
    return model


def detailed(model: TranslationModel, lines: list[str]) -> list[TranslatedLine]:
    return with_details(model, model.translations(lines), aligning_head(model))


Run = Callable[..., list[str]]


@pytest.fixture
def run(small_run: Path, tmp_path: Path) -> Run:
    """What the command writes for a file of these bytes, line by line."""

    def lines_of(lines: bytes, form: str = "text", **decode) -> list[str]:
        (tmp_path / "in.txt").write_bytes(lines)
        options = TranslateOptions(
            ckpt=str(small_run),
            input=str(tmp_path / "in.txt"),
            output=str(tmp_path / "out.txt"),
            format=TranslationFormat(form),
            decode=DecodeOptions(**decode),
        )
        translate(options)
        *out, rest = (tmp_path / "out.txt").read_bytes().decode("utf-8").split("\n")
        assert rest == ""
        return out

    return lines_of


@settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.text(st.sampled_from("ab \t\u2028\x85\r\x0b\u3000数\ufeff<pad>"), max_size=12), max_size=8),
    ends=st.sampled_from(["\n", "\r\n"]),
)
def test_any_lines_in_are_as_many_out_and_blank_ones_stay(run: Run, lines: list[str], ends: str) -> None:
    out = run("".join(line + ends for line in lines).encode(), max_length=3)
    assert len(out) == len(lines)
    assert all(not text for text, line in zip(out, lines, strict=True) if not line or line.isspace())


@settings(max_examples=10)
@given(
    st.lists(st.sampled_from(["the dog", "dog", "", " \t", "a cat reads the small book", "the x sleeps"]), max_size=9)
)
def test_each_line_gets_its_own_translation_whatever_stands_around_it(lines: list[str]) -> None:
    model = untrained()
    alone = [model.translate([line])[0] for line in lines]
    assert model.translate(lines) == alone
    assert [bool(text) for text in alone] == [bool(line.strip()) for line in lines]


def test_one_text_in_the_place_of_lines_is_refused() -> None:
    with pytest.raises(ValueError, match=r"one text \('the dog'\) where many lines are asked for: put it into a l"):
        untrained().translate("the dog")
    assert len(untrained().translate(line for line in TEXTS)) == 3


@pytest.mark.parametrize("decode", [{"beam_size": 40}, {"sample": True, "temperature": 9.0}], ids=["beam", "sample"])
def test_the_best_of_several_translations_come_first_and_what_was_cut_last(decode: dict) -> None:
    found = untrained(num_best=40, length_penalty=2.0, max_length=3, **decode).translations(TEXTS)
    for line in found:
        ranks = [(one.ended, one.score / (len(one.ids) + one.ended) ** 2) for one in line.translations]
        assert ranks == sorted(ranks, reverse=True) and len(ranks) == 40
    assert len({one.ended for line in found for one in line.translations}) == 2


def test_long_lines_are_not_padded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    model, sizes = untrained(max_length=2), []
    encode = model.model.encode
    monkeypatch.setattr(model.model, "encode", lambda src, src_mask: sizes.append(src.shape) or encode(src, src_mask))
    lines = ["a dog"] * 50 + ["a " * 100_000] + ["the dog"] * 50 + ["a " * 700] * 12
    assert len(model.translate(lines)) == len(lines)
    assert max(rows * length**2 for rows, length in sizes) <= 2**23
    assert max(length for _, length in sizes) == 1_000


def test_random_draws_belong_to_a_line_however_lines_come_together() -> None:
    model = untrained(sample=True, seed=5, temperature=2.0)
    lines = ["the dog", "", "a cat reads", "the dog"] * 3
    whole = model.translate(lines)
    again = [model.translations(lines[first - 1 : last], first=first) for first, last in ((1, 1), (2, 6), (7, 12))]
    assert [line.text for some in again for line in some] == whole
    assert whole[0] != whole[3]


def test_lines_that_are_too_long_are_cut_and_named_and_so_are_symbols_that_were_never_seen(
    run: Run, capsys: pytest.CaptureFixture[str]
) -> None:
    out = run(("a b\n" + "c d " * 10 + "\n\nä ö a ä\nä\u200b\n").encode(), max_source_length=5, max_length=9)
    assert capsys.readouterr().err == (
        "1 line was cut at decode.max_source_length (5 tokens) (line 2): split it, or raise that\n"
        "2 lines have symbols that the model has never seen (lines 4, 5): ä ö ä\\u200b\n"
    )
    assert out[1:2] == run(b"c d c d\n", max_length=9)


def test_outputs_that_are_cut_and_lines_without_tags_are_counted_with_the_first_ones_and_the_remedy(
    capsys: pytest.CaptureFixture[str],
) -> None:
    tagged = Tokenizer.fit(TokenizerKind.word, ["V;PST\tgehen"], tag_separator=";")
    for model in (untrained(endless=True), replace(untrained(), source_tokenizer=tagged)):
        messages = Messages(model)
        for number, text in enumerate(["", *["V;PST\tgehen"] * 12, "gehen", " \tgehen"], start=1):
            found = (Translation("x", 0.0, number > 12, []),) if text else ()
            messages.note([TranslatedLine(number, text, found)])
        messages.finish()
    cut, again, tags = capsys.readouterr().err.splitlines()
    assert (
        cut
        == again
        == (
            "11 outputs were cut at the length limit (lines 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, ...): "
            "set a larger decode.max_length"
        )
    )
    assert tags == (
        "2 lines have no tags, as this model has learned with (lines 14, 15): "
        "write them before the text, as in TAG;TAG<tab>TEXT"
    )


@pytest.mark.parametrize("decode", [{}, {"beam_size": 3, "num_best": 3}, {"max_length": 100}])
def test_what_fills_a_learned_table_has_its_details_as_anything_else(decode: dict) -> None:
    model = untrained(endless=True, max_positions=12, **decode)
    lines = detailed(model, ["the dog " * 20, "a cat", "x"])
    assert lines[0].is_cut and (lines[0].num_tokens, len(lines[0].ids)) == (41, 11)
    found = [one for line in lines for one in line.translations if not one.ended]
    assert found and {len(one.ids) for one in found} == {11}
    for one in found:
        assert len(one.tokens) == 11 and sum(one.log_probs) == pytest.approx(one.score, abs=1e-4)
    assert model.length_limit.remedy == (
        "the model has no more positions (model.max_positions=12): train it with more"
        if "max_length" in decode
        else "set a larger decode.max_length, up to the 12 positions of the model"
    )


@each_kind
def test_details_tell_of_the_same_hypotheses(kind: TokenizerKind) -> None:
    model = untrained(kind, num_best=3, beam_size=3)
    lines = ["the dog sleeps", "", "数据 dog", "book " * 8]
    for plain, line in zip(model.translations(lines), detailed(model, lines), strict=True):
        assert [found.text for found in plain.translations] == [found.text for found in line.translations]
        assert len(line.translations) == (3 if line.source else 0)
        for found in line.translations:
            assert len(found.tokens) == len(found.log_probs) == len(found.ids) + found.ended
            assert sum(found.log_probs) == pytest.approx(found.score, abs=1e-3)
            words = len(found.text) if kind is TokenizerKind.char else len(found.text.split())
            assert [target for _, target in found.links] == list(range(words))


def test_the_rows_of_tsv_have_six_fields_whatever_the_line_holds(run: Run) -> None:
    out = run("\ufeffa\tb\n \n c\rd\u2028\r\ne".encode(), "tsv", num_best=2, beam_size=2)
    header, *rows = [line.split("\t") for line in out]
    assert header == ["line", "rank", "source", "hypothesis", "score", "alignment"]
    assert [row[:2] for row in rows] == [[*"11"], [*"12"], [*"21"], [*"31"], [*"32"], [*"41"], [*"42"]]
    assert all(len(row) == 6 for row in rows) and rows[2][3:] == ["", "", ""]
    assert float(rows[0][4]) > -100 and [row[2] for row in rows[::2]] == ["a b", " ", " c d\u2028", "e"]


def test_jsonl_has_one_object_a_line_with_scores_and_alignments(run: Run, small_run: Path) -> None:
    best = run(b"a b c\n\nd\n")
    first, blank, last = map(json.loads, run(b"a b c\n\nd\n", "jsonl", num_best=1))
    assert (first["line"], blank["line"], last["line"]) == (1, 2, 3)
    assert first["source"] == "a b c" and blank["hypotheses"] == []
    (found,) = first["hypotheses"]
    assert found["text"] == best[0]
    assert sum(found["log_probs"]) == pytest.approx(found["score"], abs=1e-3)
    stored = json.loads((small_run / "evaluation" / "test.json").read_text(encoding="utf-8"))["alignment"]["predicts"]
    assert first["alignment_from"] == f"layer {stored['layer']}, head {stored['head']}"
    assert found["alignment"].count("-") == len(found["text"].split())


def test_keys_that_do_not_fit_are_refused(run: Run) -> None:
    with pytest.raises(ValueError, match=r"decode.num_best \(5\) does not fit format=text.* add format=tsv or"):
        run(b"a\n", num_best=5)


def test_links_follow_the_row_that_predicts_a_word_in_the_last_layer_where_nobody_knows_which_head_aligns() -> None:
    model = untrained()
    assert aligning_head(model) == CrossHead(1, None) and str(CrossHead(1, None)) == "layer 2, mean of all heads"
    weights = torch.eye(4)[[2, 0, 1, 3]].numpy()  # of three words and the end
    ids = model.target_tokenizer.encode("dog a the")
    assert links_of(model, "the dog sleeps", ids, weights) == [(2, 0), (0, 1), (1, 2)]


@given(st.text(st.sampled_from("thedogsp \u3000数"), max_size=30))
def test_words_of_ids_are_words_of_their_text(text: str) -> None:
    tokenizer = Tokenizer.fit(TokenizerKind.bpe, TEXTS, vocab_size=300)
    ids = tokenizer.encode(text)
    if "\u3000" not in text:  # whose bytes may be tokens of their own
        assert word_numbers(tokenizer, ids) == tokenizer.word_numbers(text)
    assert len(word_numbers(tokenizer, ids)) == len(ids)


@each_kind
def test_unknown_tags_and_symbols_are_found_where_they_stand(kind: TokenizerKind) -> None:
    tokenizer = Tokenizer.fit(kind, ["V;PST\tgehen gut"], tag_separator=";")
    ids = tokenizer.encode("V;NEW\tgut Ärger")
    expected = {"char": ["NEW", "Ä", "r", "r"], "word": ["NEW", "Ärger"], "bpe": ["NEW"]}[kind.value]
    assert unknown_symbols(tokenizer, "V;NEW\tgut Ärger", ids) == expected
    assert ids.count(UNK) == len(expected)


def test_packed_lines_are_unpacked_whatever_their_name(tmp_path: Path) -> None:
    lines = [str(number) for number in range(5_000)]
    for name in ("in.txt", "in.txt.gz"):
        (tmp_path / name).write_bytes(gzip.compress("\n".join(lines).encode()))
        chunks, total = read_chunks(str(tmp_path / name))
        found = list(chunks)
        assert [line for chunk in found for line in chunk] == lines and total == 5_000
        assert max(map(len, found)) == MOST
    (tmp_path / "in.txt.gz").write_bytes(b"the dog")
    with pytest.raises(ValueError, match="in.txt.gz: cannot be unpacked"):
        read_chunks(str(tmp_path / "in.txt.gz"))


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("a b\nc\n".encode("utf-16-le"), "line 1: not UTF-8 text (a zero byte)"),
        ("a b\n".encode("utf-16"), "line 1: not UTF-8 text (invalid start byte): convert it to UTF-8"),
        (b"a b\nc\0d\n", "line 2: not UTF-8 text (a zero byte)"),
        (b"a b\n\xe4\n", "line 2: not UTF-8 text (unexpected end of data)"),
    ],
)
def test_what_is_no_text_is_refused_with_its_line(tmp_path: Path, raw: bytes, message: str) -> None:
    (tmp_path / "in.txt").write_bytes(raw)
    with pytest.raises(ValueError, match=re.escape(message)):
        list(read_lines(str(tmp_path / "in.txt")))


@POSIX
def test_lines_of_a_pipe_are_given_as_they_come_and_what_is_no_text_is_refused(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    given_on = threading.Event()

    def speak() -> None:
        with (tmp_path / "pipe").open("wb", buffering=0) as pipe:
            pipe.write(b"one\r\ntw")
            given_on.wait(10)
            pipe.write(b"o\n" + b"a\n" * 9_000 + b"\xff")

    threading.Thread(target=speak, daemon=True).start()
    chunks, total = read_chunks(str(tmp_path / "pipe"))
    assert next(chunks) == ["one"] and total is None
    given_on.set()
    rest = []
    with pytest.raises(ValueError, match="pipe, line 9003: not UTF-8"):
        rest += chunks
    assert len(rest) >= 8 and max(map(len, rest)) <= MOST


@POSIX
def test_a_device_is_written_to_and_not_replaced(small_run: Path, tmp_path: Path) -> None:
    pipe = tmp_path / "out"
    os.mkfifo(pipe)
    (tmp_path / "in.txt").write_text("a b\n\n", encoding="utf-8")
    heard: list[bytes] = []
    listener = threading.Thread(target=lambda: heard.append(pipe.read_bytes()), daemon=True)
    listener.start()
    options = TranslateOptions(ckpt=str(small_run), input=str(tmp_path / "in.txt"), output=str(pipe))
    assert translate(options) == 2
    listener.join(10)
    assert heard[0].count(b"\n") == 2 and stat.S_ISFIFO(pipe.stat().st_mode)


@pytest.mark.slow
@pytest.mark.parametrize("encoding", ["gbk", "ascii"])
def test_the_command_answers_each_line_is_quiet_when_its_reader_leaves_and_speaks_utf8(
    small_run: Path, encoding: str
) -> None:
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    environment = {**os.environ, "PYTHONIOENCODING": encoding, "LC_ALL": "C"}
    command = [sys.executable, str(SCRIPT), f"ckpt={small_run}", "format=jsonl"]
    with subprocess.Popen(command, **pipes, env=environment) as process:  # type: ignore[call-overload]
        for source in ("数 😀", "b"):
            process.stdin.write(f"{source}\n".encode())
            process.stdin.flush()
            assert json.loads(process.stdout.readline().decode("utf-8"))["source"] == source
        process.stdout.close()
        process.stdin.write(b"a\n")
        process.stdin.flush()
        assert process.wait(60) == 0  # although more lines may come
        assert [line.split(b":")[0] for line in process.stderr.read().splitlines()] == [b"alignment"]


def test_the_prompt_answers_lines_and_commands(capsys: pytest.CaptureFixture[str]) -> None:
    talk = Conversation(untrained())
    assert "2 layers of width 16" in talk.greeting and "greedy" in talk.greeting
    assert talk.answer(":map") == "there is no line yet: type one"
    assert talk.answer("  ") == ""
    (text,) = talk.model.translate(["the dog 😀"])
    assert talk.answer("the dog 😀") == text
    assert "never seen (line 1): 😀" in capsys.readouterr().err
    assert talk.answer(":beam 3") == "beam of 3" and len(talk.answer("the dog").split("\n")) == 3
    assert talk.answer(":beam 1") == "greedy"
    assert ":quit" in talk.answer(":mop") == talk.answer(":help") and talk.num_lines == 2
    assert talk.answer(":map 3 1") == talk.answer(":map 0 1") == "layers are 1 to 2, heads 1 to 2"
    assert talk.answer(":beam 0").startswith("decode.beam_size (0) must be positive")


@each_kind
def test_the_prompt_draws_what_the_last_translation_looked_at(kind: TokenizerKind) -> None:
    talk = Conversation(untrained(kind))
    talk.answer("数据 dog")
    lines = talk.answer(":map 1 2").split("\n")
    assert lines[0] == "cross attention, layer 1, head 2"
    rows = [line for line in lines if set(line[-2:]) <= set("·░▒▓█")]
    assert len(rows) % (len(talk.last.translations[0].ids) + 1) == 0 < len(rows)  # each token and the end


@POSIX
@pytest.mark.slow
def test_at_a_terminal_there_is_a_prompt_in_utf8(small_run: Path) -> None:
    import pty

    terminal, inside = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), f"ckpt={small_run}"],
        stdin=inside,
        stdout=inside,
        stderr=inside,
        env={**os.environ, "PYTHONIOENCODING": "gbk", "LC_ALL": "C", "TERM": "dumb"},
    )
    os.close(inside)
    said = b""  # and not yet looked at: one read may bring more than is waited for

    def until(mark: str) -> str:
        nonlocal said
        while mark.encode() not in said:
            said += os.read(terminal, 4_096)
        before, said = said.split(mark.encode(), 1)
        return (before + mark.encode()).decode("utf-8")

    try:
        assert "copy: 2+2 layers" in until("> ")
        os.write(terminal, "a 数据 b\n".encode())
        assert "never seen (line 1): 数据" in until("\r\n> ")
        os.write(terminal, b":map\n")
        assert "cross attention" in until("█ from 70 %")
        until("\r\n> ")  # typed before the prompt, an end of file would be no more than a character
        os.write(terminal, b"\x04")
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(terminal)
