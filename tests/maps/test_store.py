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
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seq2see.maps import AttentionLog, Example, Maps, page
from seq2see.maps.store import densest_step

MODEL = {"d_model": 8, "num_heads": 2, "num_encoder_layers": 3, "num_decoder_layers": 1}


def small_examples() -> list[Example]:
    return [
        Example(7, "a b c", "x y", ("a", "b", "c", "<eos>"), ("x", "y", "<eos>"), links=((0, 1), (2, 0))),
        Example("last", "a", "", ("a", "<eos>"), ("<eos>",)),
    ]


def test_maps_come_back_within_half_precision_with_rows_that_sum_to_one(tmp_path: Path, make_log):
    log = make_log(tmp_path / "attention", steps=(0, 100))
    again = AttentionLog.open(tmp_path)
    assert again.steps == [0, 100]
    for kind in ("encoder", "decoder", "cross"):
        stored, visible = getattr(again.maps(100), kind), log.visible(kind)
        real_rows = visible.any(-1)
        sums = stored.sum(-1)
        assert np.abs(sums - real_rows[:, None, None]).max() < 1e-3
        assert (stored[np.broadcast_to(~visible[:, None, None], stored.shape)] == 0).all()


def test_encoder_and_decoder_may_differ_in_depth_and_length(tmp_path: Path, make_maps):
    log = AttentionLog.create(tmp_path / "attention", examples=small_examples(), model=MODEL)
    log.append(0, make_maps(log, 0))
    maps = AttentionLog.open(tmp_path / "attention").maps(0)
    assert maps.encoder.shape == (2, 3, 2, 4, 4)
    assert maps.decoder.shape == (2, 1, 2, 3, 3)
    assert maps.cross.shape == (2, 1, 2, 3, 4)


def test_padding_beyond_the_longest_example_is_cut_and_hidden_cells_become_zero(make_maps):
    log = AttentionLog.create(None, examples=small_examples(), model=MODEL)
    maps = make_maps(log, 0)
    padded = Maps(
        **{
            name: np.pad(array, [(0, 0)] * 3 + [(0, 5)] * 2, constant_values=0.25)
            for name, array in maps.named().items()
        }
    )
    log.append(0, padded)
    np.testing.assert_array_equal(log.maps(0).cross, maps.cross)


def test_index_says_what_the_maps_are_of(tmp_path: Path, make_maps):
    log = AttentionLog.create(tmp_path, examples=small_examples(), model=MODEL)
    log.append(
        200, make_maps(log, 200), epoch=1.5, scores={"val/loss": math.nan, "train/loss": 0.5}, hypotheses=["x", "y"]
    )
    index = json.loads((tmp_path / "index.json").read_text(encoding="utf-8"))
    assert index["schema"] == 2
    assert index["model"] == MODEL
    assert index["examples"][0]["links"] == [[0, 1], [2, 0]]
    assert index["examples"][0]["special"] == {"source_eos": 3, "target_bos": 0, "target_eos": 2}
    assert index["examples"][1]["links"] is None
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
    stored = AttentionLog.open(tmp_path).at(200)
    assert math.isnan(stored.scores["val/loss"])
    assert stored.hypotheses == ("x", "y")
    assert AttentionLog.open(tmp_path).examples == tuple(small_examples())


