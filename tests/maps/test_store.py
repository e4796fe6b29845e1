"""The folder attention/: what goes in comes out, whatever happens to the files."""

from __future__ import annotations

import csv
import io
import json
import math
import os
import pickle
import tracemalloc
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from planted_log import planted_log, planted_maps

from seq2see.maps import AttentionLog, Example, Maps, page
from seq2see.maps.arrays import visible, write_maps
from seq2see.maps.store import densest_step, room_for

MODEL = {"d_model": 8, "num_heads": 2, "num_encoder_layers": 3, "num_decoder_layers": 1}
EXAMPLES = [
    Example(7, "a b c", "x y", ("a", "b", "c", "<eos>"), ("x", "y", "<eos>"), links=((0, 1), (2, 0))),
    Example("last", "a", "", ("a", "<eos>"), ("<eos>",)),
]


@pytest.fixture
def log(tmp_path: Path) -> AttentionLog:
    """Of two small pairs, without a step."""
    return AttentionLog.create(tmp_path, examples=EXAMPLES, model=MODEL)


@pytest.fixture
def stored(log: AttentionLog, tmp_path: Path) -> Path:
    """The folder of a log of step 5."""
    log.append(5, planted_maps(log, 5), scores={"val/loss": 1.0}, hypotheses=["x", "y"])
    return tmp_path


