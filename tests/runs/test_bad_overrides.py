"""Any mistake on the command line or in a configuration file is answered with one message, before anything is done."""

import contextlib
import io
import os
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from enum import Enum
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
import yaml
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from seq2see.options import COMMANDS, PATH_KEYS, TASKS, TrainOptions
from seq2see.options.plain import to_plain
from seq2see.runs import shell
from seq2see.runs.overrides import has_task, key_types

SCRIPTS = Path(__file__).parents[2] / "scripts"
NEEDED = {"files": ["task.train=x.tsv"], "hub": ["task.path=x", "task.source=a", "task.target=b"]}
TYPED = tuple(command for command in COMMANDS if command != "compare")  # a command whose only key is a path
Command = tuple[str, list[str]]
Draw = Any  # hypothesis's function that draws from a strategy


def types_of(command: str, kind: str = "translation") -> dict[str, Any]:
    """The keys of a command and one task, with their types."""
    of_task = {f"task.{name}": hint for name, hint in get_type_hints(TASKS[kind]).items() if name != "kind"}
    if not has_task(COMMANDS[command]):
        return key_types(command)
    return {key: hint for key, hint in key_types(command).items() if not key.startswith("task.")} | of_task


@pytest.fixture(autouse=True, scope="module")
def nothing_is_done() -> Iterator[None]:
    """A command that gets past its options is a failure; signal handlers are put back afterwards."""

    def accepted(command: str, options: Any) -> None:
        raise AssertionError(f"{command} accepts {options}")

    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shell, "_call", accepted)
        yield
    for number, handler in before.items():
        signal.signal(number, handler)


def refusal(command: str, arguments: list[str]) -> str:
    """The one message of a command that is wrong."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = shell.run(command, arguments)
    check(command, code, out.getvalue(), err.getvalue())
    return err.getvalue()


def check(command: str, code: int, out: str, err: str) -> None:
    assert code == 2 and out == ""
    assert err.startswith(f"{command}: ") and "Traceback" not in err and err.endswith("\n")
    assert err.count("\n") <= 4 and 15 < len(err) < 1_500


@st.composite
def starts(draw: Draw, commands: tuple[str, ...] = tuple(COMMANDS)) -> tuple[str, list[str], dict[str, Any]]:
    """A command, arguments of it that are right, and the types of its keys."""
    command = draw(st.sampled_from(sorted(commands)))
    if not has_task(COMMANDS[command]):
        return command, [], types_of(command)
    kind = draw(st.sampled_from(sorted(TASKS)))
    types = types_of(command, kind)
    return command, [f"task={kind}", *NEEDED.get(kind, [])], types


@st.composite
def mistyped_keys(draw: Draw) -> Command:
    command, right, types = draw(starts())
    key = draw(st.sampled_from(sorted(types)))
    place = draw(st.integers(0, len(key) - 1))
    letter = draw(st.sampled_from("abcxyzABC._-0é数 "))
    before, after = key[:place], key[place + 1 :]
    slips = [before + after, before + letter + after, before + letter + key[place:], before + after[:1] + key[place]]
    slips += [key.replace(".", "_"), key.split(".")[-1], key.upper(), f"{key}.x", f"x.{key}", f"{key}@x", f"{key}[0]"]
    wrong = draw(st.sampled_from(slips))
    assume(wrong not in types and wrong != "config" and not wrong.startswith("-"))
    plus = draw(st.sampled_from(["", "+", "++"]))
    return command, [*right, f"{plus}{wrong}={draw(st.sampled_from(['1', 'null', 'true', 'a', '[1]']))}"]


@st.composite
def keys_of_other_tasks(draw: Draw) -> Command:
    kind, other = draw(st.permutations(sorted(TASKS)).map(lambda kinds: kinds[:2]))
    types = types_of("train", kind)
    keys = set(types_of("train", other)) - set(types)
    assume(keys)
    value = draw(st.sampled_from(["1", "null", "a"]))
    command = draw(st.sampled_from(["train", "data"]))
    return command, [f"task={kind}", *NEEDED.get(kind, []), f"{draw(st.sampled_from(sorted(keys)))}={value}"]


def base_of(kind: Any) -> tuple[Any, bool]:
    """A key's type without None, and whether null is one of its values."""
    options = [part for part in get_args(kind) if part is not NoneType]
    if get_origin(kind) is list or not options:
        return kind, kind is Any
    return options[0], len(options) < len(get_args(kind))


