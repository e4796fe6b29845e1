"""`scripts/attention.py`: maps of any text in every format, and alignments scored."""

import csv
import json
import os
import subprocess
import sys
import xml.etree.ElementTree as ElementTree
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from rich.cells import cell_len

from seq2see.commands.attention import Line, attention, log_of
from seq2see.commands.evaluate_cases import add_cases
from seq2see.commands.shell import run as run_command
from seq2see.commands.translate import translate
from seq2see.decoding import TranslationModel, decode_sentences, load
from seq2see.evaluation import evaluate_pairs
from seq2see.maps import AttentionLog, Example, Maps
from seq2see.options import (
    AttentionFormat,
    AttentionKind,
    AttentionOptions,
    DecodeOptions,
    Position,
    TranslateOptions,
    TranslationFormat,
)
from seq2see.tasks import Pair
from seq2see.text import EOS, UNK
from seq2see.transformer import Transformer


@pytest.fixture(scope="module")
def trained(small_run: Path) -> TranslationModel:
    return load(str(small_run))


@pytest.fixture
def texts(tmp_path: Path) -> dict[str, str]:
    """A checkpoint's lines and targets for them, as options."""
    (tmp_path / "in.txt").write_text("a b c\n\nd <e> f\n", encoding="utf-8")
    (tmp_path / "targets.txt").write_text("c b\n\na\n", encoding="utf-8")
    return {"input": str(tmp_path / "in.txt"), "target": str(tmp_path / "targets.txt")}