def rows_of(folder: Path) -> list[dict[str, str]]:
    with (folder / "metrics.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def index_of(folder: Path) -> dict[str, Any]:
    return json.loads((folder / "index.json").read_text(encoding="utf-8"))


def test_maps_come_back_within_half_precision_with_rows_that_sum_to_one(tmp_path: Path) -> None:
    log = planted_log(tmp_path / "attention", steps=(0, 100), variants=True)
    again = AttentionLog.open(tmp_path)
    assert again.steps == [0, 100]
    tokens, maps = again.at(100).hypothesis_tokens, again.maps(100)
    assert tokens is not None and tokens != again.at(0).hypothesis_tokens and tokens[0][-1] == "<eos>"
    assert maps.cross_free is not None and maps.cross_free.shape[3] == max(map(len, tokens))
    assert set(maps.named()) == set(Maps._fields)
    for name, array in maps.named().items():
        assert np.abs(array - log.maps(100).named()[name]).max() < 1e-3
        cells = visible(name, again.examples, tokens)
        assert np.abs(array.sum(-1) - cells.any(-1)[:, None, None]).max() < 1e-3
        assert (array[np.broadcast_to(~cells[:, None, None], array.shape)] == 0).all()


def test_padding_is_cut_hidden_cells_are_zero_and_encoder_and_decoder_may_differ_in_depth(log) -> None:
    maps = planted_maps(log, 0)
    widths = [(0, 0)] * 3 + [(0, 5)] * 2
    padded = {name: np.pad(array, widths, constant_values=0.25) for name, array in maps.named().items()}
    memory = AttentionLog.of_maps(Maps(**padded), examples=EXAMPLES, model=MODEL, step=3, hypotheses=["x", "y"])
    assert memory.steps == [3] and memory.at(3).hypotheses == ("x", "y") and len(memory.measures()) == 10
    for name, shape in (("encoder", (2, 3, 2, 4, 4)), ("decoder", (2, 1, 2, 3, 3)), ("cross", (2, 1, 2, 3, 4))):
        assert memory.maps(3).named()[name].shape == shape
        np.testing.assert_array_equal(memory.maps(3).named()[name], maps.named()[name])


def test_index_says_what_the_maps_are_of(log: AttentionLog, tmp_path: Path) -> None:
    scores = {"val/loss": math.nan, "train/loss": 0.5}
    log.append(200, planted_maps(log, 200), epoch=1.5, scores=scores, hypotheses=["x", "y"])
    index = index_of(tmp_path)
    assert index["schema"] == 2 and index["model"] == MODEL
    assert [example["links"] for example in index["examples"]] == [[[0, 1], [2, 0]], None]
    assert index["examples"][0]["special"] == {"source_eos": 3, "target_bos": 0, "target_eos": 2}
    assert index["steps"] == [
        {
            "step": 200,
            "epoch": 1.5,
            "file": "step-00000200.npz",
            "scores": {"val/loss": None, "train/loss": 0.5},
            "hypotheses": ["x", "y"],
            "hypothesis_tokens": None,
        }
    ]
    again = AttentionLog.open(tmp_path)
    assert math.isnan(again.at(200).scores["val/loss"]) and again.at(200).hypotheses == ("x", "y")
    assert again.examples == tuple(EXAMPLES)


def test_measures_are_one_row_for_each_step_kind_layer_and_head(log: AttentionLog, tmp_path: Path) -> None:
    for step in (0, 10):
        log.append(step, planted_maps(log, step))
    rows = rows_of(tmp_path)
    assert len(rows) == 2 * (3 + 1 + 1) * 2
    assert [row["kind"] for row in rows[:10]] == ["encoder"] * 6 + ["decoder"] * 2 + ["cross"] * 2
    assert rows[0]["drift"] == "" and float(rows[-1]["drift"]) > 0
    assert rows[0]["alignment_error_rate"] == "" and 0 <= float(rows[-1]["alignment_error_rate"]) <= 1
    for row, again in zip(log.measures(), AttentionLog.open(tmp_path).measures(), strict=True):
        assert row[:4] == again[:4]
        np.testing.assert_allclose(row[4:], again[4:], rtol=1e-5)


def test_what_heads_are_worth_stands_in_the_table_where_it_was_measured(tmp_path: Path) -> None:
    planted_log(tmp_path, steps=(0, 10, 100), variants=True)
    names = ("importance", "ablation_loss", "ablation_exact_match")
    worth = {
        row["step"]: [row[name] for name in names]
        for row in rows_of(tmp_path)
        if (row["layer"], row["head"]) == ("1", "2")
    }
    assert worth["0"] == ["0.06", "0.12", "-0.0833333"] and worth["10"] == ["", "", ""]


def test_thinning_keeps_the_first_the_last_and_log_spaced_steps_and_all_scores_and_measures(
    log: AttentionLog, tmp_path: Path
) -> None:
    log.max_megabytes = 0.009
    steps = [0, 1, 2, 4, 8, 16, *range(50, 400, 50)]
    for step in steps:
        log.append(step, planted_maps(log, step), scores={"val/loss": 0.5 * step}, hypotheses=["x", "y"])
    files = sorted(tmp_path.glob("step-*.npz"))
    again = AttentionLog.open(tmp_path)
    assert sum(file.stat().st_size for file in files) <= 9e3
    assert [int(file.stem[5:]) for file in files] == log.steps == again.steps
    assert again.steps[0] == 0 and again.steps[-1] == 350 and 2 < len(again.steps) < len(steps)
    assert sum(step <= 50 for step in again.steps) >= 2
    assert {row.step for row in log.measures()} == set(steps)
    assert [(old.step, old.scores["val/loss"]) for old in again.history] == [(step, 0.5 * step) for step in steps]
    assert [entry["file"] is not None for entry in index_of(tmp_path)["steps"]] == [s in again.steps for s in steps]
    gone = next(step for step in steps if step not in again.steps)
    with pytest.raises(ValueError, match=rf"step {gone}: its maps were dropped .* 0\.009 megabytes; choose one of 0, "):
        again.maps(gone)
    assert densest_step([0, 1, 2, 4, 800, 900, 1000]) == 900 and densest_step([0, 10, 1000]) == 10


def test_a_resumed_run_replaces_what_was_logged_after_its_checkpoint(log, tmp_path: Path) -> None:
    for step in (0, 100, 200):
        log.append(step, planted_maps(log, step))
    resumed = AttentionLog.open(tmp_path)
    resumed.append(150, planted_maps(log, 150))
    assert resumed.steps == [0, 100, 150] and not (tmp_path / "step-00000200.npz").exists()
    assert sorted({row.step for row in AttentionLog.open(tmp_path).measures()}) == [0, 100, 150]


def test_a_log_of_schema_1_still_opens(stored: Path) -> None:
    index = index_of(stored)
    del index["steps"][0]["hypothesis_tokens"]
    (stored / "index.json").write_text(json.dumps({**index, "schema": 1}), encoding="utf-8")
    again = AttentionLog.open(stored)
    assert again.at(5).hypothesis_tokens is None and again.maps(5).cross_norm is None
    file = again.save(stored / "maps.html", title="a < b")
    assert "<title>a &lt; b</title>" in file.read_text(encoding="utf-8") and "head_distance" in page.render(again)


def test_diverged_weights_are_stored_and_do_not_stop_the_run(log: AttentionLog, tmp_path: Path) -> None:
    maps = planted_maps(log, 0)
    log.append(0, maps._replace(encoder=maps.encoder * np.nan), scores={"train/loss": math.inf})
    assert np.isnan(AttentionLog.open(tmp_path).maps(0).encoder).any()


def test_own_outputs_need_their_tokens() -> None:
    log = planted_log(steps=(0,), variants=True)
    for tokens, message in (
        (None, "need hypothesis_tokens"),
        ([["a"]], "1 hypotheses for 4 examples"),
        ([["a"]] * 4, r"decoder_free maps have shape .* need \(4, 2, 4, 1, 1\)"),
    ):
        maps = log.maps(0)._replace(decoder_free=np.zeros((4, 2, 4, 0, 0)))
        with pytest.raises(ValueError, match=message):
            log.append(1, maps, hypothesis_tokens=tokens)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"schema": 99}', r"written by a newer seq2see \(schema 99, .*update seq2see"),
        ('{"schema": 1}', "not a valid attention log .*log the run again"),
        ("{", "cannot be read .*restore the file"),
        ("[]", r"cannot be read \(not a JSON object\)"),
        ("{}", "has no schema version"),
        ("[" * 100_000, "cannot be read .*restore the file"),
    ],
)
def test_a_newer_or_broken_index_is_named_with_the_remedy(tmp_path: Path, content: str, message: str) -> None:
    (tmp_path / "index.json").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=rf"index\.json: {message}"):
        AttentionLog.open(tmp_path)