WRONG_VALUES: dict[Any, list[str]] = {
    int: "fast 1.5 1e3 nan inf -inf true no [1] [] {a:1} {} '' 0x1f 0o17 1e400 1__0 _1 1/2".split(),
    float: "fast nan inf -inf .nan +inf 1e400 -1e400 1e309 true [1] [] {a:1} '' 1,5x 0x1p3 1..2 --1 1e e3 NaN".split(),
    bool: "2 -1 maybe 1.0 [true] {} nan '' ja 10 tru t null,true".split(),
    list[float]: "3 fast [a] {a:1} [1] [0.5,0.5,0.5] [nan,0.9] [0.9,inf] [0.9,1.0] [-0.1,0.5] [] [[0.5],0.5]".split(),
    Enum: "nonesuch 1.5 -1 [x] {a:1} '' a.b 9 nan".split(),
}


def is_kind(kind: Any) -> Any:
    return Enum if isinstance(kind, type) and issubclass(kind, Enum) else kind


def keys_with_a_type(types: dict[str, Any]) -> st.SearchStrategy[str]:
    return st.sampled_from(sorted(key for key, kind in types.items() if is_kind(base_of(kind)[0]) in WRONG_VALUES))


@st.composite
def values_of_another_type(draw: Draw) -> Command:
    command, right, types = draw(starts(TYPED))
    key = draw(keys_with_a_type(types))
    base, optional = base_of(types[key])
    wrong = [*WRONG_VALUES[is_kind(base)], *([] if optional else ["null", "~", "None"])]
    return command, [*right, f"{key}={draw(st.sampled_from(wrong))}"]


POSITIVE = """
model.d_model model.num_heads model.num_kv_heads model.num_encoder_layers model.max_positions model.window optim.lr
trainer.max_steps trainer.max_epochs trainer.accumulate_grad_batches trainer.log_every_n_steps training.patience
training.keep data.batch_size data.batch_tokens data.max_length decode.beam_size decode.num_best decode.temperature
decode.top_k decode.max_length decode.batch_size attention_log.every_n_steps attention_log.num_examples
attention_log.max_megabytes task.train_size task.max_number average rounds pairs layer
""".split()
OUT_OF_RANGE = {key: ["0", "-1"] for key in POSITIVE}
for line in """seed -1 4294967296 99999999999999999999
model.d_model 100000000
model.num_heads 99999999
model.num_encoder_layers 1001
model.dropout -0.1 1 1.0 1.5
model.attention_dropout -0.1 1 7
optim.weight_decay -1 -0.01
optim.warmup_steps -1
optim.label_smoothing -0.1 1 1.0 2
optim.ema 0 1 1.0 -1 2
optim.betas [0.9,1] [1,1] [0.9,-1]
trainer.max_steps 9999999999999999
trainer.max_time 15 00:15:00 00:00:00:00 1:2:3:x -1:00:00:00 99999999:00:00:00 15min
trainer.accelerator cpuu tpu 1 gpu0 ''
trainer.devices 0 -2 1.5 x [] [a] [-1] true null
trainer.precision 31 8 fp16 32.0 null true [32]
trainer.gradient_clip_val -1 -0.5
trainer.gradient_clip_algorithm max null 1
trainer.val_check_interval 0 -1 0.0 1.5 -0.5 nan inf x true [1]
trainer.limit_train_batches 0 -1 0.0 1.5 nan x null true
trainer.limit_val_batches 0 -1 2.5 nan x null
training.select accuracy val/loss 1 [loss] BLEU
tokenizer.vocab_size 0 4 -1
data.num_workers -1 100000
decode.beam_size 1001 1000000000
decode.length_penalty -1 -0.5 300 inf nan
decode.num_best 1001
decode.temperature inf nan
decode.top_p 0 1.5 -1
decode.seed -1
task.train_size 99999999999
task.valid_size -1
task.min_length 0 -1 13 99
task.max_length 3 0 -1
task.vocab_size 0 27 -1
task.first_year 999 10000 2100 -1
task.last_year 999 10000 1899
task.train_fraction 0 1 1.0 -0.5
task.num_fillers 4 -1 1
task.length_cutoff 0 -1 20
task.features_separator \t
accelerator cpuu tpu 1 ''""".splitlines():
    name, *values = line.split(" ")
    OUT_OF_RANGE.setdefault(name, []).extend(values)