def rows_of(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def table(folder: Path, **options: Any) -> list[dict[str, str]]:
    """What `format=csv` writes with these options."""
    output = folder / "maps.csv"
    assert attention(AttentionOptions(format=AttentionFormat.csv, output=str(output), **options)) == output
    return rows_of(output)


def chosen_head(run: Path) -> dict[str, Any]:
    return json.loads((run / "evaluation" / "test.json").read_text(encoding="utf-8"))["alignment"]["predicts"]


def test_the_decoder_is_fed_the_ids_that_the_model_wrote_even_if_their_text_has_others(
    trained: TranslationModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = [UNK, 5, UNK]  # shown as `<unk>`, which as text is several letters, or another word
    hypothesis = type(decode_sentences(trained.model, [[4]], limit=trained.length_limit)[0][0])(ids, -1.0, True)
    monkeypatch.setattr("seq2see.commands.attention.decode_sentences", lambda *_, **__: [[hypothesis]])
    log = log_of(trained, [Line(1, "a b")])
    assert log.examples[0].target_tokens == ("<unk>", *trained.target_tokenizer.tokens([5]), "<unk>", "<eos>")
    assert log.maps(trained.step).cross.shape[-2] == 4


def test_given_targets_are_fed_beside_the_models_own_output(trained: TranslationModel) -> None:
    lines = [Line(1, "a b c", "c b"), Line(3, "d e", "")]
    log = log_of(trained, lines)
    assert [example.target_tokens for example in log.examples] == [("c", "b", "<eos>"), ("<eos>",)]
    own = log_of(trained, [line._replace(target=None) for line in lines])
    forced, free = log.maps(trained.step), own.maps(trained.step)
    stored = log.at(trained.step)
    assert stored.hypotheses == own.at(trained.step).hypotheses and stored.hypothesis_tokens is not None
    assert forced.cross_free is not None
    for number, tokens in enumerate(stored.hypothesis_tokens):
        rows = slice(0, len(tokens))
        np.testing.assert_allclose(forced.cross_free[number, ..., rows, :], free.cross[number, ..., rows, :], atol=1e-6)


def test_targets_are_as_many_as_lines_and_a_blank_line_is_left_out_with_its_own(
    small_run: Path, texts: dict[str, str], tmp_path: Path
) -> None:
    assert sorted({row["line"] for row in table(tmp_path, ckpt=str(small_run), **texts)}) == ["1", "3"]
    (tmp_path / "targets.txt").write_text("c b\n", encoding="utf-8")
    with pytest.raises(ValueError, match="targets.txt has 1 lines, .*in.txt has 3: give one target for each line"):
        attention(AttentionOptions(ckpt=str(small_run), **texts))


@pytest.mark.parametrize("kind", list(AttentionKind))
def test_the_table_has_the_models_weights_one_row_a_visible_cell(
    kind: AttentionKind, small_run: Path, trained: TranslationModel, texts: dict[str, str], tmp_path: Path
) -> None:
    rows = table(tmp_path, ckpt=str(small_run), kind=kind, layer=2, head=3, **texts)
    rows = [row for row in rows if row["line"] == "1" and row["text"] in ("given", "source")]
    own = log_of(trained, [Line(1, "a b c", "c b")]).maps(trained.step).named()[kind.value][0, 1, 2]
    for row in rows:
        assert (row["kind"], row["layer"], row["head"]) == (kind.value, "2", "3")
        assert float(row["weight"]) == pytest.approx(own[int(row["query"]) - 1, int(row["key"]) - 1], abs=1e-5)
    names = {"cross": ("c b <eos>", "a b c <eos>"), "encoder": ("a b c <eos>", "a b c <eos>")}
    queries, keys = names.get(kind.value, ("c b <eos>", "<bos> c b"))
    cells = [(row["query_token"], row["key_token"]) for row in rows]
    causal = kind is AttentionKind.decoder
    assert cells == [
        (query, key)
        for row, query in enumerate(queries.split())
        for column, key in enumerate(keys.split())
        if not (causal and column > row)
    ]


def test_without_a_head_it_is_the_one_that_aligned_best_or_the_mean_of_the_last_layer_and_it_says_so(
    small_run: Path, texts: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    chosen, alone = chosen_head(small_run), tmp_path / "alone.ckpt"
    alone.write_bytes((small_run / "checkpoints" / "best.ckpt").read_bytes())
    for ckpt, said in (
        (small_run, f"cross attention, layer {chosen['layer']}, head {chosen['head']} (aligned best"),
        (alone, "cross attention, layer 2, mean of all heads (layer= and head= choose"),
    ):
        attention(AttentionOptions(ckpt=str(ckpt), format=AttentionFormat.terminal, input=texts["input"]))
        assert capsys.readouterr().out.startswith(said)


def test_terminal_and_figure_hold_any_text(
    small_run: Path, texts: dict[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    strange = "猫 \u05d7\u05ea\u05d5\u05dc \x1b[31m \x07"
    (tmp_path / "in.txt").write_text("a " * 60 + f"</script> <b> &\n\n{strange}\n", encoding="utf-8")
    attention(AttentionOptions(ckpt=str(small_run), format=AttentionFormat.terminal, input=texts["input"]))
    output = capsys.readouterr().out
    assert "\x1b" not in output and "猫" in output
    assert max(cell_len(line) for line in output.split("\n")) <= 80
    options = {"format": AttentionFormat.svg, "kind": AttentionKind.decoder, "output": str(tmp_path / "maps.svg")}
    attention(AttentionOptions(ckpt=str(small_run), **options, **texts))
    root = ElementTree.fromstring((tmp_path / "maps.svg").read_text(encoding="utf-8"))
    shown = [text.text for text in root.iter("{http://www.w3.org/2000/svg}text")]
    assert "a " * 60 + "</script> <b> &" in shown and "given: c b" in shown
    assert shown.count("<bos>") == 4  # two texts, given and own output
    assert "script" not in {element.tag.split("}")[1] for element in root.iter()}


def test_a_runs_log_is_shown_in_every_format(
    small_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    for form in (form for form in AttentionFormat if form is not AttentionFormat.playground):
        attention(AttentionOptions(run=str(small_run), format=form))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["attention.html", "attention.svg"]
    said = capsys.readouterr()
    assert "the lowest alignment error rate on the logged pairs" in said.out
    rows = csv.DictReader(said.out[said.out.index("line,text,kind") :].split("\ncross attention")[0].split("\n"))
    assert next(rows)["query_token"] == AttentionLog.open(small_run).examples[0].target_tokens[0]
    assert said.err.startswith("cross attention, layer ")  # beside a table on standard output


@pytest.mark.parametrize("kind", list(AttentionKind))
def test_weights_and_norms_of_a_run_are_those_of_any_stored_step_and_without_a_head_the_layers_mean(
    kind: AttentionKind, small_run: Path, tmp_path: Path
) -> None:
    log, tables = AttentionLog.open(small_run), []
    first, last = log.steps[0], log.steps[-1]
    for step, head, norms in (
        (None, 1, False),
        (last, 1, False),
        (first, 1, False),
        (None, None, False),
        (last, 1, True),
    ):
        rows = table(tmp_path, run=str(small_run), kind=kind, layer=2, head=head, step=step, norms=norms)
        maps = log.maps(last if step is None else step).named()
        suffix, column = ("_norm", "norm") if norms else ("", "weight")
        names = {"output": f"{kind.value}_free{suffix}", "given": kind.value + suffix, "source": f"encoder{suffix}"}
        for row in rows:
            if row["line"] == rows[0]["line"]:
                own = maps[names[row["text"]]][0, 1, ..., int(row["query"]) - 1, int(row["key"]) - 1]
                assert float(row[column]) == pytest.approx(own[0] if head else own.mean(), abs=1e-5)
        assert {row["text"] for row in rows} == ({"source"} if kind is AttentionKind.encoder else {"given", "output"})
        tables.append(rows)
    assert tables[0] == tables[1] != tables[2]


def test_the_step_stands_in_the_title_and_one_that_is_not_stored_is_told_those_that_are(
    small_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    steps = AttentionLog.open(small_run).steps
    attention(AttentionOptions(run=str(small_run), format=AttentionFormat.terminal, step=steps[1], layer=1, head=1))
    assert capsys.readouterr().out.split("\n")[0] == f"cross attention, layer 1, head 1, step {steps[1]}"
    missing = next(step for step in range(steps[-1]) if step not in steps)
    with pytest.raises(ValueError, match=f"step={missing} is not stored: there are maps of step 0, 4, .*{steps[-1]}$"):
        attention(AttentionOptions(run=str(small_run), step=missing))


def test_norms_that_are_not_there_are_missed_in_words(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    straight = np.eye(2, dtype=np.float32)[None, None, None]
    model = {"d_model": 8, "num_heads": 1, "num_encoder_layers": 1, "num_decoder_layers": 1}
    log = AttentionLog.create(tmp_path, examples=[Example(0, "a", "b", ("a", "<eos>"), ("b", "<eos>"))], model=model)
    log.append(0, Maps(straight, straight, straight))
    assert run_command("attention", [f"run={tmp_path}", "norms=true"]) == 2
    assert "norms=true: the log has weights alone at step 0: leave norms out" in capsys.readouterr().err


def test_the_page_opens_with_what_was_chosen(small_run: Path, texts: dict[str, str], tmp_path: Path) -> None:
    def view(**options: Any) -> str:
        output = tmp_path / "maps.html"
        attention(AttentionOptions(output=str(output), **options))
        return json.loads(output.read_text(encoding="utf-8").split('id="log">')[1].split("</script>")[0])["view"]

    run = str(small_run)
    own = {"layer": 1, "head": 2, "norms": True, "kind": AttentionKind.encoder}
    assert view(ckpt=run, input=texts["input"], **own) == "kind=encoder&layer=1&head=2&cells=norms"
    assert view(run=run, step=4, **own) == "kind=encoder&layer=1&head=2&step=4&cells=norms"
    assert view(run=run, kind=AttentionKind.decoder, layer=1) == "kind=decoder&layer=1&head=1"
    chosen = chosen_head(small_run)
    assert view(ckpt=run, input=texts["input"]) == f"kind=cross&layer={chosen['layer']}&head={chosen['head']}"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["layer=3"], "layer=3: cross attention has layers 1 to 2"),
        (["layer=1", "head=9"], "head=9: there are heads 1 to 4"),
        (["head=1"], "head=1 is one of each layer's heads: set layer= too"),
        (["layer=0"], "layer (0) must be positive"),
        (["format=pdf"], "expected one of [html, svg, csv, terminal, playground]"),
        (["kind=self"], "expected one of [cross, encoder, decoder]"),
        (["run=here"], "one of them"),
        (["gold=g"], "one of them"),
        (
            ["gold=g", "ckpt=null", "input=null", "norms=true"],
            "norms= is for ckpt= or run=, and gold= is set: leave out one of them",
        ),
        (["step=-1"], "step (-1) must not be negative"),
        (["step=3"], "step= is for run=, and ckpt= is set"),
        (["reverse=r"], "reverse= is for gold=, and ckpt= is set"),
    ],
)
def test_bad_values_are_one_message_and_exit_code_2(
    arguments: list[str], message: str, small_run: Path, texts: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run_command("attention", [f"ckpt={small_run}", f"input={texts['input']}", *arguments]) == 2
    error = capsys.readouterr().err
    assert message in error and "Traceback" not in error and error.count("\n") == 1


def test_outputs_that_fill_a_learned_table_are_shown_and_counted_and_longer_targets_named(
    trained: TranslationModel, capsys: pytest.CaptureFixture[str]
) -> None:
    shape = replace(trained.options.model, position=Position.learned, max_positions=10)
    sizes = trained.source_tokenizer.vocab_size, trained.target_tokenizer.vocab_size
    model = Transformer(shape, *sizes, shared_vocabulary=True).eval()
    with torch.no_grad():
        model.output_proj.weight[EOS] = 0.0
    full = replace(trained, options=replace(trained.options, model=shape), model=model)
    full.decode_as(DecodeOptions(max_length=10))
    lines = [Line(1, "a b c"), Line(3, "d e")]
    assert log_of(full, lines).maps(full.step).cross.shape[-2] == 10
    assert capsys.readouterr().err == (
        "2 outputs were cut at the length limit (lines 1, 3): "
        "the model has no more positions (model.max_positions=10): train it with more\n"
    )
    log_of(full, [line._replace(target="a " * 9) for line in lines])
    evaluation = evaluate_pairs(full, [Pair("a b c", "a " * 9), Pair("d e", "d e")])
    add_cases(full, evaluation, name="test")
    assert evaluation.details["hit_length_limit"] == 2 and evaluation.page
    with pytest.raises(ValueError, match=r"input, line 2: 11 tokens.* more than the 10 that the model reads"):
        log_of(full, [Line(2, "a " * 10)])
    with pytest.raises(ValueError, match=r"target, line 3: 11 tokens.* more than the 10 .*\(model.max_positions\)"):
        log_of(full, [lines[0]._replace(target="a"), lines[1]._replace(target="a " * 10)])


def scored(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, list[str]]:
    """The rows of the table by their names."""
    assert run_command("attention", list(arguments)) == 0
    lines = capsys.readouterr().out.split("\n\n")[1].split("\n")[1:]
    return {name: rest.split() for name, rest in (line.strip().split(maxsplit=1) for line in lines if line)}


def test_links_are_scored_as_by_hand(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gold").write_text("0-0 1-2 2p1 3?1\n0-0\n", encoding="utf-8")
    (tmp_path / "found").write_text("0-0 2-1 3-3\n0-0 0-1\n", encoding="utf-8")
    rows = scored(capsys, f"gold={tmp_path / 'gold'}", f"hypothesis={tmp_path / 'found'}")
    assert rows == {"hypothesis": ["0.6000", "0.6667", "0.3750", "5"]}  # 3/5, 2/3, 1 - (2 + 3)/(5 + 3)


def test_two_directions_are_made_into_one(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gold").write_text("0-0 1-1 2-2 3-3\n", encoding="utf-8")
    (tmp_path / "forward").write_text("0-0 1-1 2-2 4-5\n", encoding="utf-8")
    (tmp_path / "reverse").write_text("0-0 2-1 2-2 3-3 5-5\n", encoding="utf-8")  # its own source first
    files = [f"gold={tmp_path / 'gold'}", f"hypothesis={tmp_path / 'forward'}", f"reverse={tmp_path / 'reverse'}"]
    rows = scored(capsys, *files)
    assert {name: row[-1] for name, row in rows.items()} == {
        "hypothesis": "4", "reverse": "5", "intersection": "2", "union": "7", "grow-diag-final-and": "5",
    }  # fmt: skip
    assert rows["intersection"][:3] == ["1.0000", "0.5000", "0.3333"]
    assert rows["grow-diag-final-and"][:3] == ["0.8000", "1.0000", "0.1111"]


def test_links_that_cannot_be_scored_exit_with_2(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "gold").write_text("0-0\n0-0\n", encoding="utf-8")
    for content, message in (
        ("0-0\n0:0\n", "found, line 2: '0:0' is no link"),
        ("0-0\n", "found has 1 lines of links"),
    ):
        (tmp_path / "found").write_text(content, encoding="utf-8")
        assert run_command("attention", [f"gold={tmp_path / 'gold'}", f"hypothesis={tmp_path / 'found'}"]) == 2
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("form", [TranslationFormat.tsv, TranslationFormat.jsonl])
def test_what_translate_writes_is_scored_against_a_generated_tasks_links(
    form: TranslationFormat,
    small_run: Path,
    trained: TranslationModel,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = ["a b c", "d e", "f"]
    (tmp_path / "in.txt").write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    output = tmp_path / "out"
    translate(TranslateOptions(ckpt=str(small_run), input=str(tmp_path / "in.txt"), output=str(output), format=form))
    gold = [" ".join(f"{place}-{place}" for place in range(len(line.split()))) for line in lines]
    (tmp_path / "gold.txt").write_text("\n".join(gold) + "\n", encoding="utf-8")
    capsys.readouterr()
    rows = scored(capsys, f"gold={tmp_path / 'gold.txt'}", f"hypothesis={output}")
    words = sum(len(text.split()) for text in trained.translate(lines))
    assert int(rows["hypothesis"][-1]) == words  # one link for each word that was written


def test_help_names_every_key() -> None:
    script = Path(__file__).parents[2] / "scripts" / "attention.py"
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    text = subprocess.run(
        [sys.executable, str(script), "--help"], capture_output=True, check=True, text=True, env=environment
    ).stdout
    for name in AttentionOptions.__dataclass_fields__:
        assert f"{name}=" in text or name in ("average", "decode")
