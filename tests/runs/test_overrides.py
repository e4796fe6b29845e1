"""What a person types is understood, or refused with one message that names the key and the remedy."""

from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st

from seq2see.runs.config import compose_options, options_of, to_yaml
from seq2see.runs.overrides import UsageError, quoted, read_overrides


def read(*arguments: str, command: str = "train") -> list[str]:
    return read_overrides(command, list(arguments))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["model.d_modle=64"], "did you mean model.d_model"),
        (["+foo=1"], "there is no key foo"),
        (["++model.foo=1"], "there is no key model.foo"),
        (["+task.foo=1"], "there is no key task.foo"),
        (["task=copy", "task.train=x"], "task=copy does not use this key; it belongs to task=files"),
        (["task.vocab_size=5"], "belongs to task=copy and reverse and sort"),
        (["task=revers"], "choose one of copy, dates, files, hub, numbers, reverse, scan, sort, translation"),
        (["task.kind=copy"], "write task=copy"),
        (["experiment=nothing"], "there is no such experiment"),
        (["model=huge"], "choose one of base, small, tiny"),
        (["~seed=1"], "cannot be taken away"),
        (["--lr", "3"], "--lr: there are no flags"),
        (["hydra.run.dir=x"], "there is no key hydra.run.dir"),
        (["some_run"], "settings have the form key=value"),
        (["config=no/such/config.yaml"], "config: no/such/config.yaml cannot be read"),
        (["seed=1\r"], "line ends of Windows"),
        (["seed=", "1"], "a space beside the sign: write seed=1"),
        (["seed", "=1"], "a space beside the sign: write seed=1"),
        (["seed", "=", "1"], "a space beside the sign: write seed="),
        (["run_dir= run"], "a space before the value: write run_dir=run"),
        (["run_dir=caf\udce9"], "bytes in this that are not UTF-8"),
        (["run_dir=" + "/".join(["a" * 200] * 30)], "this path has .* bytes in all, a file's has at most 4095"),
    ],
)
def test_mistakes_are_named_with_their_remedy(arguments: list[str], message: str) -> None:
    with pytest.raises(UsageError, match=message.replace("+", r"\+")):
        read(*arguments)


def test_keys_of_the_recipes_task_are_known() -> None:
    assert read("experiment=reverse", "task.max_length=5") == ["experiment=reverse", "task.max_length=5"]


@pytest.mark.parametrize("command", ["evaluate", "translate", "attention"])
def test_an_argument_without_a_sign_is_the_run(command: str) -> None:
    assert read("outputs/a run", command=command) == ["ckpt='outputs/a run'"]


def test_several_arguments_are_several_runs() -> None:
    assert read("a", "b,c", command="compare") == ["ckpt=['a','b,c']"]
    with pytest.raises(UsageError, match="b: translate takes one run"):
        read("a", "b", command="translate")


@pytest.mark.parametrize("choices", ["copy,reverse", "choice(copy,reverse)", "choice( copy, reverse )", " copy"])
def test_a_group_may_be_chosen_in_each_way_of_hydra(choices: str) -> None:
    assert read(f"task={choices}", "task.vocab_size=5") == [f"task={choices.strip()}", "task.vocab_size=5"]


def test_a_home_folder_is_meant_by_a_tilde_in_every_path_unless_a_file_has_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/home/me")
    monkeypatch.chdir(tmp_path)
    assert read("run_dir=~/a", "task=files", "task.train=[~/b,c]") == [
        "run_dir='/home/me/a'", "task=files", "task.train=['/home/me/b','c']"
    ]  # fmt: skip
    assert read("input=~no-such-user/a", command="translate") == ["input='~no-such-user/a'"]
    (tmp_path / "~").mkdir()
    (tmp_path / "~" / "a").touch()
    assert read("input=~/a", command="translate") == ["input='~/a'"]


def test_brackets_are_a_name_where_a_key_takes_one_path() -> None:
    assert read("run_dir=[run2]") == ["run_dir='[run2]'"]


def as_hydra_reads(text: str) -> object:
    return OverridesParser.create().parse_override(text).value()


@given(st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1))
def test_any_text_reaches_hydra_whole(text: str) -> None:
    assert as_hydra_reads(f"key={quoted(text)}").replace(r"\${", "${") == text or "${" in text or text == "???"


@pytest.mark.parametrize(
    "name", ["数据 (1).tsv", "it's.tsv", "a=b,[c].tsv", "~x", 'q"q.tsv', "back\\slash", "{a}", "1e5", "null.tsv"]
)
def test_any_file_name_can_be_typed_without_quotes(name: str) -> None:
    (override,) = [text for text in read("task=files", f"task.train={name}") if text.startswith("task.train")]
    assert as_hydra_reads(override) == name