def test_measures_are_one_row_for_each_step_kind_layer_and_head(tmp_path: Path, make_maps):
    log = AttentionLog.create(tmp_path, examples=small_examples(), model=MODEL)
    log.append(0, make_maps(log, 0))
    log.append(10, make_maps(log, 10))
    with (tmp_path / "metrics.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert len(rows) == 2 * (3 + 1 + 1) * 2
    assert [row["kind"] for row in rows[:10]] == ["encoder"] * 6 + ["decoder"] * 2 + ["cross"] * 2
    assert rows[0]["drift"] == "" and float(rows[-1]["drift"]) > 0
    assert rows[0]["alignment_error_rate"] == "" and 0 <= float(rows[-1]["alignment_error_rate"]) <= 1
    reopened = AttentionLog.open(tmp_path).measures()
    for row, again in zip(log.measures(), reopened, strict=True):
        assert row[:4] == again[:4]
        np.testing.assert_allclose(row[4:], again[4:], rtol=1e-5)


def test_a_log_in_memory_reads_like_one_on_disk(tmp_path: Path, make_maps):
    log = AttentionLog.create(None, examples=small_examples(), model=MODEL)
    maps = make_maps(log, 3)
    of_maps = AttentionLog.of_maps(maps, examples=small_examples(), model=MODEL, step=3, hypotheses=["x", "y"])
    assert of_maps.steps == [3]
    np.testing.assert_array_equal(of_maps.maps(3).encoder, maps.encoder)
    assert of_maps.at(3).hypotheses == ("x", "y")
    assert len(of_maps.measures()) == 10


def test_thinning_keeps_the_first_the_last_and_log_spaced_steps(tmp_path: Path, make_log):
    limit = 0.2
    log = make_log(tmp_path, steps=())
    log.max_megabytes = limit
    steps = [0, 1, 2, 4, 8, 16, 32, *range(50, 1050, 50)]
    full = make_log(None, steps=steps)
    for step in steps:
        log.append(step, full.maps(step))
    files = sorted(tmp_path.glob("step-*.npz"))
    assert sum(file.stat().st_size for file in files) <= limit * 1e6
    assert [int(file.stem[5:]) for file in files] == log.steps == AttentionLog.open(tmp_path).steps
    assert log.steps[0] == 0 and log.steps[-1] == 1000
    assert sum(step <= 50 for step in log.steps) >= 2
    assert {row.step for row in log.measures()} == set(steps), "the measures of thinned steps stay"


def test_a_thinned_step_keeps_its_scores_and_says_where_its_maps_went(tmp_path: Path, make_maps):
    log = AttentionLog.create(tmp_path, examples=small_examples(), model=MODEL, max_megabytes=0.004)
    for step in range(6):
        log.append(step, make_maps(log, step), scores={"val/loss": 0.5 * step}, hypotheses=["x", "y"])
    again = AttentionLog.open(tmp_path)
    assert len(again.steps) < 6 and again.steps[0] == 0 and again.steps[-1] == 5
    assert [stored.step for stored in again.history] == list(range(6))
    assert [stored.scores["val/loss"] for stored in again.history] == [0.5 * step for step in range(6)]
    entries = json.loads((tmp_path / "index.json").read_text(encoding="utf-8"))["steps"]
    assert [entry["file"] is not None for entry in entries] == [step in again.steps for step in range(6)]
    gone = next(step for step in range(6) if step not in again.steps)
    assert again.at(gone).hypotheses == ("x", "y")
    with pytest.raises(ValueError, match=rf"step {gone}: its maps were dropped .* 0\.004 megabytes; choose one of 0, "):
        again.maps(gone)
    again.append(3, make_maps(again, 3))  # a resumed run
    assert [stored.step for stored in again.history] == [0, 1, 2, 3]


def test_norms_and_own_outputs_come_back_with_the_tokens_they_are_of(tmp_path: Path, make_log):
    log = make_log(tmp_path, steps=(0, 100), variants=True)
    again = AttentionLog.open(tmp_path)
    tokens = again.at(100).hypothesis_tokens
    assert tokens is not None and all(each[-1] == "<eos>" for each in tokens)
    assert tokens != again.at(0).hypothesis_tokens
    maps = again.maps(100)
    assert maps.cross_free is not None and maps.cross_free.shape[3] == max(map(len, tokens))
    for name, array in maps.named().items():
        assert np.abs(array - log.maps(100).named()[name]).max() < 1e-3
        cells = again.visible(name, 100)
        assert np.abs(array.sum(-1) - cells.any(-1)[:, None, None]).max() < 1e-3
        assert (array[np.broadcast_to(~cells[:, None, None], array.shape)] == 0).all()


def test_own_outputs_without_their_tokens_are_refused(make_log, make_maps):
    log = make_log(steps=(0,), variants=True)
    with pytest.raises(ValueError, match="need hypothesis_tokens"):
        log.append(1, log.maps(0))
    with pytest.raises(ValueError, match="1 hypotheses for 12 examples"):
        log.append(1, log.maps(0), hypothesis_tokens=[["a"]])
    tokens = [["a"]] * 12
    with pytest.raises(ValueError, match=r"decoder_free maps have shape .* need \(12, 2, 4, 2, 2\)"):
        log.append(
            1,
            log.maps(0)._replace(decoder_free=np.zeros((12, 2, 4, 1, 1))),
            hypothesis_tokens=[*tokens[1:], ["a", "b"]],
        )


def test_what_heads_are_worth_stands_in_the_table_where_it_was_measured(tmp_path: Path, make_log):
    make_log(tmp_path, steps=(0, 10, 100), variants=True)
    with (tmp_path / "metrics.csv").open(encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    first, middle = (
        next(row for row in rows if row["step"] == step and row["layer"] == "1" and row["head"] == "2")
        for step in ("0", "10")
    )
    assert (first["importance"], first["ablation_loss"], first["ablation_exact_match"]) == (
        "0.06",
        "0.12",
        "-0.0833333",
    )
    assert middle["importance"] == middle["ablation_loss"] == middle["ablation_exact_match"] == ""


def test_a_log_of_schema_1_still_opens(tmp_path: Path, make_maps):
    log = AttentionLog.create(tmp_path, examples=small_examples(), model=MODEL)
    log.append(0, make_maps(log, 0), hypotheses=["x", "y"])
    index = json.loads((tmp_path / "index.json").read_text(encoding="utf-8"))
    del index["steps"][0]["hypothesis_tokens"]
    (tmp_path / "index.json").write_text(json.dumps({**index, "schema": 1}), encoding="utf-8")
    again = AttentionLog.open(tmp_path)
    assert again.at(0).hypothesis_tokens is None and again.maps(0).cross_norm is None
    assert "head_distance" in page.render(again)


def test_save_writes_the_page(tmp_path: Path, make_log):
    file = make_log(steps=(0,)).save(tmp_path / "maps.html", title="a < b")
    assert "<title>a &lt; b</title>" in file.read_text(encoding="utf-8")


def test_the_step_dropped_is_the_densest_in_log_distance():
    assert densest_step([0, 1, 2, 4, 800, 900, 1000]) == 900
    assert densest_step([0, 10, 1000]) == 10


def test_a_resumed_run_replaces_what_was_logged_after_its_checkpoint(tmp_path: Path, make_maps):
    log = AttentionLog.create(tmp_path, examples=small_examples(), model=MODEL)
    for step in (0, 100, 200):
        log.append(step, make_maps(log, step))
    resumed = AttentionLog.open(tmp_path)
    resumed.append(150, make_maps(log, 150))
    assert resumed.steps == [0, 100, 150]
    assert not (tmp_path / "step-00000200.npz").exists()
    assert sorted({row.step for row in AttentionLog.open(tmp_path).measures()}) == [0, 100, 150]


def test_diverged_weights_are_stored_and_do_not_stop_the_run(tmp_path: Path, make_maps):
    log = AttentionLog.create(tmp_path, examples=small_examples(), model=MODEL)
    maps = make_maps(log, 0)
    log.append(0, Maps(maps.encoder * np.nan, maps.decoder, maps.cross), scores={"train/loss": math.inf})
    assert np.isnan(AttentionLog.open(tmp_path).maps(0).encoder).any()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"schema": 99}', r"index\.json: written by a newer seq2see \(schema 99, .*update seq2see"),
        ('{"schema": 1}', r"index\.json: not a valid attention log .*log the run again"),
        ("{", r"index\.json: cannot be read .*restore the file"),
        ("[]", r"index\.json: cannot be read \(not a JSON object\)"),
        ("{}", r"index\.json: has no schema version"),
        ("[" * 100_000, r"index\.json: cannot be read .*restore the file"),
    ],
)
def test_a_newer_or_broken_index_is_named_with_the_remedy(tmp_path: Path, content: str, message: str):
    (tmp_path / "index.json").write_text(content, encoding="utf-8")
    with pytest.raises(ValueError, match=message):
        AttentionLog.open(tmp_path)


