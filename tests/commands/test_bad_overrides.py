"""Any mistake on the command line or in a configuration file is answered with one message, before anything is done."""

import contextlib
import io
from collections.abc import Iterator
from enum import Enum
from itertools import cycle
from pathlib import Path
from types import NoneType
from typing import Any, get_args, get_origin, get_type_hints

import pytest
import yaml
from hypothesis import HealthCheck, Phase, assume, given, settings
from hypothesis import strategies as st

from seq2see.commands import shell
from seq2see.options import COMMANDS, TASKS, TrainOptions
from seq2see.options.plain import to_plain
from seq2see.runs.overrides import has_task, key_types

NEEDED = {"files": ["task.train=x.tsv"], "hub": ["task.path=x", "task.source=a", "task.target=b"]}
SOME = settings(max_examples=8, phases=[Phase.generate], suppress_health_check=list(HealthCheck), database=None)
Command = tuple[str, list[str]]


def places() -> dict[str, tuple[Any, Command]]:
    """Each key with its type and a command that takes it, with what must stand before it."""
    found: dict[str, tuple[Any, Command]] = {}
    for command, schema in reversed(COMMANDS.items()):  # those of training stand first, and win
        types = {key: hint for key, hint in key_types(command).items() if not (has_task(schema) and key[:5] == "task.")}
        found |= {key: (hint, (command, [])) for key, hint in types.items()}
    for kind, schema in TASKS.items():
        right = "train", [f"task={kind}", *NEEDED.get(kind, [])]
        found |= {f"task.{name}": (hint, right) for name, hint in get_type_hints(schema).items() if name != "kind"}
    return found


PLACES = places()


def behind(key: str, value: str) -> Command:
    command, right = PLACES[key][1]
    return command, [*right, f"{key}={value}"]


@pytest.fixture(autouse=True, scope="module")
def nothing_is_done() -> Iterator[None]:
    """A command that gets past its options is a failure."""

    def accepted(command: str, options: Any) -> None:
        raise AssertionError(f"{command} accepts {options}")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(shell, "_call", accepted)
        patch.setattr(shell, "listen", lambda: None)
        yield


def refusal(command: str, arguments: list[str]) -> str:
    """The one message of a command that is wrong."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        code = shell.run(command, arguments)
    message = err.getvalue()
    assert code == 2 and out.getvalue() == "", arguments
    assert message.startswith(f"{command}: ") and "Traceback" not in message and message.endswith("\n"), arguments
    assert message.count("\n") <= 4 and 15 < len(message) < 1_500, arguments
    return message


WRONG_VALUES: dict[Any, list[str]] = {
    int: "fast 1.5 1e3 nan inf -inf true no [1] [] {a:1} {} '' 0x1f 0o17 1e400 1__0 _1 1/2".split(),
    float: "fast nan inf -inf .nan +inf 1e400 -1e400 1e309 true [1] [] {a:1} '' 1,5x 0x1p3 1..2 --1 1e e3 NaN".split(),
    bool: "2 -1 maybe 1.0 [true] {} nan '' ja 10 tru t null,true".split(),
    list[float]: "3 fast [a] {a:1} [1] [0.5,0.5,0.5] [nan,0.9] [0.9,inf] [0.9,1.0] [-0.1,0.5] [] [[0.5],0.5]".split(),
    Enum: "nonesuch 1.5 -1 [x] {a:1} '' a.b 9 nan".split(),
}


def base_of(kind: Any) -> tuple[Any, bool]:
    """A key's type without None, and whether null is one of its values."""
    options = [part for part in get_args(kind) if part is not NoneType]
    base = kind if get_origin(kind) is list or not options else options[0]
    is_enum = isinstance(base, type) and issubclass(base, Enum)
    return (Enum if is_enum else base), NoneType in get_args(kind)


KEYS = {base: sorted(key for key, (kind, _) in PLACES.items() if base_of(kind)[0] == base) for base in WRONG_VALUES}


def of_another_type() -> Iterator[Command]:
    """Each wrong value with one key of its type at least, and each key with one wrong value at least."""
    for base, values in WRONG_VALUES.items():
        few, many = sorted((KEYS[base], values), key=len)
        pairs = zip(many, cycle(few), strict=False)
        yield from (behind(*(pair if many is KEYS[base] else reversed(pair))) for pair in pairs)
        for key, empty in zip(KEYS[base], cycle(["null", "~", "None"]), strict=False):
            if not base_of(PLACES[key][0])[1]:
                yield behind(key, empty)


