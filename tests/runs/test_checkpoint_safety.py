"""A checkpoint from anywhere: read whole and safely, or refused with its name, what is wrong and what to do."""

import copy
import io
import os
import pickle
import random
import subprocess
import sys
import tracemalloc
import warnings
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
@pytest.mark.parametrize("seed", range(28))
def test_damaged_bytes_are_found_wherever_they_are(damage: Damage, seed: int, good: bytes, tmp_path: Path) -> None:
    file = tmp_path / "damaged.ckpt"
    file.write_bytes(damage(random.Random(seed), bytearray(good)))
    assert any(word in refusal(file) for word in ("is damaged", "is no torch file", "is a Python pickle"))


@pytest.mark.parametrize("damage", [cut, flip, overwrite, shift, append])
@pytest.mark.parametrize("seed", range(28))
def test_what_was_saved_again_is_refused_when_damaged_or_has_the_right_values(
    damage: Damage, seed: int, good: bytes, content: dict[str, Any], tmp_path: Path
) -> None:
    stream = io.BytesIO()
    torch.save(content, stream)
    file = tmp_path / "damaged.ckpt"
    file.write_bytes(damage(random.Random(seed), bytearray(stream.getvalue())))
    try:
        found = read_checkpoint(file)
    except ValueError:
        refusal(file)
        return
    assert all(found["state_dict"][name].equal(value) for name, value in content["state_dict"].items())


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


def test_every_flipped_bit_of_headers_padding_and_end_is_found(good: bytes, tmp_path: Path) -> None:
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
                with pytest.raises(UnreadableError):
                    load_checkpoint(stream)
            stream.seek(place)
            stream.write(good[place : place + 1])
        assert set(load_checkpoint(stream)[0]) >= {"seq2see", "state_dict"}


def about(**changed: Any) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["seq2see"].update(changed)


def config(**changed: Any) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["seq2see"]["config"].update(changed)


def model(**changed: Any) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["seq2see"]["config"]["model"].update(changed)


def decode(**changed: Any) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["seq2see"]["config"]["decode"].update(changed)


def weights(**changed: Any) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["state_dict"].update({name.replace("__", "."): new for name, new in changed.items()})


def source(**changed: Any) -> Callable[[dict[str, Any]], None]:
    return lambda content: content["seq2see"]["source_tokenizer"].update(changed)


