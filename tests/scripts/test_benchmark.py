"""What the benchmark prints and writes."""

import importlib.util
import itertools
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from benchmark import decode, gpu, maps, train
from benchmark.apart import Contender, apart
from benchmark.figure import Figure, Rounds
from benchmark.scaling import step_seconds
from benchmark.train import peers
from seq2see.options import BenchmarkOptions
from seq2see.runs.config import compose_options

SCRIPT = Path(__file__).parents[2] / "scripts" / "benchmark.py"


def test_a_line_has_the_value_its_unit_and_the_ratio_in_80_columns() -> None:
    line = Figure("decode", "CTranslate2, 2 workers, 1 thread", 12_345.6, "sentences/s", 1.8, (1.75, 797.1)).line()
    assert line.split() == ["CTranslate2,", *"2 workers, 1 thread 12,346 sentences/s 1.80x (1.75-797)".split()]
    assert len(line) <= 80


def test_what_the_attention_log_takes_of_a_run(
    tmp_path: Path, short_run: Callable[..., list[str]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "seq2see.runs.config.compose_options", lambda name, _: compose_options(name, short_run(tmp_path / "run"))
    )
    share, *snapshots = maps._logging(tmp_path / "run", rounds=1)
    assert share.unit == "%" and 0 < share.value < 100
    assert [(own.unit, own.note) for own in snapshots] == [("ms", "3 pairs")] * 2 and snapshots[0].value > 0


def test_contenders_take_turns_and_their_ratio_is_that_of_one_round() -> None:
    order: list[str] = []
    contenders = {name: lambda name=name: order.append(name) or 1.0 for name in ("ours", "peer")}
    rounds = Rounds.run("x", "things/s", contenders, rounds=2)
    assert order == ["ours", "peer"] * 3  # the first of each only warms up
    rounds.rates = {"ours": [4.0, 9.0], "peer": [2.0, 3.0]}
    ours, peer = rounds.figures("ours", {"peer": "differs"})
    assert (ours.name, ours.ratio, ours.value) == ("ours", None, 6.5)
    assert (peer.name, peer.ratio, peer.spread, peer.note) == ("peer", 2.5, (2.0, 3.0), "differs")


@pytest.mark.slow  # each process loads torch
def test_a_contender_apart_works_when_asked_in_a_process_of_its_own() -> None:
    contenders = {name: Contender(counted, (name, 10)) for name in ("one", "two")}
    with apart(contenders) as work:
        assert [work["one"](), work["one"](), work["two"]()] == [11.0, 12.0, 11.0]
    with pytest.raises(RuntimeError, match="two failed"), apart({"two": Contender(counted, ("two", "x"))}) as work:
        work["two"]()


def counted(name: str, start: int) -> Callable[[], float]:
    done = itertools.count(start + 1)
    return lambda: float(next(done))


def test_contenders_learn_from_the_same_batches() -> None:
    size = peers.Size(8, 1, 2, 16, 12, 4, 6)
    ours, textbook = (peers.padded_work(name, size, 2)() for name in (peers.OURS, peers.TEXTBOOK))
    assert ours == textbook > 0


@pytest.mark.parametrize(("suite", "peer"), [(train, "transformers"), (decode, "ctranslate2")])
def test_a_missing_peer_is_named_with_the_command_that_brings_it(suite: ModuleType, peer: str) -> None:
    if importlib.util.find_spec(peer) is not None:
        pytest.skip(f"{peer} is here")
    with pytest.raises(ValueError, match=rf"needs its peers? \({peer}.*\): pip install -e '.\[bench\]'"):
        list(suite.figures(BenchmarkOptions()))


@pytest.mark.slow
def test_a_file_of_pairs_is_measured_and_the_figures_are_written(tmp_path: Path) -> None:
    output = tmp_path / "speed.json"
    done = subprocess.run(
        [sys.executable, str(SCRIPT), "suite=load", "pairs=3000", f"output={output}"],
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert max(map(len, done.stdout.splitlines())) <= 80
    report = json.loads(output.read_text(encoding="utf-8"))
    assert report["machine"]["peak"] > 0
    names = [figure["name"] for figure in report["figures"]]
    assert "second start to first batch" in names and "loader" in names


def test_the_suite_of_gpus_is_refused_without_one_and_measures_all_contenders_on_any_device(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(ValueError, match="suite=gpu measures a GPU, and torch finds none"):
        list(gpu.figures(BenchmarkOptions()))
    monkeypatch.setitem(peers.MODULES, peers.MARIAN, peers.MODULES[peers.TEXTBOOK])  # which need not be installed
    figures = list(gpu.figures_on("cpu", {"tiny": peers.Size(8, 1, 2, 16, 12, 4, 6)}, rounds=1, steps=1))
    assert [figure.name for figure in figures] == [peers.OURS, gpu.COMPILED, peers.TORCH, peers.MARIAN]
    assert all(figure.value > 0 for figure in figures)


def test_expected_scaling_is_the_share_of_the_work_and_twice_the_gradients_around_the_ring() -> None:
    keys = dict(flops_per_second=1e9, link=1e6, latency=0.0)
    assert step_seconds(3e9, 1e6, num_devices=1, **keys) == 3.0  # nothing is sent
    assert step_seconds(3e9, 1e6, num_devices=2, **keys) == pytest.approx(1.5 + 1.0)
    assert step_seconds(3e9, 1e6, num_devices=2, overlap=1.0, **keys) == pytest.approx(1.5)  # beside the backward pass
    keys["latency"] = 0.1
    assert step_seconds(3e9, 0.0, num_devices=4, **keys) == pytest.approx(0.75 + 6 * 0.1)
