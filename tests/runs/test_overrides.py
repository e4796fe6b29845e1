"""What a person types is understood, or refused with one message that names the key and the remedy."""

from pathlib import Path
from typing import Any

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st

from seq2see.runs.config import compose_options, to_yaml
from seq2see.runs.overrides import UsageError, quoted, read_overrides


def value_of(key: str, *typed: str, command: str = "train") -> Any:
    value = compose_options(command, list(typed))
    for name in key.split("."):
        value = getattr(value, name)
    return value


def again(options: Any, folder: Path, *typed: str) -> Any:
    """The options that a run's configuration gives."""
    (folder / "config.yaml").write_text(to_yaml(options), encoding="utf-8")
    return compose_options("train", [f"config={folder / 'config.yaml'}", *typed])


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("model.d_modle=64", "did you mean model.d_model"),
        ("++model.d_modle=64", "did you mean model.d_model"),
        ("lr=1", "did you mean optim.lr"),
        ("+foo=1", "there is no key foo; --cfg job shows all keys"),
        ("+task.foo=1", "there is no key task.foo"),
        ("task=copy task.train=x", "task=copy does not use this key; it belongs to task=files"),
        ("experiment=reverse task.train=x", "the chosen task does not use this key; it belongs to task=files"),
        ("task.vocab_size=5", "belongs to task=copy and reverse and sort"),
        ("task=revers", "choose one of copy, dates, files, hub, numbers, reverse, scan, sort, translation"),
        ("task.kind=copy", "choose the task with task="),
        ("task=null", "choose a task by its name"),
        ("experiment=nothing", "there is no such experiment"),
        ("model=huge", "choose one of base, small, tiny"),
        ("~seed=1", "there is no key ~seed; did you mean seed"),
        ("hydra.seed=1", "did you mean seed"),
        ("some_run", "settings have the form key=value"),
        ("config=no/such/config.yaml", "config: no/such/config.yaml cannot be read"),
        ("seed=1\r", "line ends of Windows"),
        ("seed= 1", "settings have the form key=value, without spaces"),
        ("seed =1", "settings have the form key=value, without spaces"),
        ("run_dir=caf\udce9", "bytes in this that are not UTF-8"),
        ("run_dir=" + "/".join(["a" * 200] * 30), "longer than a path or a name in it can be"),
        ("seed=${oc.env:NOT_THERE}", "Environment variable 'NOT_THERE' not found"),
        ("trainer.precision=31", "must be one of 16, 32, 64, bf16, 16-mixed"),
        ("tokenizer.dropout=0.1", "tokenizer.dropout"),
    ],
)
def test_mistakes_are_named_with_their_remedy(typed: str, message: str) -> None:
    with pytest.raises(ValueError) as refusal:
        compose_options("train", typed.split(" "))
    assert message in str(refusal.value) and "\n" not in str(refusal.value)