WRONG = {
    "about is a list": (lambda content: content.update(seq2see=[1]), "is no checkpoint of seq2see"),
    "about is missing": (lambda content: content.pop("seq2see"), "is no checkpoint of seq2see"),
    "about is empty": (lambda content: content.update(seq2see={}), "is no checkpoint of seq2see"),
    "format is a text": (about(format="2"), "is no checkpoint of seq2see"),
    "format is missing": (lambda content: content["seq2see"].pop("format"), "is no checkpoint of seq2see"),
    "version is a number": (about(version=0.1), "is no checkpoint of seq2see"),
    "config is a list": (about(config=[1, 2]), "has a config that cannot be used"),
    "config is a text": (about(config="model"), "has a config that cannot be used"),
    "config is missing": (lambda content: content["seq2see"].pop("config"), "has a config that cannot be used"),
    "task is a text": (config(task="copy"), "has a config that cannot be used"),
    "task is unknown": (config(task={"kind": "moon"}), "task.kind (moon) is none of"),
    "kind is a list": (config(task={"kind": ["copy"]}), "has a config that cannot be used"),
    "unknown key": (config(colour="red"), "colour"),
    "unknown inner key": (model(colour="red"), "model.colour"),
    "width is a text": (model(d_model="wide"), "model.d_model"),
    "width is negative": (model(d_model=-4), "model.d_model (-4) must be positive"),
    "width is a list": (model(d_model=[1]), "model.d_model"),
    "heads do not fit": (model(num_heads=5), "must be divisible"),
    "another width": (model(d_model=64), "where its config and tokenizers ask for"),
    "another depth": (model(num_encoder_layers=3), "lacks the weights"),
    "too many layers": (model(num_encoder_layers=1_000), "weights for 1002 layers"),
    "less depth": (model(num_decoder_layers=1), "which a model of its config has not"),
    "another order of norms": (model(norm="post"), "which a model of its config has not"),
    "something to look up": (config(seed="${oc.env:HOME}"), "seed"),
    "step is a text": (lambda content: content.update(global_step="12"), "global_step ('12')"),
    "step is negative": (lambda content: content.update(global_step=-1), "global_step (-1)"),
    "step is true": (lambda content: content.update(global_step=True), "global_step (True)"),
    "step is missing": (lambda content: content.pop("global_step"), "global_step (None)"),
    "ratio is a text": (about(length_ratio="2"), "length_ratio ('2')"),
    "ratio is not a number": (about(length_ratio=float("nan")), "length_ratio (nan)"),
    "ratio is infinite": (about(length_ratio=float("inf")), "length_ratio (inf)"),
    "floor is negative": (about(length_floor=-1), "length_floor (-1)"),
    "floor is endless": (about(length_floor=2**40), "length_floor (1099511627776)"),
    "floor is true": (about(length_floor=True), "length_floor (True)"),
    "ratio is enormous": (about(length_ratio=1e300), "length_ratio (1e+300)"),
    "version is a page": (about(version="0.1\n" * 99), "is no checkpoint of seq2see"),
    "beam is enormous": (decode(beam_size=10**6), "decode.beam_size (1000000) must be at most 1000"),
    "a number of a thousand digits": (model(dropout=10**600), "has a config that cannot be used"),
    "dropout is no number": (model(dropout=float("nan")), "model.dropout (nan)"),
    "a tensor in the config": (config(seed=torch.ones(5)), "has a config that cannot be used"),
    "width is enormous": (model(d_model=2**40), "model.d_model (1099511627776) must be at most"),
    "a model larger than its file": (model(d_model=65536, d_ff=65536), "describes a model of"),
    "numbers of eight bits": (
        weights(model__encoder_norm__weight=torch.ones(32).to(torch.float8_e5m2)),
        "_rebuild_tensor_v3",
    ),
    "complex numbers": (weights(model__encoder_norm__weight=torch.ones(32) * 1j), "torch.complex64"),
    "weights are a list": (lambda content: content.update(state_dict=[1]), "state_dict"),
    "weights are missing": (lambda content: content.pop("state_dict"), "state_dict"),
    "weights have no names": (lambda content: content.update(state_dict={1: torch.ones(2)}), "state_dict"),
    "no weights at all": (lambda content: content.update(state_dict={}), "has 0 weights"),
    "a weight is a number": (weights(model__encoder_norm__weight=1.0), "has no weights but float"),
    "a weight is missing": (lambda content: content["state_dict"].pop(WEIGHT), f"lacks the weights {WEIGHT}"),
    "a weight too many": (weights(model__more__weight=torch.ones(2)), "'model.more.weight', which a model"),
    "a weight of another shape": (weights(model__encoder_norm__weight=torch.ones(31)), "(31,), where its config"),
    "a weight of whole numbers": (
        weights(model__encoder_norm__weight=torch.ones(32).long()),
        "no weights but torch.int64",
    ),
    "a sparse weight": (weights(model__encoder_norm__weight=torch.ones(32).to_sparse()), "_rebuild_sparse_tensor"),
    "a weight without numbers": (
        weights(model__encoder_norm__weight=torch.ones(32, device="meta")),
        "_rebuild_meta_tensor",
    ),
    "tokenizer is missing": (lambda content: content["seq2see"].pop("source_tokenizer"), "source_tokenizer"),
    "tokenizer is a list": (about(source_tokenizer=["a"]), "source_tokenizer"),
    "tokenizer of another version": (source(version=99), "source_tokenizer"),
    "tokenizer of no kind": (source(kind="letters"), "source_tokenizer"),
    "symbols are no JSON": (source(symbols="[a"), "source_tokenizer"),
    "symbols are numbers": (source(symbols="[1, 2]"), "source_tokenizer"),
    "merges of nothing": (source(kind="bpe", merges='[["x", "y"]]'), "source_tokenizer"),
    "fewer symbols": (source(symbols='["a"]'), "where its config and tokenizers ask for"),
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
    assert "unsafe" in refusal(file)
    with monkeypatch.context() as patch:
        patch.setattr("torch.save", lambda _, stream: stream.write(data))
        write_checkpoint(file, {})  # with a checksum
    assert "unsafe" in refusal(file)
    assert {path.name for path in planted.iterdir()} == {"planted.py", "trap.ckpt"}
    assert "planted" not in sys.modules


def test_the_traps_are_real(planted: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, trap in traps(planted).items():
        if name in ("torch's own loader", "memory"):
            continue
        torch.load(io.BytesIO(pickled([trap], monkeypatch)), weights_only=False)
        mark = planted / "mark"
        assert mark.exists(), name
        mark.rmdir() if mark.is_dir() else mark.unlink()
        sys.modules.pop("planted", None)


def test_a_bare_pickle_is_refused_unread(planted: Path) -> None:
    file = planted / "bare.ckpt"
    file.write_bytes(pickle.dumps(Trap(os.mkdir, str(planted / "mark"))))
    assert "is a Python pickle, which could run code" in refusal(file)
    assert not (planted / "mark").exists()


def shared(depth: int, *, itself: bool = False) -> list[Any]:
    """A list in a list and so on, each of them twice; or the innermost of them the outermost."""
    inner: list[Any] = []
    value = inner
    for _ in range(depth):
        value = [value, value]
    inner += [value] * itself
    return value


def nested(depth: int, inner: Any = 1) -> Any:
    for _ in range(depth):
        inner = [inner]
    return inner


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda: shared(40), "contain or share themselves"),
        (lambda: shared(25), "contain or share themselves"),
        (lambda: shared(1, itself=True), "contain or share themselves"),
        (lambda: nested(100), "nested more than"),
        (lambda: ["${x}" * 10_000] * 10_000, "contain or share themselves"),
        (lambda: torch.zeros(1).expand(2**40), "(1099511627776,) of fewer numbers"),
    ],
    ids=["shared", "shared less deep", "itself", "nested", "texts", "repeated number"],
)
@pytest.mark.parametrize("place", ["seq2see", "config", "state_dict", "callbacks"])
def test_a_small_file_that_stands_for_a_lot_is_refused_in_little_memory(
    place: str, value: Callable[[], Any], message: str, content: dict[str, Any], tmp_path: Path
) -> None:
    (content["seq2see"]["config"] if place == "config" else content.setdefault(place, {}))["x"] = value()
    file = tmp_path / "bomb.ckpt"
    write_checkpoint(file, content)
    tracemalloc.start()
    try:
        assert message in refusal(file)
        assert tracemalloc.get_traced_memory()[1] < 40 * file.stat().st_size
    finally:
        tracemalloc.stop()


