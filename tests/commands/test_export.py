"""An exported model translates as the model does."""

import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pytest
import torch

import seq2see
from seq2see.commands.export import NEEDED, export
from seq2see.commands.shell import run
from seq2see.decoding import LengthLimit, TranslationModel, load
from seq2see.decoding.checkpoint import write_checkpoint
from seq2see.options import (
    Activation,
    DecodeOptions,
    ExportFormat,
    ExportOptions,
    ModelOptions,
    NormOrder,
    Position,
    Score,
    TokenizerKind,
    TokenizerOptions,
    TrainOptions,
)
from seq2see.text import EOS, Tokenizer
from seq2see.transformer import Transformer

needs_onnx = pytest.mark.skipif(
    any(importlib.util.find_spec(name) is None for name in NEEDED), reason="needs pip install 'seq2see[onnx]'"
)
WORDS = "the dog sleeps une école 数据 e\u0301t a 'b <pad>".split()
SHAPES: dict[str, tuple[TokenizerKind, dict[str, Any]]] = {
    "rope": (TokenizerKind.char, dict(position=Position.rope, num_kv_heads=1)),
    "relative": (
        TokenizerKind.bpe,
        dict(position=Position.relative, cross_position=Position.relative, share_layers=True, num_kv_heads=2),
    ),
    "alibi": (
        TokenizerKind.word,
        dict(position=Position.alibi, cross_position=Position.alibi, norm=NormOrder.post, tie_embeddings=True),
    ),
    "learned": (TokenizerKind.char, dict(position=Position.learned, max_positions=14, activation=Activation.gelu)),
    "sinusoidal": (TokenizerKind.word, dict(position=Position.sinusoidal, window=2, activation=Activation.swiglu)),
    "none": (TokenizerKind.bpe, dict(position=Position.none, score=Score.additive, tie_embeddings=True)),
}


def lines_of(seed: int, count: int = 200) -> list[str]:
    random = Random(seed)
    return [" ".join(random.choices([*WORDS, "new"], k=random.randint(1, 7))) for _ in range(count)]


def checkpoint(file: Path, name: str, *, separator: str | None = None) -> Path:
    """Of a model of this shape that is sure of something, and seldom ends."""
    kind, chosen = SHAPES[name]
    torch.manual_seed(1)
    shape = ModelOptions(d_model=32, num_heads=4, num_encoder_layers=2, num_decoder_layers=2, d_ff=32, **chosen)
    tags = [f"V;{tag}\t" if separator else "" for tag in ("PST", "3", "e\u0301")]
    source = Tokenizer.fit(kind, [tag + line for tag in tags for line in [" ".join(WORDS)]], tag_separator=separator)
    target = source.without_tags()
    model = Transformer(shape, source.vocab_size, target.vocab_size, shared_vocabulary=True)
    with torch.no_grad():
        model.output_proj.weight.mul_(20)
        model.output_proj.weight[EOS] *= 0.5
    tokenizing, decode = TokenizerOptions(source=kind, target=kind, shared=True), DecodeOptions(max_source_length=40)
    options = TrainOptions(model=shape, tokenizer=tokenizing, decode=decode)
    trained = TranslationModel(options, source, target, LengthLimit(1.2), model)
    state = {f"model.{key}": value for key, value in model.state_dict().items()}
    write_checkpoint(file, {"seq2see": trained.describe(), "global_step": 7, "state_dict": state})
    return file


def translations(model: TranslationModel, lines: list[str], beam_size: int) -> tuple[list[str], list[float]]:
    model.decode_as(DecodeOptions(beam_size=beam_size))
    found = [line.translations[0] for line in model.translations(lines)]
    return [one.text for one in found], [one.score for one in found]


def assert_same(model: TranslationModel, other: TranslationModel, lines: list[str], *, abs: float) -> None:
    for beam_size in (1, 4):
        (texts, scores), (own, its) = (translations(one, lines, beam_size) for one in (model, other))
        assert own == texts and its == pytest.approx(scores, abs=abs)
        assert len(set(texts)) > 10  # it does not say the same to all


def with_graphs(model: TranslationModel, folder: Path) -> TranslationModel:
    from onnx_model import OnnxModel

    return replace(model, model=OnnxModel(folder, model.model))  # type: ignore[arg-type]


def greedily(model: TranslationModel, lines: list[str]) -> str:
    model.decode_as(DecodeOptions(beam_size=1))
    return "".join(text.replace("\n", " ").replace("\r", " ") + "\n" for text in model.translate(lines))


def by_program(folder: Path, text: str) -> str:
    """What the folder's program writes where neither seq2see nor torch is installed."""
    code = (
        "import runpy, sys; sys.modules.update(seq2see=None, torch=None); runpy.run_path(sys.argv[1], None, '__main__')"
    )
    arguments = [sys.executable, "-I", "-c", code, str(folder / "translate.py")]
    return subprocess.run(arguments, input=text.encode(), check=True, stdout=subprocess.PIPE).stdout.decode()


@pytest.mark.parametrize("name", SHAPES)
def test_safetensors_are_read_as_a_checkpoint_is(name: str, tmp_path: Path) -> None:
    file = checkpoint(tmp_path / "own.ckpt", name, separator=";" if name == "rope" else None)
    assert run("export", [f"ckpt={file}", f"output={tmp_path / 'out'}", "format=safetensors"]) == 0
    model, other = load(str(file)), load(str(tmp_path / "out"))
    assert other.describe() == model.describe() and other.step == 7
    assert_same(model, other, lines_of(0), abs=0)
    assert {file.name for file in (tmp_path / "out").iterdir()} == {
        "config.json",
        "model.safetensors",
        "source_tokenizer.json",
        "target_tokenizer.json",
    }