@st.composite
def values_out_of_range(draw: Draw) -> Command:
    command, right, types = draw(starts())
    key = draw(st.sampled_from(sorted(set(OUT_OF_RANGE) & set(types)) or ["seed"]))
    assume(key in types and not (command == "attention" and key in ("average", "accelerator")))
    return command, [*right, f"{key}={draw(st.sampled_from(OUT_OF_RANGE[key]))}"]


RULES = """model.d_model=30 model.num_heads=4
model.d_model=20 model.num_heads=4 model.position=rope
model.d_model=31 model.num_heads=1 model.position=sinusoidal
model.position=none model.cross_position=none model.randomize_positions=9
model.position=learned model.max_positions=8 model.randomize_positions=9
model.score=additive model.position=rope
model.score=additive model.position=alibi model.cross_position=rope
model.cross_position=learned
model.cross_position=sinusoidal
data.batch_size=3 data.batch_tokens=3
tokenizer.source=bpe tokenizer.vocab_size=259
tokenizer.source=char tokenizer.target=word tokenizer.shared=true
decode.num_best=3 decode.beam_size=2
decode.sample=true decode.beam_size=2
decode.top_k=3
decode.top_p=0.5
decode.temperature=2
task=copy task.min_length=9 task.max_length=8
task=numbers task.source=de task.target=de
task=dates task.first_year=2001 task.last_year=2000
task=scan task.split=simple task.length_cutoff=9
task=scan task.split=length task.train_fraction=0.5
task=files
task=files task.train=[]
task=files task.train=a task.source=x
task=hub task.source=a task.target=b
task=hub task.path=x
resume=auto""".splitlines()
PUNCTUATION = "[]{}()'\"$,:=\\ #@~!*&%+a"  # no digit and no word: none of these texts is a number, a name or a truth


@st.composite
def broken_syntax(draw: Draw) -> Command:
    command, right, types = draw(starts(TYPED))
    key = draw(keys_with_a_type(types))
    letters = st.characters(categories=["L", "S", "P"], exclude_characters="[]")
    value = draw(
        st.one_of(
            st.text(PUNCTUATION, max_size=12),
            st.text(letters, max_size=8),
            st.sampled_from(["a b", *"${ ${} ${x} ${oc.env:NOT_THERE} ${..} ??? glob(*) range(3) choice(1,2)".split()]),
            st.sampled_from("1,2 shuffle(1,2) int(x) float( tag(x,1) extend_list(1)".split()),
            st.integers(200, 90_000).map(lambda length: "x" * length),
        )
    )
    enums = [base_of(kind)[0] for kind in types.values() if is_kind(base_of(kind)[0]) is Enum]
    right_values = {name for enum in enums for name in enum.__members__}
    right_values |= set("nan inf infinity null true false yes no on off".split())
    assume(re.sub(r"\W", "", value).casefold() not in right_values)
    return command, [*right, f"{key}={value}"]