def test_a_space_before_a_value_is_pointed_out() -> None:
    with pytest.raises(UsageError, match="a space before the value: write run_dir=run"):
        compose_options("train", ["run_dir= run"])


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        ("data.delimiter=ab", r"data.delimiter \(ab\) must be one character, no quote mark and no line end, or tab"),
        ('data.delimiter="', "must be one character"),
        ("data.encoding=utf-99", r"data.encoding \(utf-99\) must be an encoding that Python knows, as utf-8"),
        ("data.encoding=base64", "must be an encoding"),
        ("task.source=1 task.target=0", r"task.source \(1\) says how task.test is read: set task.test too"),
        ("data.on_bad_line=skip", "on_bad_line .* says how task.test is read"),
        ("task.test=x task.source=1", "task.source .* and task.target .* go together"),
        ("task.test=[]", "task.test .* must be a path, a glob or several"),
        ("task.path=folder", "task.path=folder: name the pairs to score, a file or a folder, with task.test="),
    ],
)
def test_how_other_data_are_read_is_checked_before_a_checkpoint_is(typed: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compose_options("evaluate", ["ckpt=x", *typed.split()])


def test_an_argument_without_a_sign_is_the_run_and_several_are_several_runs() -> None:
    for command in ("evaluate", "translate", "attention"):
        assert value_of("ckpt", "outputs/a run", command=command) == "outputs/a run"
    assert value_of("ckpt", "a", "b,c", command="compare") == ["a", "b,c"]
    for command, typed in (("selfcheck", ["a", "b"]), ("compare", ["a", "ckpt=b"])):
        with pytest.raises(UsageError, match="b: a is a run too: leave out one"):
            compose_options(command, typed)


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_any_text_reaches_hydra_whole(text: str) -> None:
    read = OverridesParser.create().parse_override(f"key={quoted(text)}").value()
    assert read.replace(r"\${", "${") == text or "${" in text or text == "???"


SIDES = {"source": "a b.txt", "target": "c.txt"}


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        *((name, name) for name in ("数据 (1).tsv", "it's.tsv", "a=b,[c].tsv", "~no-such-user", 'q"q', "back\\slash")),
        *((name, name) for name in ("{a}", "1e5", "null.tsv", "${a", "part-*.tsv", "{source: a, source: b}")),
        ("~/a", "/home/me/a"),
        ("${oc.env:HOME}/a", "/home/me/a"),
        ("[a b.src,a b.tgt]", ["a b.src", "a b.tgt"]),
        ("[~/b,part-*.tsv]", ["/home/me/b", "part-*.tsv"]),
        ("{source: a b.txt, target: c.txt}", SIDES),
        ("{target:'it\\'s',source:a,b.txt}", {"target": "it's", "source": "a,b.txt"}),
        ("{source: ~/a.tsv, target: [b].txt}", {"source": "/home/me/a.tsv", "target": "[b].txt"}),
    ],
)
def test_paths_are_typed_as_a_shell_names_them_and_come_back_from_a_config(
    typed: str, meant: object, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.chdir(tmp_path)
    file = f"task.test={typed}"
    assert read_overrides("evaluate", [file]) == read_overrides("train", [file])
    options = compose_options("train", ["task=files", "task.train=x", file, "task.source=1e5", "task.target=1"])
    assert (options.task.test, options.task.source, options.task.target) == (meant, "1e5", 1)
    assert again(options, tmp_path) == options


def test_a_file_of_that_very_name_is_meant_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("[a,b]", "a,b", "${a}", "~"):
        Path(name).mkdir()
        assert value_of("task.train", "task=files", f"task.train={name}") == name
    assert read_overrides("train", ["run_dir=a,b", "resume=c,d"], multirun=True) == ["run_dir='a,b'", "resume='c','d'"]
    assert value_of("run_dir", "run_dir=[run2]") == "[run2]"  # a key that takes one path


@pytest.mark.parametrize("value", [";", ",", "|", "tab", "\t", " ", "\\", "'", "1"])
def test_any_delimiter_is_typed_as_it_is(value: str, tmp_path: Path) -> None:
    options = compose_options("train", [f"data.delimiter={value}"])
    assert options.data.delimiter == value and again(options, tmp_path) == options


def test_what_is_typed_stands_above_a_config_and_a_group_replaces_its_part(tmp_path: Path) -> None:
    options = compose_options(
        "train", ["task=copy", "task.max_length=5", "data.batch_size=3", "model.d_ff=8", "seed=1"]
    )
    changed = again(options, tmp_path, "data.batch_tokens=100", "seed=2", "model=tiny", "task=sort")
    assert (changed.data.batch_size, changed.data.batch_tokens, changed.seed) == (None, 100, 2)
    assert (changed.task.kind, changed.task.max_length, changed.model.d_ff) == ("sort", 12, 512)
    assert again(options, tmp_path, "task.max_length=6").task.max_length == 6


def test_a_config_of_an_earlier_version_is_read_unless_it_asks_for_what_is_gone(tmp_path: Path) -> None:
    file, options = tmp_path / "config.yaml", compose_options("train", ["task=copy"])
    now = to_yaml(options)
    file.write_text(
        now.replace("tokenizer:\n", "study: null\ntokenizer:\n  dropout: 0.0\n").replace(
            "decode:\n", "decode:\n  oracle_length: null\n"
        ),
        encoding="utf-8",
    )
    assert compose_options("train", [f"config={file}"]) == options
    file.write_text(now.replace("tokenizer:\n", "tokenizer:\n  dropout: 0.1\n"), encoding="utf-8")
    with pytest.raises(UsageError, match=r"config.yaml: tokenizer.dropout \(0.1\) is no longer there: use the version"):
        compose_options("train", [f"config={file}"])