def test_every_command_takes_the_folder(
    small_run: Path, short_run, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    export(ExportOptions(ckpt=str(small_run), format=ExportFormat.safetensors, output=str(out)))
    (tmp_path / "in.txt").write_text("a b c\n", encoding="utf-8")
    given = [f"ckpt={out}", f"input={tmp_path / 'in.txt'}"]
    assert run("translate", [*given, f"output={tmp_path / 'out.txt'}"]) == 0
    assert run("attention", [*given, "format=csv"]) == 0
    assert run("evaluate", [f"ckpt={out}", f"output={tmp_path / 'scores'}"]) == 0
    assert run("export", [f"ckpt={out}", f"output={tmp_path / 'again'}", "format=safetensors"]) == 0
    assert run("train", short_run(tmp_path / "more", f"init={out}", "trainer.max_steps=1")) == 0
    assert (tmp_path / "out.txt").read_text(encoding="utf-8").splitlines() == seq2see.load(str(out)).translate(
        ["a b c"]
    )
    scores = [
        json.loads((folder / "test.json").read_text(encoding="utf-8"))["scores"]
        for folder in (tmp_path / "scores", small_run / "evaluation")
    ]
    assert scores[0]["loss"] == pytest.approx(scores[1]["loss"])
    again = [(folder / "model.safetensors").read_bytes() for folder in (out, tmp_path / "again")]
    assert again[0] == again[1]


@needs_onnx
@pytest.mark.slow
def test_the_program_beside_the_graphs_translates_as_the_model_does(tmp_path: Path) -> None:
    file, folder = checkpoint(tmp_path / "own.ckpt", "rope", separator=";"), tmp_path / "out"
    assert run("export", [f"ckpt={file}", f"output={folder}"]) == 0
    model, lines = load(str(file)), lines_of(0)
    assert_same(model, with_graphs(model, folder), lines, abs=1e-3)
    lines = ["V;e\u0301\tdog", "V;unseen ;\tdog", "", " \u2028", "\t", ";\t", "a\u2028b", *lines, "dog " * 40]
    assert by_program(folder, "\ufeff" + "\r\n".join(lines)) == greedily(model, lines)


@needs_onnx
@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in SHAPES if name != "rope"])
def test_the_graphs_of_every_shape_translate_as_the_model_does(name: str, tmp_path: Path) -> None:
    file, folder = checkpoint(tmp_path / "own.ckpt", name), tmp_path / "out"
    export(ExportOptions(ckpt=str(file), output=str(folder)))
    model, lines = load(str(file)), lines_of(0)
    assert_same(model, with_graphs(model, folder), lines, abs=1e-3)
    assert by_program(folder, "\n".join(lines)) == greedily(model, lines)


@needs_onnx
@pytest.mark.slow
def test_graphs_of_8_bit_integers_are_smaller_and_nearly_as_sure(tmp_path: Path) -> None:
    file = checkpoint(tmp_path / "own.ckpt", "rope")
    for name in ("float", "int8"):
        export(ExportOptions(ckpt=str(file), output=str(tmp_path / name), int8=name == "int8"))
    model, lines = load(str(file)), lines_of(0)
    (texts, _), (own, _) = (translations(one, lines, 1) for one in (model, with_graphs(model, tmp_path / "int8")))
    first = [text[:1] for text in texts]
    assert 0.7 < sum(a == b[:1] for a, b in zip(first, own, strict=True)) / len(lines) and own != texts
    sizes = [(tmp_path / name / "encoder.onnx").stat().st_size for name in ("float", "int8")]
    assert sizes[1] < sizes[0]


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("ckpt=RUN", "ckpt or output is missing: name both"),
        ("ckpt=RUN output=RUN", "is not empty: name a new folder"),
        ("ckpt=RUN output=new format=safetensors int8=true", "int8=true is of ONNX graphs, and format=safetensors is"),
        ("ckpt=RUN output=RUN/config.yaml", "cannot be written (File exists)"),
    ],
)
def test_what_cannot_be_exported_is_said_in_one_line(
    typed: str, message: str, small_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run("export", typed.replace("RUN", str(small_run)).split()) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_missing_packages_are_named_before_anything_is_written(
    small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "onnxscript", None)
    assert run("export", [f"ckpt={small_run}", f"output={tmp_path / 'out'}"]) == 2
    assert "pip install 'seq2see[onnx]'" in capsys.readouterr().err and not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("model.safetensors", lambda content: content[:-9], "damaged: "),
        ("config.json", lambda content: content[:-9], "config.json: cannot be read ("),
        ("config.json", lambda content: content.replace(b'"format": 3', b'"format": 4'), "which reads format 3"),
        ("source_tokenizer.json", lambda content: b"{}", "source_tokenizer.json is no tokenizer of seq2see"),
        ("source_tokenizer.json", lambda content: content.replace(b'" pad":0', b'" pad":9'), "whose ids are not"),
    ],
)
def test_a_damaged_folder_is_refused_in_one_line(
    name: str, change, message: str, small_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    export(ExportOptions(ckpt=str(small_run), format=ExportFormat.safetensors, output=str(tmp_path)))
    (tmp_path / name).write_bytes(change((tmp_path / name).read_bytes()))
    assert run("translate", [f"ckpt={tmp_path}"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line and str(tmp_path) in line