NO_KEYS = """
=x = +=1 ++= a.b.c.d=1 --lr=3 -x --lr ~seed ~seed=1 数据=1 seed seed:1 {seed=1} [seed=1 'seed=1' seed==1 task= model=x
task=[copy] task=null task.kind=copy experiment=x experiment= hydra.seed=1 hydra.run.dirx=x +task=copya task={kind:copy}
task=copy, model=tiny, optim={lr:1} trainer=null model@x=tiny defaults=[] config= run_dir= -mx -M --cfg --cfg=jb
--info=x --config-dir=nowhere --config-name=nothing hydra/launcher=nothing
""".split()


@st.composite
def paths_that_cannot_be(draw: Draw) -> Command:
    command, right, types = draw(starts())
    key = draw(st.sampled_from(sorted(set(PATH_KEYS) & set(types) - {"task.path"})))
    name = draw(st.sampled_from("xä数")) * draw(st.integers(256, 5_000))
    value = draw(st.sampled_from([name, f"a/{name}/b", f"[a,{name}]", f"~/{name}"]))
    assume(command != "selfcheck" or key != "ckpt")  # goes with no other key
    return command, [*right, f"{key}={value}"]


SWEEPS = """
seed=1,fast seed=1,-1 task=copy,nothing model=tiny,huge seed=1, seed=[ optim.lr=nan,1 sed=1,2 model.d_model=32,30
seed=range(a) seed=range(1,1) logger=csv,x optim.lr='a,1 experiment=reverse,x seed=choice() config=a,b init=a,b
""".split()
GOOD: dict[str, Any] = to_plain(TrainOptions())
NO_CONFIG = (
    """|[]|1|text|null|a: 1|task: copy|task: {}|task: {kind: moon}|task: {kind: [copy]}|task: {kind: 3}|- task|{
|a: [1|a: 'b|\t- x: 1|a: b: c|a: &a [*a]\ntask: {kind: copy}|!!python/object/apply:os.system [ls]|date: 2020-13-45|\0
|task: {kind: copy}\nseed: 1\nseed: 2|? [a]\n: 1\ntask: {kind: copy}|---\n---\n|task: &t {kind: copy, x: *t}
|task: {kind: copy}\n1: 2|schema: 1\nsteps: []|a: \u0085 1""".split("|")
    + ["[" * 3_000]
)


@st.composite
def wrong_configs(draw: Draw) -> tuple[str, bytes]:
    """A command that takes `config=`, and what stands in the file."""
    command = draw(st.sampled_from(["train", "data"]))
    if draw(st.booleans()):
        text = draw(st.sampled_from(NO_CONFIG))
        return command, draw(st.sampled_from([text.encode(), text.encode() + b"\xff\xfe"] if text else [b"", b"\xff"]))
    config = {name: dict(value) if isinstance(value, dict) else value for name, value in GOOD.items()}
    types = types_of("train", "translation")
    key = draw(keys_with_a_type(types))
    base, optional = base_of(types[key])
    wrong: list[Any] = ["fast", {"a": 1}, [[1]], ["x"], float("nan"), {"a": {"b": {}}}, "${seed}", "???"]
    wrong += [] if optional else [None]
    wrong += [3] if is_kind(base) is not int and base is not float else [1e400]
    room, _, name = key.rpartition(".")
    where = config[room] if room else config
    if draw(st.booleans()):
        where[name] = draw(st.sampled_from(wrong))
    else:
        where[f"{name}x"] = draw(st.sampled_from([1, None, "a"]))
    return command, yaml.safe_dump(config, allow_unicode=True).encode()


def typed(*lines: list[str]) -> st.SearchStrategy[Command]:
    """These arguments behind each command that takes keys of training."""
    return st.tuples(st.sampled_from(["train", "data"]), st.sampled_from(lines))


MISTAKES = {  # with how many of each
    "mistyped keys": (mistyped_keys(), 290),
    "keys of other tasks": (keys_of_other_tasks(), 150),
    "values of another type": (values_of_another_type(), 400),
    "values out of range": (values_out_of_range(), 300),
    "rules between keys": (typed(*(line.split() for line in RULES)), 100),
    "broken syntax": (broken_syntax(), 300),
    "no keys": (typed(*([argument] for argument in [*NO_KEYS, "", " =1", "seed =1"])), 120),
    "paths that cannot be": (paths_that_cannot_be(), 60),
    "sweeps": (typed(*(["trainer.max_steps=1,2", "-m", argument] for argument in SWEEPS)), 80),
}


