"""A checkpoint from anywhere: read whole and safely, or refused with its name, what is wrong and what to do."""

import copy
import functools
import io
import os
import pickle
import random
import sys
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch

import seq2see
from seq2see.decoding import checkpoint, load, read_content
from seq2see.decoding.checkpoint import FORMAT, UnreadableError, read_values, write_checkpoint

WEIGHT = "model.encoder_norm.weight"
NO_TORCH = "is damaged, or is no torch file"


@pytest.fixture(scope="module")
def good(small_run: Path) -> bytes:
    return (small_run / "checkpoints" / "best.ckpt").read_bytes()


@pytest.fixture
def content(good: bytes) -> dict[str, Any]:
    return copy.deepcopy(torch.load(io.BytesIO(good), weights_only=True))


def refusal(file: Path) -> str:
    """Why a file is not read: one line with its name and, behind a colon, what to do."""
    with pytest.raises(ValueError) as caught:
        load(str(file))
    message = str(caught.value)
    assert not any(advice in message for advice in ("weights_only", "safe_globals", "allow_pickle", "trust"))
    assert message.startswith(f"ckpt: {file} ") and "\n" not in message and ": name " in message
    with pytest.raises(ValueError) as again:
        read_content(file)
    assert str(again.value) == message
    return message


def same(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and one.equal(other)
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    return one == other


def damaged(kind: str, draw: random.Random, data: bytearray) -> bytes:
    size, place = len(data), draw.randrange(len(data) - 5_000)
    if kind == "cut":
        return data[: draw.choice([0, 1, 3, 4, draw.randrange(size), size - 1, size - draw.randrange(1, 99)])]
    if kind == "overwritten":
        length = draw.randrange(1, 5_000)
        data[place : place + length] = draw.choice([bytes(length), draw.randbytes(length)])
    elif kind == "shifted":
        data[place : place + draw.randrange(2)] = draw.randbytes(draw.randrange(2, 50))
    elif kind == "longer":
        data += draw.choice([b"\0", b"\n", draw.randbytes(30), bytes(data)])
    return data


@pytest.mark.parametrize("kind", ["cut", "overwritten", "shifted", "longer"])
def test_a_damaged_file_is_refused_or_has_the_right_values_all_the_same(
    kind: str, good: bytes, content: dict[str, Any], tmp_path: Path
) -> None:
    file, refused = tmp_path / "damaged.ckpt", 0
    for seed in range(40):
        file.write_bytes(damaged(kind, random.Random(seed), bytearray(good)))
        try:
            found = read_content(file).values
        except ValueError:
            assert NO_TORCH in refusal(file)
            refused += 1
        else:
            assert same({key: found[key] for key in content}, content)
    assert refused >= 30


def test_every_flipped_bit_of_a_file_is_found_or_changes_nothing(tmp_path: Path) -> None:
    values = {"seq2see": {"format": FORMAT}, "state_dict": {WEIGHT: torch.arange(16.0)}}
    write_checkpoint(tmp_path / "small.ckpt", values)
    whole, refused = (tmp_path / "small.ckpt").read_bytes(), 0
    for place in range(0, len(whole), 5):
        for bit in range(0, 8, 3):
            flipped = bytearray(whole)
            flipped[place] ^= 1 << bit
            with (tmp_path / "flipped.ckpt").open("w+b") as stream:
                stream.write(flipped)
                try:
                    assert same(read_values(stream), values), (place, bit)
                except UnreadableError:
                    refused += 1
    assert refused > len(whole) * 3 / 5 / 4


NONE, CONFIG, SOURCE = "is no checkpoint of seq2see", "has a config that cannot be used", "has a tokenizer that"
ABOUT, OPTIONS, READER = "seq2see", "seq2see/config", "seq2see/source_tokenizer"
WEIGHTS, NORM = "state_dict", f"state_dict/{WEIGHT}"
GONE = object()
WRONG = [  # part, what stands there, what is said
    (ABOUT, [1], NONE),
    (ABOUT, GONE, NONE),
    (f"{ABOUT}/format", GONE, NONE),
    (f"{ABOUT}/version", 0.1, NONE),
    (f"{ABOUT}/version", "0.1\n" * 99, NONE),
    (OPTIONS, GONE, CONFIG),
    (f"{OPTIONS}/task", {"kind": "moon"}, "task.kind (moon) is none of"),
    (f"{OPTIONS}/colour", "red", "colour"),
    (f"{OPTIONS}/model/d_model", "wide", "model.d_model"),
    (f"{OPTIONS}/model/d_model", 2**40, "model.d_model (1099511627776) must be at most"),
    (f"{OPTIONS}/model/d_model", 64, "size mismatch for"),
    (f"{OPTIONS}/model/num_heads", 5, "must be divisible"),
    (f"{OPTIONS}/model/dropout", float("nan"), "model.dropout (nan)"),
    (f"{OPTIONS}/model/num_encoder_layers", 1_000, "weights for 1002 layers"),
    (f"{OPTIONS}/model/num_decoder_layers", 1, "Unexpected key(s)"),
    (f"{OPTIONS}/model", {"d_model": 65536, "d_ff": 65536}, "a model of"),
    (f"{OPTIONS}/seed", torch.ones(5), CONFIG),
    (f"{OPTIONS}/seed", "${oc.env:HOME}", "seed"),
    (f"{OPTIONS}/decode/beam_size", 10**6, "decode.beam_size (1000000) must be at most 1000"),
    ("global_step", "12", "global_step ('12')"),
    ("global_step", True, "global_step (True)"),
    ("global_step", GONE, "global_step (None)"),
    (f"{ABOUT}/length_ratio", float("nan"), "length_ratio (nan)"),
    (f"{ABOUT}/length_ratio", 1e300, "length_ratio (1e+300)"),
    (f"{ABOUT}/length_floor", 2**40, "length_floor (1099511627776)"),
    (f"{ABOUT}/longest_source", "9", "longest_source ('9')"),
    (WEIGHTS, [1], "state_dict"),
    (WEIGHTS, GONE, "state_dict"),
    (WEIGHTS, {}, "0 weights for"),
    (NORM, torch.ones(32).to(torch.float8_e5m2), "_rebuild_tensor_v3"),
    (NORM, torch.ones(32) * 1j, "torch.complex64"),
    (NORM, torch.ones(32).long(), "torch.int64"),
    (NORM, torch.ones(32).to_sparse(), "_rebuild_sparse_tensor"),
    (NORM, torch.ones(32, device="meta"), "_rebuild_meta_tensor"),
    (NORM, 1.0, "state_dict"),
    (NORM, GONE, 'Missing key(s) in state_dict: "encoder_norm.weight"'),
    (NORM, torch.ones(31), "size mismatch for encoder_norm.weight"),
    (f"{WEIGHTS}/model.more.weight", torch.ones(2), "Unexpected key(s)"),
    (READER, GONE, SOURCE),
    (f"{READER}/version", 99, SOURCE),
    (f"{READER}/kind", "letters", SOURCE),
    (f"{READER}/symbols", "[a", SOURCE),
    (f"{READER}/symbols", '["a"]', "size mismatch for"),
    (READER, {"kind": "bpe", "merges": '[["x", "y"]]'}, SOURCE),
]


@pytest.mark.parametrize(("part", "value", "message"), WRONG, ids=range(len(WRONG)))
def test_a_whole_file_of_wrong_parts_is_refused_by_the_part(
    part: str, value: Any, message: str, content: dict[str, Any], tmp_path: Path
) -> None:
    *rooms, name = part.split("/")
    place = functools.reduce(dict.__getitem__, rooms, content)
    place[name] = place[name] | value if isinstance(value, dict) and value else value  # some of its keys
    if value is GONE:
        del place[name]
    write_checkpoint(tmp_path / "wrong.ckpt", content)
    assert message in refusal(tmp_path / "wrong.ckpt")


class Trap:
    """Something that calls a function when it is unpickled."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple:
        return self.call


def planted_function() -> None:
    """Pickled as if it were one of the module `planted`."""


planted_function.__module__, planted_function.__qualname__ = "planted", "anything"


def traps(folder: Path) -> dict[str, Any]:
    mark = str(folder / "mark")
    return {
        "a command": Trap(os.system, f"touch {mark}"),
        "an expression": Trap(eval, f"open({mark!r}, 'w').close()"),
        "a file": Trap(os.open, mark, os.O_CREAT),
        "a text": Trap(Path.write_text, Path(mark), "x"),
        "an import": Trap(planted_function),
        "torch's own loader": Trap(torch.load, mark),
        "memory": Trap(bytearray, 3_000_000_000),
    }


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder on the import path with a module that leaves a mark."""
    (tmp_path / "planted.py").write_text(
        f"open({str(tmp_path / 'mark')!r}, 'w').close()\nanything = str\n", encoding="utf-8"
    )
    monkeypatch.syspath_prepend(tmp_path)
    return tmp_path


def pickled(value: Any, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """The torch file of a value, with a stand-in for the module while it is written."""
    stream = io.BytesIO()
    with monkeypatch.context() as patch:
        stand_in = type(sys)("planted")
        stand_in.__dict__["anything"] = planted_function
        patch.setitem(sys.modules, "planted", stand_in)
        torch.save(value, stream)
    return stream.getvalue()


@pytest.mark.parametrize("place", ["everywhere", "state_dict", "config", "optimizer_states"])
@pytest.mark.parametrize("name", list(traps(Path())))
def test_nothing_in_a_checkpoint_is_run_imported_or_written(
    name: str, place: str, content: dict[str, Any], planted: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    trap = traps(planted)[name]
    if place == "everywhere":
        content = trap
    elif place == "config":
        content["seq2see"]["config"]["seed"] = trap
    else:
        content[place] = {"x": trap}
    (planted / "trap.ckpt").write_bytes(pickled(content, monkeypatch))
    assert "is unsafe" in refusal(planted / "trap.ckpt")
    assert {path.name for path in planted.iterdir()} == {"planted.py", "trap.ckpt"}
    assert "planted" not in sys.modules


def test_the_traps_are_real(planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, trap in traps(planted).items():
        if name in ("torch's own loader", "memory"):
            continue
        torch.load(io.BytesIO(pickled([trap], monkeypatch)), weights_only=False)
        assert (planted / "mark").exists(), name
        (planted / "mark").unlink()
        sys.modules.pop("planted", None)


def test_a_bare_pickle_is_refused_unread_also_before_a_zip_file(planted: Path, good: bytes) -> None:
    for behind in (b"", good):
        (planted / "bare.ckpt").write_bytes(pickle.dumps(Trap(os.mkdir, str(planted / "mark"))) + behind)
        assert NO_TORCH in refusal(planted / "bare.ckpt")
        assert not (planted / "mark").exists()


CIRCLE: list[Any] = []
CIRCLE.append(CIRCLE)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda: functools.reduce(lambda inner, _: [inner, inner], range(25), []), "contain or share themselves"),
        (lambda: [CIRCLE, CIRCLE], "contain or share themselves"),
        (lambda: functools.reduce(lambda inner, _: [inner], range(100), 1), "nested more than"),
        (lambda: ["${x}" * 10_000] * 10_000, "contain or share themselves"),
        (lambda: torch.zeros(1).expand(2**40), "(1099511627776,) of fewer numbers"),
    ],
    ids=["shared", "itself", "nested", "texts", "repeated number"],
)
@pytest.mark.parametrize("place", ["config", "callbacks"])
def test_a_small_file_that_stands_for_a_lot_is_refused_in_little_memory(
    place: str, value: Callable[[], Any], message: str, content: dict[str, Any], tmp_path: Path
) -> None:
    (content["seq2see"]["config"] if place == "config" else content.setdefault(place, {}))["x"] = value()
    file = tmp_path / "bomb.ckpt"
    write_checkpoint(file, content)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError) as caught:
            read_content(file)
        assert tracemalloc.get_traced_memory()[1] < 40 * file.stat().st_size
    finally:
        tracemalloc.stop()
    assert message in str(caught.value)