RANGES = """
0 -1: model.d_model model.num_heads model.num_kv_heads model.num_encoder_layers model.max_positions model.window
0 -1: optim.lr trainer.max_steps trainer.max_epochs trainer.accumulate_grad_batches trainer.log_every_n_steps
0 -1: training.patience training.keep data.batch_size data.batch_tokens data.max_length attention_log.every_n_steps
0 -1: attention_log.num_examples attention_log.max_megabytes task.train_size task.max_number average rounds pairs layer
0 -1 1001 1000000000: decode.beam_size decode.num_best
0 -1 99999999999: decode.temperature decode.top_k decode.max_length decode.batch_size task.min_length task.train_size
-1: optim.weight_decay optim.warmup_steps trainer.gradient_clip_val data.num_workers decode.seed task.valid_size step
100000000: model.d_model model.num_heads model.num_encoder_layers data.num_workers
99999999999: trainer.max_steps
-0.1 1 1.0 1.5: model.dropout model.attention_dropout optim.label_smoothing
0 1 1.0 -1 2: optim.ema task.train_fraction
0 -1 0.0 1.5 nan inf x true [1]: trainer.val_check_interval trainer.limit_train_batches trainer.limit_val_batches
cpuu tpu 1 gpu0 '': trainer.accelerator accelerator
999 10000 -1: task.first_year task.last_year
-1 4294967296 99999999999999999999: seed
15 00:15:00 00:00:00:00 1:2:3:x -1:00:00:00 99999999:00:00:00 15min: trainer.max_time
0 -2 1.5 x [] [a] [-1] true null: trainer.devices
31 8 fp16 32.0 null true [32]: trainer.precision
max null 1: trainer.gradient_clip_algorithm
accuracy val/loss 1 [loss] BLEU: training.select
0 4 -1: tokenizer.vocab_size
-1 -0.5 300 inf nan: decode.length_penalty
0 1.5 -1: decode.top_p
13 99: task.min_length
3 0 -1: task.max_length
0 27 -1: task.vocab_size
4 -1 1: task.num_fillers
0 -1 20: task.length_cutoff
"""


def out_of_range() -> Iterator[Command]:
    for line in RANGES.strip().splitlines():
        values, keys = line.rsplit(": ", 1)
        yield from (behind(key, value) for key in keys.split() for value in values.split())


LINES = """model.d_model=30 model.num_heads=4
model.d_model=20 model.num_heads=4 model.position=rope
model.score=additive model.position=rope
data.batch_size=3 data.batch_tokens=3
tokenizer.source=bpe tokenizer.vocab_size=259
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
resume=auto
task=copy task.split=length
task=scan task.min_length=null""".splitlines()
WORDS = """
=x = +=1 ++= a.b.c.d=1 --lr=3 -x --lr ~seed ~seed=1 数据=1 seed seed:1 {seed=1} [seed=1 'seed=1' seed==1 task= model=x
task=[copy] task=null task.kind=copy experiment=x experiment= hydra.seed=1 hydra.run.dirx=x +task=copya task={kind:copy}
task=copy, model=tiny, optim={lr:1} trainer=null model@x=tiny defaults=[] config= run_dir= -mx -M --cfg --cfg=jb
--info=x --config-dir=nowhere --config-name=nothing hydra/launcher=nothing
""".split()
SWEEPS = """
seed=1,fast seed=1,-1 task=copy,nothing model=tiny,huge seed=1, seed=[ optim.lr=nan,1 sed=1,2 model.d_model=32,30
seed=range(a) seed=range(1,1) logger=csv,x optim.lr='a,1 experiment=reverse,x seed=choice() config=a,b init=a,b
""".split()
LONG = [f"run_dir={'数' * 256}", f"resume=a/{'x' * 5_000}/b", f"init=[a,{'x' * 256}]", f"config=~/{'ä' * 300}"]
MISTAKES: list[Command] = [
    *of_another_type(),
    *out_of_range(),
    *(("train", line.split()) for line in LINES),
    *(("data", [word]) for word in (*WORDS, *LONG, "", " =1", "seed =1")),
    *(("train", ["trainer.max_steps=1,2", "-m", word]) for word in SWEEPS),
]


@st.composite
def mistyped_keys(draw: Any) -> Command:
    command = draw(st.sampled_from(sorted(COMMANDS)))
    types = key_types(command)
    key, place = draw(st.sampled_from(sorted(types))), draw(st.integers(0, 20))
    letter = draw(st.sampled_from("abcxyzABC._-0é数 "))
    before, after = key[:place], key[place + 1 :]
    slips = [before + after, before + letter + after, before + letter + key[place:], before + after[:1] + key[place:]]
    slips += [key.replace(".", "_"), key.split(".")[-1], key.upper(), f"{key}.x", f"x.{key}", f"{key}@x", f"{key}[0]"]
    wrong = draw(st.sampled_from(slips))
    assume(wrong not in types and not wrong.startswith("-"))
    plus = draw(st.sampled_from(["", "+", "++"]))
    return command, [f"{plus}{wrong}={draw(st.sampled_from(['1', 'null', 'true', 'a', '[1]']))}"]