def test_a_folder_without_a_log_says_how_to_get_one(tmp_path: Path):
    with pytest.raises(ValueError, match=r"no attention log here .*attention_log\.enabled=true"):
        AttentionLog.open(tmp_path)


@pytest.mark.parametrize("damage", ["cut", "gone"])
def test_a_damaged_step_file_is_named(tmp_path: Path, make_maps, damage: str):
    log = AttentionLog.create(tmp_path, examples=small_examples(), model=MODEL)
    log.append(5, make_maps(log, 5))
    file = tmp_path / "step-00000005.npz"
    if damage == "cut":
        file.write_bytes(file.read_bytes()[:200])
    else:
        file.unlink()
    with pytest.raises(ValueError, match=r"step-00000005\.npz: cannot be read .*log the run again"):
        AttentionLog.open(tmp_path).maps(5)


def npz(header: bytes | None, data: bytes, *, name: str = "encoder.npy", stored: bool = False) -> bytes:
    """A step file of one array, with any header of numpy's; None: none."""
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED if stored else zipfile.ZIP_DEFLATED) as entries:
        magic = b"" if header is None else b"\x93NUMPY\1\0" + len(header).to_bytes(2, "little") + header
        entries.writestr(name, magic + data)
    return stream.getvalue()


SHAPE = b"{'descr': '%s', 'fortran_order': False, 'shape': %s}\n"
STRANGE = {
    "deflate bomb": (lambda: npz(SHAPE % (b"<f2", b"(2, 3, 2, 4, 4)"), bytes(150_000_000)), "unpack to far more"),
    "bomb under another name": (lambda: npz(None, bytes(150_000_000), name="x"), "unpack to far more"),
    "huge header": (
        lambda: npz(SHAPE % (b"<f2", b"(100000000000000,)"), b""),
        "has shape .100000000000000,. of float16",
    ),
    "other numbers": (lambda: npz(SHAPE % (b"<f8", b"(2, 3, 2, 4, 4)"), bytes(1536)), "of float64, the index says"),
    "objects": (lambda: npz(SHAPE % (b"|O", b"(2, 3, 2, 4, 4)"), pickle.dumps([])), "of object, the index says"),
    "cut array": (lambda: npz(SHAPE % (b"<f2", b"(2, 3, 2, 4, 4)"), bytes(100)), "cannot reshape"),
    "no array": (lambda: npz(None, b"text"), "magic string"),
    "encoder alone": (
        lambda: npz(SHAPE % (b"<f2", b"(2, 3, 2, 4, 4)"), bytes(384)),
        "missing .* 'decoder' and 'cross'",
    ),
    "pickle": (lambda: pickle.dumps([1]), "not a zip file"),
    "empty": (lambda: b"", "not a zip file"),
}