def test_a_list_five_thousand_deep_is_refused_too(good: bytes, tmp_path: Path) -> None:
    key, deep = b"X\6\0\0\0config", b"X\4\0\0\0deep" + b"]" * 5_000 + b"a" * 4_999
    with zipfile.ZipFile(io.BytesIO(good)) as before, zipfile.ZipFile(tmp_path / "deep.ckpt", "w") as after:
        for info in before.infolist():
            data = before.read(info)
            after.writestr(info.filename, data.replace(key, deep + key, 1) if "data.pkl" in info.filename else data)
    assert "nested more than" in refusal(tmp_path / "deep.ckpt")


def zipped(names: list[str], *, compression: int = zipfile.ZIP_STORED, size: int = 5) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as entries, warnings.catch_warnings(action="ignore"):  # equal names
        for name in names:
            entries.writestr(name, bytes(size))
    return stream.getvalue()


OTHERS = {
    "empty": b"",
    "text": "a: 1\nb: ä\n".encode(),
    "picture": b"\x89PNG\r\n\x1a\n" + bytes(99),
    "zip": zipped(["archive/data.pkl"]),
    "zip bomb": zipped(["archive/data.pkl"], compression=zipfile.ZIP_DEFLATED, size=50_000_000),
    "two of one name": zipped(["archive/data.pkl"] * 2),
    "two pickles": zipped(["archive/data.pkl", "b/data.pkl"]),
    "no pickle": zipped(["../../x"]),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_of_another_kind_is_refused(name: str, tmp_path: Path) -> None:
    (tmp_path / "other.ckpt").write_bytes(OTHERS[name])
    assert NO_TORCH in refusal(tmp_path / "other.ckpt")


def test_torch_files_of_others_are_no_checkpoints(content: dict[str, Any], tmp_path: Path) -> None:
    del content["seq2see"]
    for other in (content["state_dict"], content, [1, 2], torch.ones(3)):
        torch.save(other, tmp_path / "other.ckpt")
        assert NONE in refusal(tmp_path / "other.ckpt")
        torch.save(other, tmp_path / "other.ckpt", _use_new_zipfile_serialization=False)
        assert NO_TORCH in refusal(tmp_path / "other.ckpt")


def test_a_folder_a_missing_file_and_names_that_cannot_be_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.ckpt").mkdir()
    for name in ("folder.ckpt", "missing.ckpt", "a\0b", "a" * 5000, "~nobody-of-this-name/x"):
        with pytest.raises(ValueError, match="^ckpt: ") as caught:
            load(str(tmp_path / name))
        assert name in str(caught.value)
        with pytest.raises(ValueError, match="^ckpt: .* cannot be read"):
            read_content(tmp_path / name)


@pytest.mark.parametrize(("form", "version"), [(1, "0.0.9"), (FORMAT - 1, "0.1"), (FORMAT + 1, "0.3")])
def test_another_versions_file_says_which_made_it_and_which_this_is(
    form: int, version: str, content: dict[str, Any], tmp_path: Path
) -> None:
    assert content["seq2see"]["version"] == seq2see.__version__ and content["seq2see"]["format"] == FORMAT
    content["seq2see"].update(format=form, version=version)
    write_checkpoint(tmp_path / "x.ckpt", content)
    message = refusal(tmp_path / "x.ckpt")
    assert f"was made by seq2see {version}, this is {seq2see.__version__}" in message and "train it again" in message


def test_keys_of_earlier_and_later_versions_have_their_defaults_or_are_named(
    content: dict[str, Any], tmp_path: Path
) -> None:
    file, config = tmp_path / "x.ckpt", content["seq2see"]["config"]
    del content["seq2see"]["length_floor"], config["model"]["num_kv_heads"]
    config["tokenizer"]["dropout"] = 0.0  # asks for nothing that is not there any more
    write_checkpoint(file, content)
    model = load(str(file))
    assert model.options.model.num_kv_heads is None and model.length_limit.floor == 0
    config["tokenizer"]["dropout"] = 0.1
    write_checkpoint(file, content)
    assert "tokenizer.dropout (0.1) is no longer there: use the version that made this" in refusal(file)
    config["tokenizer"]["dropout"], config["colour"], content["seq2see"]["version"] = 0.0, "red", "0.9"
    write_checkpoint(file, content)
    assert "colour" in refusal(file) and "(made by seq2see 0.9)" in refusal(file)


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_are_no_model(number: float, content: dict[str, Any], tmp_path: Path) -> None:
    content["state_dict"][WEIGHT][3] = number
    write_checkpoint(tmp_path / "x.ckpt", content)
    with pytest.raises(ValueError, match=r"x\.ckpt has weights that are not finite \(encoder_norm\.weight\)"):
        load(str(tmp_path / "x.ckpt"))
    assert not read_content(tmp_path / "x.ckpt").weights["encoder_norm.weight"].isfinite().all()  # to look into


def test_what_others_saved_again_or_an_earlier_version_or_on_a_gpu_opens(
    content: dict[str, Any], good: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    content["state_dict"][WEIGHT] = torch.nn.Parameter(content["state_dict"][WEIGHT])
    torch.save(content, tmp_path / "saved.ckpt")
    (tmp_path / "commented.ckpt").write_bytes(good[:-2] + b"\x16\0seq2see crc32 0123abcd")
    with monkeypatch.context() as patch:
        patch.setattr("torch.serialization.location_tag", lambda storage: "cuda:0")
        write_checkpoint(tmp_path / "gpu.ckpt", content)
    assert b"cuda:0" in (tmp_path / "gpu.ckpt").read_bytes()
    for file in tmp_path.iterdir():
        for name, value in load(str(file)).model.state_dict().items():
            assert value.device.type == "cpu" and value.equal(content["state_dict"][f"model.{name}"])


def test_text_in_a_config_is_text(content: dict[str, Any], tmp_path: Path) -> None:
    for text in ("${oc.env:HOME}", "a\\${b}", "${", "数据 ${x:y}"):
        content["seq2see"]["config"]["run_dir"] = text
        write_checkpoint(tmp_path / "x.ckpt", content)
        assert load(str(tmp_path / "x.ckpt")).options.run_dir == text


def test_checkpoints_of_two_runs_are_not_averaged_nor_what_was_not_kept(
    content: dict[str, Any], small_run: Path, tmp_path: Path
) -> None:
    for step in (1, 2):
        content["seq2see"]["config"]["seed"] = step
        write_checkpoint(tmp_path / f"step-{step:08}.ckpt", content)
    with pytest.raises(ValueError, match="average: .* are of two runs"):
        load(str(tmp_path / "step-00000002.ckpt"), average=2)
    with pytest.raises(ValueError, match="average=5: .* keeps no checkpoints .*: train with training.keep=5$"):
        load(str(small_run), average=5)


def test_a_write_that_fails_is_an_error_of_the_disk(
    content: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Full(io.BytesIO):
        def write(self, data: Any) -> int:
            raise OSError(28, "no space left")

    @contextmanager
    def full(path: Path) -> Iterator[io.BytesIO]:
        yield Full()

    monkeypatch.setattr(checkpoint, "whole_binary_file", full)
    with pytest.raises(OSError, match="no space left"):
        write_checkpoint(tmp_path / "last.ckpt", content)