def test_two_parallel_files_are_a_list_unless_a_file_has_that_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    typed = ("task=files", "task.train=[a b.src,a b.tgt]")
    assert as_hydra_reads(read(*typed)[1]) == ["a b.src", "a b.tgt"]
    (tmp_path / "[a b.src,a b.tgt]").touch()
    assert as_hydra_reads(read(*typed)[1]) == "[a b.src,a b.tgt]"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("{source: a b.txt, target: c.txt}", {"source": "a b.txt", "target": "c.txt"}),
        ("{target:'it\\'s',source:a,b.txt}", {"target": "it's", "source": "a,b.txt"}),
        ("{source: ~/a.tsv, target: [b].txt}", {"source": str(Path.home() / "a.tsv"), "target": "[b].txt"}),
        ("{source: a, source: b}", "{source: a, source: b}"),
        ("part-*.tsv", "part-*.tsv"),
        ("[part-*.tsv,b.jsonl]", ["part-*.tsv", "b.jsonl"]),
    ],
)
@pytest.mark.parametrize("command", ["train", "evaluate"])
def test_sides_of_parallel_files_are_named_and_come_back_from_a_config(
    typed: str, meant: object, command: str, tmp_path: Path
) -> None:
    task = ["task=files", "task.train=x"] if command == "train" else []
    assert as_hydra_reads(read(*task, f"task.test={typed}", command=command)[-1]) == meant
    if command == "train":
        options = compose_options(
            "train", read(*task, f"task.valid={typed}", "data.delimiter=;", "data.encoding=cp1252")
        )
        assert options.task.valid == meant and options.data.delimiter == ";"
        (tmp_path / "config.yaml").write_text(to_yaml(options), encoding="utf-8")
        assert compose_options("train", read(f"config={tmp_path / 'config.yaml'}")) == options


def test_a_config_of_an_earlier_version_is_read_unless_it_asks_for_what_is_gone(tmp_path: Path) -> None:
    file, options = tmp_path / "config.yaml", compose_options("train", read("task=copy"))
    now = to_yaml(options)
    file.write_text(now.replace("tokenizer:\n", "tokenizer:\n  dropout: 0.0\n"), encoding="utf-8")
    assert compose_options("train", read(f"config={file}")) == options
    file.write_text(now.replace("tokenizer:\n", "tokenizer:\n  dropout: 0.1\n"), encoding="utf-8")
    with pytest.raises(UsageError, match=r"config.yaml: tokenizer.dropout \(0.1\) is no longer there: use the version"):
        read(f"config={file}")
    with pytest.raises(UsageError, match=r"tokenizer.dropout"):
        read("tokenizer.dropout=0.1")


@pytest.mark.parametrize("value", [";", ",", "|", "tab", "\t", " ", "\\", "'", "1"])
def test_any_delimiter_is_typed_as_it_is(value: str, tmp_path: Path) -> None:
    options = compose_options("train", read(f"data.delimiter={value}"))
    assert options.data.delimiter == value
    (tmp_path / "config.yaml").write_text(to_yaml(options), encoding="utf-8")
    assert compose_options("train", read(f"config={tmp_path / 'config.yaml'}")) == options


@pytest.mark.parametrize(
    ("typed", "message"),
    [
        (["data.delimiter=ab"], r"data.delimiter \(ab\) must be one character, no quote mark and no line end, or tab"),
        (['data.delimiter="'], "must be one character"),
        (["data.encoding=utf-99"], r"data.encoding \(utf-99\) must be an encoding that Python knows, as utf-8"),
        (["data.encoding=base64"], "must be an encoding"),
        (["task.source=1", "task.target=0"], r"task.source \(1\) says how task.test is read: set task.test too"),
        (["data.on_bad_line=skip"], "on_bad_line .* says how task.test is read"),
        (["task.test=x", "task.source=1"], "task.source .* and task.target .* go together"),
        (["task.test=[]"], "task.test .* must be a path, a glob or several"),
    ],
)
def test_how_other_data_are_read_is_checked_before_a_checkpoint_is(typed: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        options_of("evaluate", read("ckpt=x", *typed, command="evaluate"))


def test_column_names_stay_text_and_column_numbers_numbers() -> None:
    overrides = read("task=files", "task.train=x", "task.source=1e5", "task.target=1")
    assert as_hydra_reads(overrides[2]) == "1e5" and as_hydra_reads(overrides[3]) == 1