@st.composite
def broken_syntax(draw: Any) -> Command:
    key = draw(st.sampled_from(sorted(key for base in (int, float, bool, list[float]) for key in KEYS[base])))
    letters = st.characters(categories=["L", "S", "P"], exclude_characters="[]")
    value = draw(
        st.one_of(
            st.text("[]{}()'\"$,:=\\ #@~!*&%+a", max_size=12),
            st.text(letters, max_size=8),
            st.sampled_from(["a b", *"${ ${} ${x} ${oc.env:NOT_THERE} ${..} ??? glob(*) range(3) choice(1,2)".split()]),
            st.sampled_from("1,2 shuffle(1,2) int(x) float( tag(x,1) extend_list(1)".split()),
            st.integers(200, 90_000).map(lambda length: "x" * length),
        )
    )
    right = "nan inf infinity null true false yes no on off t f y n".split()
    assume("".join(char for char in value if char.isalnum()).casefold() not in right)
    return behind(key, value)


GOOD: dict[str, Any] = to_plain(TrainOptions())
NO_CONFIG = (
    """|[]|1|text|null|a: 1|task: copy|task: {}|task: {kind: moon}|task: {kind: [copy]}|task: {kind: 3}|- task|{
|a: [1|a: 'b|\t- x: 1|a: b: c|a: &a [*a]\ntask: {kind: copy}|!!python/object/apply:os.system [ls]|date: 2020-13-45|\0
|task: {kind: copy}\nseed: 1\nseed: 2|? [a]\n: 1\ntask: {kind: copy}|---\n---\n|task: &t {kind: copy, x: *t}
|task: {kind: copy}\n1: 2|schema: 1\nsteps: []|a: \u0085 1|task: {kind: copy}\nseed: 2020-01-01
|task: {kind: copy}\nseed: [[1]]|task: {kind: copy}\nmodel: {d_model: {a: {b: 1}}}""".split("|")
    + ["[" * 3_000, "\udcff"]
)


def wrong_configs() -> Iterator[str]:
    """What stands in a file: no configuration, or one with one wrong key or value."""
    yield from NO_CONFIG
    wrong = cycle(["fast", {"a": 1}, [[1]], ["x"], float("nan"), {"a": {"b": {}}}, "${seed}", "???"])
    for key in (key for keys in KEYS.values() for key in keys if PLACES[key][1] == ("train", [])):
        for name_of, value in ((key, next(wrong)), (f"{key}x", 1)):
            config = {name: dict(part) if isinstance(part, dict) else part for name, part in GOOD.items()}
            room, _, name = name_of.rpartition(".")
            (config[room] if room else config)[name] = value
            yield yaml.safe_dump(config, allow_unicode=True)


def refuse_config(file: Path, text: str) -> None:
    file.write_bytes(text.encode("utf-8", "surrogateescape"))
    refusal("train", [f"config={file}"])


@SOME
@given(st.one_of(mistyped_keys(), broken_syntax()))
def test_slips_and_broken_values_get_one_message(mistake: Command) -> None:
    refusal(*mistake)


def test_mistakes_get_one_message_and_nothing_is_done() -> None:
    for mistake in MISTAKES[::15]:
        refusal(*mistake)


def test_wrong_configurations_get_one_message_and_nothing_is_done(tmp_path: Path) -> None:
    for text in (*NO_CONFIG, *list(wrong_configs())[::20]):
        refuse_config(tmp_path / "config.yaml", text)


@pytest.mark.parametrize(
    "argument",
    "optim.lr=1e400 optim.weight_decay=inf attention_log.max_megabytes=inf attention_log.enabled=2 seed=null".split(),
)
def test_what_hydra_would_take_and_nobody_means_is_refused(argument: str) -> None:
    assert argument.split("=")[0] in refusal("train", [argument])


def test_what_is_right_is_taken() -> None:
    """The tables' own ground: without the mistake each command is accepted."""
    for command, arguments in (
        *{(command, *right): (command, right) for _, (command, right) in PLACES.values()}.values(),
        ("evaluate", ["a run", "decode.beam_size=4"]),
        ("train", ["attention_log.enabled=off", "trainer.devices=[0]", "trainer.precision=bf16-mixed"]),
    ):
        with pytest.raises(AssertionError, match="accepts"):
            shell.run(command, arguments)


@pytest.mark.slow
@settings(SOME, max_examples=2_000, derandomize=True)
@given(st.one_of(mistyped_keys(), broken_syntax(), st.sampled_from(MISTAKES)))
def test_2_000_mistakes_get_one_message(mistake: Command) -> None:
    refusal(*mistake)


@pytest.mark.slow
def test_all_mistakes_get_one_message(tmp_path: Path) -> None:
    for mistake in MISTAKES:
        refusal(*mistake)
    for text in wrong_configs():
        refuse_config(tmp_path / "config.yaml", text)