@pytest.mark.parametrize(
    ("path", "value"),
    [
        ("examples 0 links", [[0.5, "x"]]),
        ("model num_heads", 1e999),
        ("max_megabytes", 10**400),
        ("steps 0 scores", {"val/loss": 10**400}),
        ("steps 0", "step"),
    ],
)
def test_an_index_of_wrong_values_is_named(stored: Path, path: str, value: object) -> None:
    index = index_of(stored)
    *parents, last = (int(key) if key.isdigit() else key for key in path.split())
    place: Any = index
    for key in parents:
        place = place[key]
    place[last] = value
    (stored / "index.json").write_text(json.dumps(index), encoding="utf-8")
    with pytest.raises(ValueError, match=r"index\.json: not a valid attention log .*restore the file"):
        AttentionLog.open(stored)


def npz(header: bytes | None, data: bytes, *, name: str = "encoder.npy") -> bytes:
    """A step file of one array, with any header of numpy's; None: none."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as entries:
        magic = b"" if header is None else b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header
        entries.writestr(name, magic + data)
    return stream.getvalue()


HEADER = b"{'descr': '%s', 'fortran_order': False, 'shape': (2, 3, 2, 4, 4)}\n"
STRANGE = {
    "deflate bomb": (lambda: npz(HEADER % b"<f2", bytes(150_000_000)), "unpack to far more"),
    "bomb under another name": (lambda: npz(None, bytes(150_000_000), name="x"), "unpack to far more"),
    "huge header": (lambda: npz((HEADER % b"<f2").replace(b"4, 4", b"4, 9" * 14), b""), "of float16, the index says"),
    "other numbers": (lambda: npz(HEADER % b"<f8", bytes(1536)), "of float64, the index says"),
    "objects": (lambda: npz(HEADER % b"|O", pickle.dumps([])), "of object, the index says"),
    "cut array": (lambda: npz(HEADER % b"<f2", bytes(100)), "cannot reshape"),
    "no array": (lambda: npz(None, b"text"), "magic string"),
    "encoder alone": (lambda: npz(HEADER % b"<f2", bytes(384)), "missing .* 'decoder' and 'cross'"),
    "pickle": (lambda: pickle.dumps([1]), "not a zip file"),
    "empty": (lambda: b"", "not a zip file"),
    "gone": (None, "no such file"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_strange_or_damaged_step_file_is_refused_before_it_takes_memory(stored: Path, name: str) -> None:
    make, message = STRANGE[name]
    file = stored / "step-00000005.npz"
    file.unlink()
    if make is not None:
        file.write_bytes(make())
    log = AttentionLog.open(stored)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=rf"step-00000005\.npz: cannot be read .*{message}.*log the run") as caught:
            log.maps(5)
        assert tracemalloc.get_traced_memory()[1] < 2e6
    finally:
        tracemalloc.stop()
    assert "allow_pickle" not in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
@pytest.mark.parametrize("name", ["index.json", "step-00000005.npz"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(stored: Path, name: str) -> None:
    (stored / name).unlink()
    os.mkfifo(stored / name)
    with pytest.raises(ValueError, match=r"no attention log here .*attention_log\.enabled=true|no such file"):
        AttentionLog.open(stored).maps(5)


@pytest.mark.parametrize("content", [b"step\n\xff\n", b"step\n1\n", b"step\n\0\n", b"step\n" + b"1" * 200_000])
def test_a_damaged_table_of_measures_is_named(stored: Path, content: bytes) -> None:
    (stored / "metrics.csv").write_bytes(content)
    with pytest.raises(ValueError, match=r"metrics\.csv, line \d+: not a row of measures .*delete the file"):
        AttentionLog.open(stored).measures()


def test_what_does_not_fit_names_both_sides(log: AttentionLog, tmp_path: Path) -> None:
    maps, tokens = planted_maps(log, 0), (("a", "<eos>"), ("x", "<eos>"))
    with pytest.raises(ValueError, match=r"cross maps have shape \(2, 1, 1, 3, 4\), .* need \(2, 1, 2, 3, 4\)"):
        log.append(0, maps._replace(cross=maps.cross[:, :, :1]))
    with pytest.raises(ValueError, match="1 hypotheses for 2 examples"):
        log.append(0, maps, hypotheses=["x"])
    with pytest.raises(ValueError, match="step 9 is not stored; choose one of"):
        log.maps(9)
    with pytest.raises(ValueError, match="already holds an attention log"):
        AttentionLog.create(tmp_path, examples=EXAMPLES, model=MODEL)
    with pytest.raises(ValueError, match="link 1-0 lies outside 1 source and 1 target tokens"):
        Example(0, "a", "x", *tokens, links=((1, 0),))


def test_the_size_of_a_log_is_reckoned_before_it_begins() -> None:
    text = " ".join("abcdefghij" * 12)
    tokens = (*text.split(), "<eos>")
    examples = [Example(number, text, text, tokens, tokens) for number in range(12)]
    model = {"d_model": 16, "num_heads": 8, "num_encoder_layers": 3, "num_decoder_layers": 3}
    assert room_for(examples[:1], {**model, "num_heads": 1}, 50) == (1, True)
    num_pairs, is_whole = room_for(examples, model, 50)
    assert 2 <= num_pairs < 12 and not is_whole
    noise = np.random.default_rng(0).random((num_pairs, 3, 8, 121, 121), np.float32)
    noise /= noise.sum(-1, keepdims=True)
    stream = io.BytesIO()
    write_maps(stream, Maps(noise, np.tril(noise), noise))
    assert 12 * stream.tell() <= 50e6  # norms are as many, and own outputs
    assert room_for(examples, model, 0.001) == (1, False) and room_for([], model, 50) == (0, True)
