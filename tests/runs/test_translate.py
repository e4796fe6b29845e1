"""Lines in, as many lines out in the same order, whatever they hold and however they come."""

import gzip
import json
import os
import re
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from seq2see.decoding import LengthLimit, Trained, TranslatedLine, Translation
from seq2see.decoding.trained import unknown_symbols
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
from seq2see.runs.translate import translate
from seq2see.runs.translate.lines import MOST, chunks_of, read_chunks, read_lines
from seq2see.runs.translate.messages import Messages
from seq2see.runs.translate.prompt import Conversation
from seq2see.text import EOS, UNK, Tokenizer
from seq2see.transformer import Transformer

SCRIPT = Path(__file__).parents[2] / "scripts" / "translate.py"
TEXTS = ["the dog sleeps", "a cat reads the small book", "数据 and 模型"]
POSIX = pytest.mark.skipif(os.name != "posix", reason="pipes in the file system, and terminals of their own")


def untrained(
    kind: TokenizerKind = TokenizerKind.word,
    decode: DecodeOptions | None = None,
    *,
    position: Position = Position.rope,
    max_positions: int = 1_024,
) -> Trained:
    """A model with random weights, which writes nonsense, always the same."""
    torch.manual_seed(3)
    tokenizer = Tokenizer.fit(kind, TEXTS)
    shape = ModelOptions(
        d_model=16,
        num_heads=2,
        num_encoder_layers=1,
        num_decoder_layers=2,
        d_ff=16,
        position=position,
        max_positions=max_positions,
    )
    options = TrainOptions(model=shape, decode=decode or DecodeOptions())
    transformer = Transformer(shape, tokenizer.vocab_size, tokenizer.vocab_size)
    with torch.no_grad():
        transformer.output_proj.weight.mul_(30)  # so that it is sure of something
    return Trained(options, tokenizer, tokenizer, LengthLimit(1.0, slack=2), transformer.eval())


def detailed(trained: Trained, lines: list[str]) -> list[TranslatedLine]:
    return with_details(trained, trained.translations(lines), aligning_head(trained))


def run(folder: Path, lines: bytes, ckpt: Path, form: str = "text", **decode: object) -> str:
    """What the command writes for a file of these bytes."""
    (folder / "in.txt").write_bytes(lines)
    options = TranslateOptions(
        ckpt=str(ckpt),
        input=str(folder / "in.txt"),
        output=str(folder / "out.txt"),
        format=TranslationFormat(form),
        decode=DecodeOptions(**decode),  # type: ignore[arg-type]
    )
    translate(options)
    return (folder / "out.txt").read_bytes().decode("utf-8")


@settings(max_examples=12, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    lines=st.lists(st.text(st.sampled_from("ab \t\u2028\x85\r\x0b\u3000数\ufeff<pad>"), max_size=12), max_size=8),
    ends=st.sampled_from(["\n", "\r\n"]),
)
def test_any_lines_in_are_as_many_out_and_blank_ones_stay(
    small_run: Path, tmp_path: Path, lines: list[str], ends: str
) -> None:
    out = run(tmp_path, "".join(line + ends for line in lines).encode(), small_run, max_length=3)
    found = out.split("\n")
    assert found.pop() == "" and len(found) == len(lines)
    assert all(not text for text, line in zip(found, lines, strict=True) if not line or line.isspace())


def test_a_last_line_without_an_end_is_a_line_and_a_bom_is_none(small_run: Path, tmp_path: Path) -> None:
    out = run(tmp_path, b"\xef\xbb\xbfa b\n c d \r\n\na b", small_run, "tsv")
    assert [row.split("\t")[2] for row in out.splitlines()[1:]] == ["a b", " c d ", "", "a b"]


@settings(max_examples=10)
@given(
    st.lists(st.sampled_from(["the dog", "dog", "", " \t", "a cat reads the small book", "the x sleeps"]), max_size=9)
)
def test_each_line_gets_its_own_translation_whatever_stands_around_it(lines: list[str]) -> None:
    trained = untrained()
    alone = [trained.translate([line])[0] for line in lines]
    assert trained.translate(lines) == alone
    assert [bool(text) for text in alone] == [bool(line.strip()) for line in lines]