@pytest.mark.parametrize("name", STRANGE)
def test_a_step_file_from_a_stranger_is_refused_before_it_takes_memory(tmp_path: Path, make_maps, name: str):
    log = AttentionLog.create(tmp_path, examples=small_examples(), model=MODEL)
    log.append(5, make_maps(log, 5))
    file = tmp_path / "step-00000005.npz"
    make, message = STRANGE[name]
    file.write_bytes(make())
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=rf"step-00000005\.npz: cannot be read .*{message}.*log the run") as caught:
            AttentionLog.open(tmp_path).maps(5)
        assert tracemalloc.get_traced_memory()[1] < 2e6
    finally:
        tracemalloc.stop()
    assert "allow_pickle" not in str(caught.value) and "\n" not in str(caught.value)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes with names")
@pytest.mark.parametrize("name", ["index.json", "step-00000005.npz"])
def test_a_pipe_in_the_place_of_a_file_is_not_waited_for(tmp_path: Path, make_maps, name: str):
    log = AttentionLog.create(tmp_path, examples=small_examples(), model=MODEL)
    log.append(5, make_maps(log, 5))
    (tmp_path / name).unlink()
    os.mkfifo(tmp_path / name)
    with pytest.raises(ValueError, match="no attention log here" if name == "index.json" else "no such file"):
        AttentionLog.open(tmp_path).maps(5)