def test_a_list_five_thousand_deep_is_refused_by_the_command_in_one_line(good: bytes, tmp_path: Path) -> None:
    deep = b"(" + b"]" * 5_000 + b"a" * 4_999 + b"l"
    file = tmp_path / "deep.ckpt"
    with zipfile.ZipFile(io.BytesIO(good)) as before, zipfile.ZipFile(file, "w") as after:
        for info in before.infolist():
            data = before.read(info)
            if info.filename.endswith("data.pkl"):
                key = b"X\6\0\0\0config"
                data = data.replace(key, b"X\4\0\0\0deep" + deep.removeprefix(b"(").removesuffix(b"l") + key, 1)
            after.writestr(info.filename, data)
    done = subprocess.run(
        [sys.executable, "scripts/translate.py", f"ckpt={file}"], input=b"a b\n", capture_output=True, cwd=ROOT
    )
    assert (done.returncode, done.stdout) == (2, b"") and done.stderr.count(b"\n") == 1
    assert b"nested more than" in done.stderr


def zipped(names: list[str], *, compression: int = zipfile.ZIP_STORED, size: int = 5) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", compression) as entries, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of equal names
        for name in names:
            entries.writestr(name, bytes(size))
    return stream.getvalue()


OTHERS = {
    "empty": (b"", "is damaged (its end is missing)"),
    "text": ("a: 1\nb: ä\n".encode(), "is no torch file"),
    "picture": (b"\x89PNG\r\n\x1a\n" + bytes(99), "is no torch file"),
    "zip": (zipped(["archive/data.pkl"]), "is damaged, or holds something else"),
    "zip bomb": (
        zipped(["archive/data.pkl"], compression=zipfile.ZIP_DEFLATED, size=50_000_000),
        "or a zip file of something else",
    ),
    "two of one name": (zipped(["archive/data.pkl"] * 2), "or a zip file of something else"),
    "two pickles": (zipped(["archive/data.pkl", "b/data.pkl"]), "or a zip file of something else"),
    "no pickle": (zipped(["../../x"]), "or a zip file of something else"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_file_of_another_kind_is_named_as_what_it_is(name: str, tmp_path: Path) -> None:
    file = tmp_path / "other.ckpt"
    file.write_bytes(OTHERS[name][0])
    assert OTHERS[name][1] in refusal(file)


@pytest.mark.parametrize("of", ["weights", "Lightning", "list", "tensor"])
def test_torch_files_of_others_are_no_checkpoints(of: str, content: dict[str, Any], tmp_path: Path) -> None:
    file = tmp_path / "other.ckpt"
    weights = content["state_dict"]
    del content["seq2see"]
    other = {"weights": weights, "Lightning": content, "list": [1, 2], "tensor": torch.ones(3)}[of]
    torch.save(other, file)
    assert "is no checkpoint of seq2see" in refusal(file)
    torch.save(other, file, _use_new_zipfile_serialization=False)
    assert "is a Python pickle" in refusal(file)


def test_a_folder_a_missing_file_and_names_that_cannot_be_are_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.ckpt").mkdir()
    for name in ("folder.ckpt", "missing.ckpt", "a\0b", "a" * 5000, "~nobody-of-this-name/x"):
        with pytest.raises(ValueError, match="^ckpt: ") as caught:
            load(str(tmp_path / name))
        assert name in str(caught.value)
        with pytest.raises(ValueError, match="^ckpt: .* cannot be read"):
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


def test_a_key_of_an_earlier_version_is_passed_over_unless_it_asks_for_something(
    content: dict[str, Any], tmp_path: Path
) -> None:
    content["seq2see"]["config"]["tokenizer"]["dropout"] = 0.0
    write_checkpoint(tmp_path / "old.ckpt", content)
    assert load(str(tmp_path / "old.ckpt")).options.tokenizer.vocab_size is None
    content["seq2see"]["config"]["tokenizer"]["dropout"] = 0.1
    write_checkpoint(tmp_path / "x.ckpt", content)
    assert "tokenizer.dropout (0.1) is no longer there: use the version that made this" in refusal(tmp_path / "x.ckpt")


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