@pytest.mark.slow
@pytest.mark.parametrize("beam_size", [1, 4])
def test_a_thousand_lines_with_a_very_long_one(small_run: Path, tmp_path: Path, beam_size: int) -> None:
    lines = [["", " \t\u3000", "a b c", "x\u2028y\x85 z\rw", f"a b {number}"][number % 5] for number in range(1_000)]
    lines[500] = "a " * 50_000
    text = "".join(line + ("\n" if number % 2 else "\r\n") for number, line in enumerate(lines))
    out = run(tmp_path, text.encode(), small_run, beam_size=beam_size).split("\n")
    assert len(out) == 1_001
    assert len({out[number] for number in range(1_000) if lines[number] == "a b c"}) == 1
    assert all(not text for text, line in zip(out, lines, strict=False) if line.isspace() or not line)


def test_long_lines_are_not_padded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    trained, sizes = untrained(decode=DecodeOptions(max_length=2)), []
    encode = trained.model.encode

    def spied(src: torch.Tensor, src_mask: torch.Tensor) -> torch.Tensor:
        sizes.append(src.shape)
        return encode(src, src_mask)

    monkeypatch.setattr(trained.model, "encode", spied)
    trained.decode_as(DecodeOptions())
    lines = ["a dog"] * 50 + ["a " * 100_000] + ["the dog"] * 50 + ["a " * 700] * 12
    assert len(trained.translate(lines)) == len(lines)
    assert max(rows * length**2 for rows, length in sizes) <= 2**23
    assert max(length for _, length in sizes) == 1_000