def examined(mistakes: st.SearchStrategy[Any], count: int, answer: Callable[[Any], object]) -> None:
    @settings(max_examples=count, phases=[Phase.generate], suppress_health_check=list(HealthCheck), database=None)
    @given(mistakes)
    def one(mistake: Any) -> None:
        answer(mistake)

    one()


def refuse_config(folder: Path, mistake: tuple[str, bytes]) -> None:
    command, content = mistake
    (folder / "config.yaml").write_bytes(content)
    refusal(command, [f"config={folder / 'config.yaml'}"])


@pytest.mark.parametrize("name", MISTAKES)
def test_mistakes_get_one_message_and_nothing_is_done(name: str) -> None:
    examined(MISTAKES[name][0], MISTAKES[name][1] // 50, lambda mistake: refusal(*mistake))


@pytest.mark.parametrize(
    "argument",
    "optim.lr=1e400 optim.weight_decay=inf attention_log.max_megabytes=inf attention_log.enabled=2 seed=null".split(),
)
def test_what_hydra_would_take_and_nobody_means_is_refused(argument: str) -> None:
    assert argument.split("=")[0] in refusal("train", [argument])


@pytest.mark.parametrize(
    "text", ["seed: 1\nseed: 2", "seed: 2020-01-01", "seed: [[1]]", "model: {d_model: {a: {b: 1}}}"]
)
def test_a_configuration_of_which_a_part_would_be_ignored_is_refused(text: str, tmp_path: Path) -> None:
    (tmp_path / "config.yaml").write_text(f"task: {{kind: copy}}\n{text}\n", encoding="utf-8")
    assert "config" in refusal("train", [f"config={tmp_path / 'config.yaml'}"])


def test_wrong_configurations_get_one_message_and_nothing_is_done(tmp_path: Path) -> None:
    examined(wrong_configs(), 8, partial(refuse_config, tmp_path))


def test_what_is_right_is_taken() -> None:
    """The generators' own ground: without the mistake each start is accepted."""
    for command, arguments in (
        ("train", []),
        ("train", ["task=files", *NEEDED["files"]]),
        ("data", ["task=hub", *NEEDED["hub"]]),
        ("evaluate", ["a run", "decode.beam_size=4"]),
        ("benchmark", ["rounds=1"]),
        ("train", ["-m", "seed=1", "attention_log.enabled=off", "trainer.devices=[0]", "trainer.precision=bf16-mixed"]),
    ):
        with pytest.raises(AssertionError, match="accepts") if "-m" not in arguments else contextlib.nullcontext():
            shell.run(command, arguments)


@pytest.mark.slow
@pytest.mark.parametrize("name", MISTAKES)
def test_two_thousand_mistakes_get_one_message_each(name: str) -> None:
    examined(*MISTAKES[name], lambda mistake: refusal(*mistake))


@pytest.mark.slow
def test_two_hundred_wrong_configurations_get_one_message_each(tmp_path: Path) -> None:
    examined(wrong_configs(), 200, partial(refuse_config, tmp_path))


@pytest.mark.slow
def test_fifty_mistakes_as_real_commands(tmp_path: Path) -> None:
    def check_command(mistake: Command) -> None:
        command, arguments = mistake
        script = [sys.executable, str(SCRIPTS / f"{command}.py"), *arguments]
        environment = {**os.environ, "PYTHONUTF8": "1"}
        done = subprocess.run(
            script, cwd=tmp_path, env=environment, capture_output=True, text=True, encoding="utf-8", timeout=120
        )
        check(command, done.returncode, done.stdout, done.stderr)
        assert list(tmp_path.iterdir()) == []

    examined(st.one_of([mistakes for mistakes, _ in MISTAKES.values()]), 50, check_command)
