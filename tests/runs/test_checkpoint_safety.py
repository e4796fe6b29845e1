"""A checkpoint from anywhere: read whole and safely, or refused with its name, what is wrong and what to do."""

import copy
import io
import os
import pickle
import random
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch

import seq2see
from seq2see.decoding import load, read_checkpoint
from seq2see.decoding.checkpoint_file import FORMAT, UnreadableError, load_checkpoint, write_checkpoint

ROOT = Path(__file__).parents[2]
WEIGHT = "model.encoder_norm.weight"


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
    assert message.startswith(f"ckpt: {file} ") and "\n" not in message
    assert ": " in message.removeprefix(f"ckpt: {file} ")
    with pytest.raises(ValueError) as again:
        read_checkpoint(file)
    assert str(again.value) == message
    return message


class Trap:
    """Something that calls a function when it is unpickled."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self.call = function, arguments

    def __reduce__(self) -> tuple:
        return self.call


def planted_function() -> None:
    """Pickled as if it were one of the module `planted`."""


planted_function.__module__, planted_function.__qualname__ = "planted", "anything"

Damage = Callable[[random.Random, bytearray], bytes]


def cut(draw: random.Random, data: bytearray) -> bytes:
    return data[
        : draw.choice([0, 1, 3, 4, draw.randrange(len(data)), len(data) - 1, len(data) - draw.randrange(1, 99)])
    ]


def flip(draw: random.Random, data: bytearray) -> bytes:
    place = draw.choice([draw.randrange(len(data)), -draw.randrange(1, 3_000), draw.randrange(200)])
    data[place] ^= 1 << draw.randrange(8)
    return data


def overwrite(draw: random.Random, data: bytearray) -> bytes:
    length, place = draw.randrange(1, 5_000), draw.randrange(len(data) - 5_000)
    data[place : place + length] = draw.choice([bytes(length), draw.randbytes(length)])
    data[place] ^= 1  # in case it was zeros already
    return data


def shift(draw: random.Random, data: bytearray) -> bytes:
    place = draw.randrange(len(data))
    data[place : place + draw.randrange(2)] = draw.randbytes(draw.randrange(2, 50))
    return data


def append(draw: random.Random, data: bytearray) -> bytes:
    return data + draw.choice([b"\0", b"\n", draw.randbytes(30), bytes(data)])


@pytest.mark.parametrize("damage", [cut, flip, overwrite, shift, append])
@pytest.mark.parametrize("seed", range(12))
def test_damaged_bytes_are_found_wherever_they_are(damage: Damage, seed: int, good: bytes, tmp_path: Path) -> None:
    file = tmp_path / "damaged.ckpt"
    file.write_bytes(damage(random.Random(seed), bytearray(good)))
    assert "damaged" in refusal(file)


def test_what_was_saved_again_with_plain_torch_loads_and_says_that_it_has_no_checksum(
    content: dict[str, Any], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "edited.ckpt"
    content["state_dict"][WEIGHT] = torch.nn.Parameter(content["state_dict"][WEIGHT] * 2)
    torch.save(content, file)
    model = load(str(file)).model
    assert model.state_dict()[WEIGHT.removeprefix("model.")].equal(content["state_dict"][WEIGHT].data)
    assert capsys.readouterr().err == (
        f"ckpt: {file} has no checksum (it was saved again): damage to it may go unseen\n"
    )
    write_checkpoint(file, content)
    assert load(str(file)) and not capsys.readouterr().err


def test_every_flipped_bit_of_headers_padding_and_end_is_found_or_is_of_the_checksum_alone(
    good: bytes, content: dict[str, Any], tmp_path: Path
) -> None:
    with zipfile.ZipFile(io.BytesIO(good)) as entries:
        places = {info.header_offset + number for info in entries.infolist()[:4] for number in range(0, 130, 3)}
        directory = entries.start_dir
    places |= set(range(directory, directory + 60)) | set(range(len(good) - 130, len(good)))
    file = tmp_path / "flipped.ckpt"
    file.write_bytes(good)
    with file.open("r+b", buffering=0) as stream:
        for place in sorted(places):
            for bit in range(8):
                stream.seek(place)
                stream.write(bytes([good[place] ^ 1 << bit]))
                try:
                    values, has_checksum = load_checkpoint(file)
                except UnreadableError:
                    continue
                assert not has_checksum and values["state_dict"][WEIGHT].equal(content["state_dict"][WEIGHT])
            stream.seek(place)
            stream.write(good[place : place + 1])
    assert load_checkpoint(file)[1]


def about(**changed: Any) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["seq2see"].update(changed)


def config(**changed: Any) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["seq2see"]["config"].update(changed)


def model(**changed: Any) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["seq2see"]["config"]["model"].update(changed)


def weights(**changed: Any) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["state_dict"].update({name.replace("__", "."): new for name, new in changed.items()})


def source(**changed: Any) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["seq2see"]["source_tokenizer"].update(changed)


WRONG = {
    "about is a list": (lambda content: content.update(seq2see=[1]), "is no checkpoint of seq2see"),
    "about is missing": (lambda content: content.pop("seq2see"), "is no checkpoint of seq2see"),
    "format is a text": (about(format="2"), "is no checkpoint of seq2see"),
    "config is a list": (about(config=[1, 2]), "task.kind (None) is none of"),
    "config is missing": (lambda content: content["seq2see"].pop("config"), "config"),
    "task is unknown": (config(task={"kind": "moon"}), "task.kind (moon) is none of"),
    "unknown inner key": (model(colour="red"), "model.colour"),
    "width is a text": (model(d_model="wide"), "model.d_model"),
    "width is enormous": (model(d_model=2**40), "model.d_model (1099511627776) must be at most"),
    "heads do not fit": (model(num_heads=5), "must be divisible"),
    "something to look up": (config(seed="${oc.env:HOME}"), "seed"),
    "a tensor in the config": (config(seed=torch.ones(5)), "seed"),
    "step is missing": (lambda content: content.pop("global_step"), "global_step"),
    "ratio is a text": (about(length_ratio="many"), "'many'"),
    "another width": (model(d_model=64), "not those of its config"),
    "another depth": (model(num_encoder_layers=3), "not those of its config"),
    "another order of norms": (model(norm="post"), "not those of its config"),
    "weights are a list": (lambda content: content.update(state_dict=[1]), "list"),
    "a weight is missing": (lambda content: content["state_dict"].pop(WEIGHT), "not those of its config"),
    "a weight too many": (weights(model__more__weight=torch.ones(2)), "not those of its config"),
    "a weight of another shape": (weights(model__encoder_norm__weight=torch.ones(31)), "not those of its config"),
    "fewer symbols": (source(symbols='["a"]'), "not those of its config"),
    "tokenizer is missing": (lambda content: content["seq2see"].pop("source_tokenizer"), "source_tokenizer"),
    "tokenizer of no kind": (source(kind="letters"), "letters"),
    "symbols are no JSON": (source(symbols="[a"), "cannot be used"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_whole_file_of_wrong_parts_is_refused_by_the_part(name: str, content: dict[str, Any], tmp_path: Path) -> None:
    change, message = WRONG[name]
    change(content)
    file = tmp_path / "wrong.ckpt"
    write_checkpoint(file, content)
    assert message in refusal(file)


def traps(folder: Path) -> dict[str, Any]:
    mark = str(folder / "mark")
    return {
        "a command": Trap(os.system, f"touch {mark}"),
        "an expression": Trap(eval, f"open({mark!r}, 'w').close()"),
        "a file": Trap(os.open, mark, os.O_CREAT),
        "a folder": Trap(os.mkdir, mark),
        "a text": Trap(Path.write_text, Path(mark), "x"),
        "an import": Trap(planted_function),
        "torch's own loader": Trap(torch.load, mark),
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
    """The pickle of a value, with a stand-in for the module while it is written."""
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
    file, data = planted / "trap.ckpt", pickled(content, monkeypatch)
    file.write_bytes(data)
    refusal(file)
    with monkeypatch.context() as patch:
        patch.setattr("torch.save", lambda _, stream: stream.write(data))
        write_checkpoint(file, {})  # with a checksum
    refusal(file)
    assert {path.name for path in planted.iterdir()} == {"planted.py", "trap.ckpt"}
    assert "planted" not in sys.modules


def test_the_traps_are_real(planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, trap in traps(planted).items():
        if name == "torch's own loader":
            continue
        torch.load(io.BytesIO(pickled([trap], monkeypatch)), weights_only=False)
        mark = planted / "mark"
        assert mark.exists(), name
        mark.rmdir() if mark.is_dir() else mark.unlink()
        sys.modules.pop("planted", None)


def test_a_bare_pickle_is_refused_unread(planted: Path) -> None:
    file = planted / "bare.ckpt"
    file.write_bytes(pickle.dumps(Trap(os.mkdir, str(planted / "mark"))))
    refusal(file)
    assert not (planted / "mark").exists()


OTHERS = {
    "empty": b"",
    "text": "a: 1\nb: ä\n".encode(),
    "picture": b"\x89PNG\r\n\x1a\n" + bytes(99),
    "zip": b"PK\5\6" + bytes(18),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_of_another_kind_is_no_checkpoint(name: str, tmp_path: Path) -> None:
    file = tmp_path / "other.ckpt"
    file.write_bytes(OTHERS[name])
    assert "or no checkpoint of seq2see" in refusal(file)


@pytest.mark.parametrize("of", ["weights", "Lightning", "list", "tensor"])
def test_torch_files_of_others_are_no_checkpoints(of: str, content: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "other.ckpt"
    weights = content["state_dict"]
    del content["seq2see"]
    other = {"weights": weights, "Lightning": content, "list": [1, 2], "tensor": torch.ones(3)}[of]
    torch.save(other, file)
    assert "is no checkpoint of seq2see" in refusal(file)


def test_a_folder_a_missing_file_and_names_that_cannot_be_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.ckpt").mkdir()
    for name in ("folder.ckpt", "missing.ckpt", "a\0b", "a" * 5000, "~nobody-of-this-name/x"):
        with pytest.raises(ValueError, match="^ckpt: ") as caught:
            load(str(tmp_path / name))
        assert name in str(caught.value)
        with pytest.raises(ValueError, match="^ckpt: .* (cannot be read|is damaged, or no)"):
            read_checkpoint(tmp_path / name)


@pytest.mark.parametrize(
    ("form", "version", "remedy"),
    [(1, "0.0.9", "train it again"), (FORMAT - 1, "0.1", "train it again"), (FORMAT + 1, "0.3", "update seq2see")],
)
def test_another_versions_file_says_which_made_it_and_which_this_is(
    form: int, version: str, remedy: str, content: dict[str, Any], tmp_path: Path
) -> None:
    assert content["seq2see"]["version"] == seq2see.__version__ and content["seq2see"]["format"] == FORMAT
    content["seq2see"].update(format=form, version=version)
    write_checkpoint(tmp_path / "x.ckpt", content)
    message = refusal(tmp_path / "x.ckpt")
    assert f"was made by seq2see {version}, this is {seq2see.__version__}" in message and remedy in message


def test_a_key_that_an_earlier_version_did_not_know_has_its_default(content: dict[str, Any], tmp_path: Path) -> None:
    del content["seq2see"]["config"]["model"]["num_kv_heads"]
    file = tmp_path / "old.ckpt"
    write_checkpoint(file, content)
    trained = load(str(file))
    assert trained.options.model.num_kv_heads is None
    torch.testing.assert_close(trained.model.state_dict()[WEIGHT.removeprefix("model.")], content["state_dict"][WEIGHT])


def test_a_key_of_a_later_version_names_that_version(content: dict[str, Any], tmp_path: Path) -> None:
    content["seq2see"]["version"] = "0.9"
    content["seq2see"]["config"]["colour"] = "red"
    write_checkpoint(tmp_path / "x.ckpt", content)
    assert "colour" in refusal(tmp_path / "x.ckpt") and "(made by seq2see 0.9)" in refusal(tmp_path / "x.ckpt")


@pytest.mark.parametrize("number", [float("nan"), float("inf"), -float("inf")])
def test_weights_that_are_not_finite_are_no_model(number: float, content: dict[str, Any], tmp_path: Path) -> None:
    content["state_dict"][WEIGHT][3] = number
    write_checkpoint(tmp_path / "x.ckpt", content)
    with pytest.raises(ValueError, match=r"x\.ckpt has weights that are not finite \(encoder_norm\.weight\)"):
        load(str(tmp_path / "x.ckpt"))
    assert not read_checkpoint(tmp_path / "x.ckpt")["state_dict"][WEIGHT].isfinite().all()  # to look into


def test_a_checkpoint_that_was_born_on_a_gpu_opens_without_one(
    content: dict[str, Any], good: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("torch.serialization.location_tag", lambda storage: "cuda:0")
        write_checkpoint(tmp_path / "x.ckpt", content)
    assert b"cuda:0" in (tmp_path / "x.ckpt").read_bytes()
    for name, value in load(str(tmp_path / "x.ckpt")).model.state_dict().items():
        assert value.device.type == "cpu" and value.equal(content["state_dict"][f"model.{name}"])


def test_a_checkpoint_from_before_limits_had_a_floor_opens(content: dict[str, Any], tmp_path: Path) -> None:
    del content["seq2see"]["length_floor"]
    write_checkpoint(tmp_path / "x.ckpt", content)
    assert load(str(tmp_path / "x.ckpt")).length_limit.floor == 0


def test_text_in_a_config_is_text(content: dict[str, Any], tmp_path: Path) -> None:
    for text in ("${oc.env:HOME}", "a\\${b}", "${", "数据 ${x:y}"):
        content["seq2see"]["config"]["run_dir"] = text
        write_checkpoint(tmp_path / "x.ckpt", content)
        assert load(str(tmp_path / "x.ckpt")).options.run_dir == text


def test_a_whole_checkpoint_is_an_ordinary_torch_file_too(good: bytes, small_run: Path) -> None:
    with zipfile.ZipFile(io.BytesIO(good)) as entries:
        assert entries.testzip() is None and entries.comment.startswith(b"seq2see crc32 ")
    assert read_checkpoint(small_run / "checkpoints" / "best.ckpt")["global_step"] > 0


def test_checkpoints_of_two_runs_are_not_averaged(content: dict[str, Any], tmp_path: Path) -> None:
    for step in (1, 2):
        content["seq2see"]["config"]["seed"] = step
        write_checkpoint(tmp_path / f"step-{step:08}.ckpt", content)
    with pytest.raises(ValueError, match="average: .* are of two runs"):
        load(str(tmp_path / "step-00000002.ckpt"), average=2)


def test_a_write_that_fails_leaves_the_checkpoint_before(
    content: dict[str, Any], good: bytes, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "last.ckpt"
    file.write_bytes(good)

    def no_space(descriptor: int) -> None:
        raise OSError(28, "no space left")

    monkeypatch.setattr("os.fsync", no_space)
    with pytest.raises(OSError, match="no space left"):
        write_checkpoint(file, content)
    assert file.read_bytes() == good and list(tmp_path.iterdir()) == [file]