def test_a_line_that_is_too_long_is_cut_and_named(
    small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = run(tmp_path, b"a b\n" + b"c d " * 10 + b"\na b c d\n", small_run, max_source_length=5, max_length=9)
    short = run(tmp_path, b"c d c d\n", small_run, max_length=9)
    assert out.split("\n")[1] == short.strip("\n")
    message = "line 2: 21 tokens with the end are more than decode.max_source_length (5)"
    assert message in capsys.readouterr().err


def test_many_lines_that_are_too_long_are_not_all_named(
    small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, b"a b c d e\n" * 30, small_run, max_source_length=4, max_length=2)
    said = capsys.readouterr().err.splitlines()
    assert len(said) == 11 and said[-1].startswith("30 lines were longer than decode.max_source_length (4)")


def test_outputs_that_are_cut_are_counted_with_the_first_lines_and_the_remedy(
    capsys: pytest.CaptureFixture[str],
) -> None:
    trained = untrained()
    with torch.no_grad():
        trained.model.output_proj.weight[EOS] = 0.0
    messages = Messages(trained)
    for number in (1, 30):
        messages.note(trained.translations(["", *["the dog"] * number]))
    messages.finish()
    assert capsys.readouterr().err == (
        "31 outputs were cut at the length limit (lines 2, 2, 3, 4, 5, 6, 7, 8, 9, 10, ...): "
        "set a larger decode.max_length\n"
    )


def test_a_learned_table_ends_both_sides() -> None:
    trained = untrained(position=Position.learned, max_positions=12)
    trained.length_limit = LengthLimit(9.0)
    trained.decode_as(DecodeOptions())
    (line,) = trained.translations(["a " * 40])
    assert line.is_cut and (line.num_tokens, line.num_read) == (41, 12)
    assert len(line.translations[0].ids) <= 12 == trained.length_limit.of(500)


@pytest.mark.parametrize("decode", [{}, {"beam_size": 3, "num_best": 3}, {"max_length": 100}])
def test_what_fills_a_learned_table_has_its_details_as_anything_else(decode: dict) -> None:
    trained = untrained(position=Position.learned, max_positions=12)
    with torch.no_grad():
        trained.model.output_proj.weight[EOS] = 0.0
    trained.decode_as(DecodeOptions(**decode))
    trained.length_limit = replace(trained.length_limit, ratio=9.0)
    lines = detailed(trained, ["the dog " * 3, "a cat", "x"])
    found = [one for line in lines for one in line.translations if not one.ended]
    assert found and {len(one.ids) for one in found} == {11}
    for one in found:
        assert len(one.tokens) == 11 and sum(one.log_probs) == pytest.approx(one.score, abs=1e-4)
    asked = trained.options.decode.max_length
    assert trained.length_limit.remedy == (
        "set a larger decode.max_length, up to the 12 positions of the model"
        if asked is None
        else "the model has no more positions (model.max_positions=12): train it with more"
    )


@pytest.mark.parametrize("kind", TokenizerKind)
def test_details_tell_of_the_same_hypotheses(kind: TokenizerKind) -> None:
    trained = untrained(kind, DecodeOptions(num_best=3, beam_size=3))
    lines = ["the dog sleeps", "", "数据 dog", "book " * 8]
    for plain, line in zip(trained.translations(lines), detailed(trained, lines), strict=True):
        assert [found.text for found in plain.translations] == [found.text for found in line.translations]
        assert len(line.translations) == (3 if line.source else 0)
        for found in line.translations:
            assert len(found.tokens) == len(found.log_probs) == len(found.ids) + found.ended
            assert sum(found.log_probs) == pytest.approx(found.score, abs=1e-3)
            words = len(found.text) if kind is TokenizerKind.char else len(found.text.split())
            assert [target for _, target in found.links] == list(range(words))


def test_the_rows_of_tsv_have_six_fields_whatever_the_line_holds(small_run: Path, tmp_path: Path) -> None:
    out = run(tmp_path, "a\tb\n \n c\rd\u2028\n".encode(), small_run, "tsv", num_best=2, beam_size=2)
    header, *rows = [line.split("\t") for line in out.split("\n")[:-1]]
    assert header == ["line", "rank", "source", "hypothesis", "score", "alignment"]
    assert [row[:2] for row in rows] == [["1", "1"], ["1", "2"], ["2", "1"], ["3", "1"], ["3", "2"]]
    assert all(len(row) == 6 for row in rows) and rows[2][3:] == ["", "", ""]
    assert float(rows[0][4]) > -100 and rows[0][2] == "a b"


def test_jsonl_has_one_object_a_line_with_scores_and_alignments(small_run: Path, tmp_path: Path) -> None:
    best = run(tmp_path, b"a b c\n\nd\n", small_run).split("\n")
    out = run(tmp_path, b"a b c\n\nd\n", small_run, "jsonl", num_best=1)
    first, blank, last = map(json.loads, out.splitlines())
    assert (first["line"], blank["line"], last["line"]) == (1, 2, 3)
    assert first["source"] == "a b c" and blank["hypotheses"] == []
    (found,) = first["hypotheses"]
    assert found["text"] == best[0]
    assert sum(found["log_probs"]) == pytest.approx(found["score"], abs=1e-3)
    stored = json.loads((small_run / "evaluation" / "test.json").read_text(encoding="utf-8"))["alignment"]["predicts"]
    assert first["alignment_from"] == f"layer {stored['layer']}, head {stored['head']}"
    assert found["alignment"].count("-") == len(found["text"].split())


def test_several_translations_a_line_do_not_fit_plain_text(small_run: Path, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"decode.num_best \(5\) does not fit format=text.* add format=tsv or"):
        run(tmp_path, b"a\n", small_run, num_best=5)
    with pytest.raises(ValueError, match="decode.oracle_length=true needs references"):
        run(tmp_path, b"a\n", small_run, oracle_length=True)


def test_where_nobody_knows_which_head_aligns_the_last_layer_speaks() -> None:
    head = aligning_head(untrained())
    assert head == CrossHead(1, None) and str(head) == "layer 2, mean of all heads"


def test_links_follow_the_row_that_predicts_a_word() -> None:
    trained = untrained()
    weights = torch.eye(4)[[2, 0, 1, 3]].numpy()  # of three words and the end
    ids = trained.target_tokenizer.encode("dog a the")
    assert links_of(trained, "the dog sleeps", ids, weights) == [(2, 0), (0, 1), (1, 2)]


@given(st.text(st.sampled_from("thedogsp \u3000数"), max_size=30))
def test_words_of_ids_are_words_of_their_text(text: str) -> None:
    tokenizer = Tokenizer.fit(TokenizerKind.bpe, TEXTS, vocab_size=300)
    ids = tokenizer.encode(text)
    if "\u3000" not in text:  # whose bytes may be tokens of their own
        assert word_numbers(tokenizer, ids) == tokenizer.word_numbers(text)
    assert len(word_numbers(tokenizer, ids)) == len(ids)


def test_symbols_that_were_never_seen_are_named_once_at_the_end(
    small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run(tmp_path, "a b\nä ö a ä\n\nä\u200b\n".encode(), small_run, max_length=3)
    said = capsys.readouterr().err
    assert said == "2 lines have symbols that the model has never seen: ä ö ä\\u200b\n"


@pytest.mark.parametrize("kind", TokenizerKind)
def test_unknown_tags_and_symbols_are_found_where_they_stand(kind: TokenizerKind) -> None:
    tokenizer = Tokenizer.fit(kind, ["V;PST\tgehen gut"], tag_separator=";")
    ids = tokenizer.encode("V;NEW\tgut Ärger")
    expected = {"char": ["NEW", "Ä", "r", "r"], "word": ["NEW", "Ärger"], "bpe": ["NEW"]}[kind.value]
    assert unknown_symbols(tokenizer, "V;NEW\tgut Ärger", ids) == expected
    assert ids.count(UNK) == len(expected)


def test_lines_without_the_tags_that_a_model_learned_with_are_counted(capsys: pytest.CaptureFixture[str]) -> None:
    lines = [TranslatedLine(number, text, (Translation("x", 0.0, True, []),)) for number, text in enumerate(
        ["V;PST\tgehen", "gehen", " \tgehen"])]  # fmt: skip
    trained = untrained()
    trained.source_tokenizer = Tokenizer.fit(TokenizerKind.word, TEXTS, tag_separator=";")
    messages = Messages(trained)
    messages.note([*lines, TranslatedLine(4, "")])
    messages.finish()
    remedy = "write them before the text, as in TAG;TAG<tab>TEXT"
    assert capsys.readouterr().err == f"2 lines have no tags, with which this model was trained: {remedy}\n"
    messages = Messages(untrained())
    messages.note(lines)
    messages.finish()
    assert capsys.readouterr().err == ""


def test_random_draws_belong_to_a_line_however_lines_come_together() -> None:
    trained = untrained(decode=DecodeOptions(sample=True, seed=5, temperature=2.0))
    lines = ["the dog", "", "a cat reads", "the dog"] * 3
    whole = trained.translate(lines)
    pieces = [lines[:1], lines[1:6], lines[6:]]
    firsts = [1, 2, 7]
    again = [trained.translations(piece, first=first) for piece, first in zip(pieces, firsts, strict=True)]
    assert [line.text for some in again for line in some] == whole
    assert whole[0] != whole[3]


def test_chunks_are_small_at_first_and_keep_all_lines() -> None:
    lines = [str(number) for number in range(5_000)]
    chunks = list(chunks_of(lines))
    assert [line for chunk in chunks for line in chunk] == lines
    assert len(chunks[0]) == 64 and max(map(len, chunks)) == MOST


def test_packed_lines_are_unpacked_whatever_their_name(tmp_path: Path) -> None:
    for name in ("in.txt", "in.txt.gz"):
        (tmp_path / name).write_bytes(gzip.compress(b"the dog\n\na cat"))
        assert [line for chunk in read_chunks(str(tmp_path / name)) for line in chunk] == ["the dog", "", "a cat"]
    (tmp_path / "in.txt.gz").write_bytes(b"the dog")
    with pytest.raises(ValueError, match="in.txt.gz: cannot be unpacked"):
        list(read_chunks(str(tmp_path / "in.txt.gz")))


@POSIX
def test_lines_of_a_pipe_are_given_as_they_come(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    given_on = threading.Event()

    def speak() -> None:
        with path.open("wb", buffering=0) as pipe:
            pipe.write(b"one\r\ntwo\nthr")
            given_on.wait(10)
            pipe.write(b"ee\nfour")

    threading.Thread(target=speak, daemon=True).start()
    chunks: Iterator[list[str]] = read_chunks(str(path))
    assert next(chunks) == ["one", "two"]
    given_on.set()
    assert [line for chunk in chunks for line in chunk] == ["three", "four"]


@POSIX
def test_lines_that_drip_are_not_waited_for_longer_than_a_second(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)

    def drip() -> None:
        try:
            with path.open("wb", buffering=0) as pipe:
                for _ in range(200):
                    pipe.write(b"a\n")
                    time.sleep(0.05)
        except BrokenPipeError:
            pass

    threading.Thread(target=drip, daemon=True).start()
    assert 1 <= len(next(read_chunks(str(path)))) < 64


@POSIX
def test_a_pipe_of_many_lines_is_read_some_at_a_time(tmp_path: Path) -> None:
    path = tmp_path / "pipe"
    os.mkfifo(path)
    lines = [str(number) for number in range(9_000)]
    threading.Thread(target=lambda: path.write_text("\n".join(lines), encoding="utf-8"), daemon=True).start()
    chunks = list(read_chunks(str(path)))
    assert [line for chunk in chunks for line in chunk] == lines
    assert max(map(len, chunks)) <= MOST


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
def test_the_command_is_quiet_when_its_reader_leaves_and_speaks_utf8(
    small_run: Path, tmp_path: Path, encoding: str
) -> None:
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), f"ckpt={small_run}", "format=jsonl"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONIOENCODING": encoding, "LC_ALL": "C"},
    )
    assert process.stdin is not None and process.stdout is not None and process.stderr is not None
    process.stdin.write("数 😀\n".encode())
    process.stdin.flush()
    assert json.loads(process.stdout.readline().decode("utf-8"))["source"] == "数 😀"
    process.stdout.close()
    process.stdin.write(b"a\n")
    process.stdin.flush()
    assert process.wait(60) == 0  # although more lines may come
    said = process.stderr.read().decode("utf-8").splitlines()
    assert [line.split(":")[0] for line in said] == ["alignment"]
    process.stdin.close()
    process.stderr.close()


def test_the_prompt_answers_lines_and_commands(capsys: pytest.CaptureFixture[str]) -> None:
    talk = Conversation(untrained())
    assert "2 layers of width 16" in talk.greeting and "greedy" in talk.greeting
    assert talk.answer(":map") == "there is no line yet: type one"
    assert talk.answer("  ") == ""
    (text,) = talk.trained.translate(["the dog 😀"])
    assert talk.answer("the dog 😀") == text
    assert "never seen in training: 😀" in capsys.readouterr().err
    assert talk.answer(":best 3") == "beam of 3, 3 best"
    assert len(talk.answer("the dog").split("\n")) == 3
    assert talk.answer(":beam 2") == "beam of 2, 2 best"
    assert talk.answer(":beam 1") == "greedy"
    assert "is no command here" in talk.answer(":mop") and talk.num_lines == 2
    assert talk.answer(":map 3 1") == "layers are 1 to 2, heads 1 to 2"
    assert talk.answer(":beam 0").startswith("decode.beam_size (0) must be positive")


@pytest.mark.parametrize("kind", TokenizerKind)
def test_the_prompt_draws_what_the_last_translation_looked_at(kind: TokenizerKind) -> None:
    talk = Conversation(untrained(kind))
    answer = talk.answer("数据 dog")
    lines = talk.answer(":map 1 2").split("\n")
    assert lines[0] == "cross attention, layer 1, head 2"
    rows = [line.split(" ")[-1] for line in lines if set(line[-2:]) <= set("·░▒▓█")]
    words = list(answer) if kind is TokenizerKind.char else answer.split()
    assert len(rows) == len(words) + 1  # and the end


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
        assert "never seen in training: 数据" in until("\r\n> ")
        os.write(terminal, b":map\n")
        assert "数据" in until("█ from 70 %")
        until("\r\n> ")  # typed before the prompt, an end of file would be no more than a character
        os.write(terminal, b"\x04")
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        os.close(terminal)


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("a b\nc\n".encode("utf-16-le"), "line 1: a zero byte, which no text has (is it UTF-16?)"),
        ("a b\n".encode("utf-16"), "line 1: not UTF-8 but UTF-16: convert the file"),
        (b"a b\nc\0d\n", "line 2: a zero byte"),
    ],
)
def test_what_is_no_text_is_refused_with_its_line(tmp_path: Path, raw: bytes, message: str) -> None:
    (tmp_path / "in.txt").write_bytes(raw)
    with pytest.raises(ValueError, match=re.escape(message)):
        list(read_lines(str(tmp_path / "in.txt")))
