"""What the benchmark prints and writes."""

import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest

from seq2see.options import BenchmarkOptions, Suite
from seq2see.runs.benchmark import benchmark
from seq2see.runs.benchmark.figure import Figure, Rounds

SCRIPT = Path(__file__).parents[2] / "scripts" / "benchmark.py"


def test_a_line_has_the_value_its_unit_and_the_ratio_in_80_columns() -> None:
    line = Figure("decode", "CTranslate2, 2 workers, 1 thread", 12_345.6, "sentences/s", 1.8, (1.75, 797.1)).line()
    assert line.split() == ["CTranslate2,", *"2 workers, 1 thread 12,346 sentences/s 1.80x (1.75-797)".split()]
    assert len(line) <= 80


def test_contenders_take_turns_and_their_ratio_is_that_of_one_round() -> None:
    order: list[str] = []

    def contender(name: str, amount: float):
        def work() -> float:
            order.append(name)
            return amount

        return work

    rounds = Rounds.run("x", "things/s", {"ours": contender("ours", 4e6), "peer": contender("peer", 1e6)}, rounds=2)
    assert order == ["ours", "peer"] * 3  # the first of each only warms up
    rounds.rates = {"ours": [4.0, 9.0], "peer": [2.0, 3.0]}
    ours, peer = rounds.figures("ours", {"peer": "differs"})
    assert (ours.name, ours.ratio, ours.value) == ("ours", None, 6.5)
    assert (peer.name, peer.ratio, peer.spread, peer.note) == ("peer", 2.5, (2.0, 3.0), "differs")


@pytest.mark.parametrize(("suite", "peer"), [(Suite.train, "transformers"), (Suite.decode, "ctranslate2")])
def test_a_missing_peer_is_named_with_the_command_that_brings_it(suite: Suite, peer: str) -> None:
    if importlib.util.find_spec(peer) is not None:
        pytest.skip(f"{peer} is here")
    with pytest.raises(
        ValueError, match=rf"suite={suite.value} needs its peers? \({peer}\): pip install -e '.\[bench\]'"
    ):
        benchmark(BenchmarkOptions(suite=suite))


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
