"""What a person types is understood, or refused with one message that names the key and the remedy."""

from pathlib import Path

import pytest
from hydra.core.override_parser.overrides_parser import OverridesParser
from hypothesis import given
from hypothesis import strategies as st

from seq2see.runs.config import config_folder
from seq2see.runs.overrides import UsageError, quoted, read_overrides


def read(*arguments: str, command: str = "train") -> list[str]:
    return read_overrides(command, list(arguments), config_folder())


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
    assert read("run_dir=[run2]", "init=[a,b]") == ["run_dir='[run2]'", "init='[a,b]'"]


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


def test_column_names_stay_text_and_column_numbers_numbers() -> None:
    overrides = read("task=files", "task.train=x", "task.source=1e5", "task.target=1")
    assert as_hydra_reads(overrides[2]) == "1e5" and as_hydra_reads(overrides[3]) == 1