def changed(*path: str | int, to: object) -> Callable[[dict[str, Any]], None]:
    def change(index: dict[str, Any]) -> None:
        place: Any = index
        for key in path[:-1]:
            place = place[key]
        place[path[-1]] = to

    return change


@pytest.mark.parametrize(
    "change",
    [
        changed("examples", to=[]),
        changed("examples", 0, "source_tokens", to=[1, 2]),
        changed("examples", 0, "links", to=[[0.5, "x"]]),
        changed("model", "num_heads", to=0),
        changed("model", "num_heads", to=1e999),
        changed("max_megabytes", to=10**400),
        changed("steps", 0, "scores", to={"val/loss": 10**400}),
        changed("steps", 0, "epoch", to=[1]),
        changed("steps", 0, "hypotheses", to=["one"]),
        changed("steps", 0, "hypothesis_tokens", to=[["a"], [2]]),
        changed("steps", 0, to="step"),
    ],
)
def test_an_index_of_wrong_values_is_named(tmp_path: Path, make_maps, change: Callable[[dict[str, Any]], None]):
    log = AttentionLog.create(tmp_path, examples=small_examples(), model=MODEL)
    log.append(5, make_maps(log, 5))
    index = json.loads((tmp_path / "index.json").read_text(encoding="utf-8"))
    change(index)
    (tmp_path / "index.json").write_text(json.dumps(index), encoding="utf-8")
    with pytest.raises(ValueError, match=r"index\.json: not a valid attention log .*restore the file"):
        AttentionLog.open(tmp_path)


@pytest.mark.parametrize("content", [b"step\n\xff\n", b"step\n1\n", b"step\n\0\n", b"step\n" + b"1" * 200_000])
def test_a_damaged_table_of_measures_is_named(tmp_path: Path, make_maps, content: bytes):
    log = AttentionLog.create(tmp_path, examples=small_examples(), model=MODEL)
    log.append(5, make_maps(log, 5))
    (tmp_path / "metrics.csv").write_bytes(content)
    with pytest.raises(ValueError, match=r"metrics\.csv, line \d+: not a row of measures .*delete the file"):
        AttentionLog.open(tmp_path).measures()


def test_a_wrong_shape_names_both_sides(make_maps):
    log = AttentionLog.create(None, examples=small_examples(), model=MODEL)
    maps = make_maps(log, 0)
    with pytest.raises(ValueError, match=r"cross maps have shape \(2, 1, 1, 3, 4\), .* need \(2, 1, 2, 3, 4\)"):
        log.append(0, Maps(maps.encoder, maps.decoder, maps.cross[:, :, :1]))
    with pytest.raises(ValueError, match="1 hypotheses for 2 examples"):
        log.append(0, maps, hypotheses=["x"])
    with pytest.raises(ValueError, match="step 9 is not stored; choose one of"):
        log.maps(9)


def test_links_and_word_numbers_must_lie_inside_the_sentence():
    with pytest.raises(ValueError, match="link 1-0 lies outside 1 source and 1 target tokens"):
        Example(0, "a", "x", ("a", "<eos>"), ("x", "<eos>"), links=((1, 0),))
    with pytest.raises(ValueError, match="source_words has 2 entries for 1 source tokens"):
        Example(0, "a", "x", ("a", "<eos>"), ("x", "<eos>"), source_words=(0, 1))


def test_an_existing_log_is_not_overwritten(tmp_path: Path):
    AttentionLog.create(tmp_path, examples=small_examples(), model=MODEL)
    with pytest.raises(ValueError, match="already holds an attention log"):
        AttentionLog.create(tmp_path, examples=small_examples(), model=MODEL)
    with pytest.raises(ValueError, match="lack num_heads"):
        AttentionLog.create(None, examples=small_examples(), model={k: v for k, v in MODEL.items() if k != "num_heads"})
