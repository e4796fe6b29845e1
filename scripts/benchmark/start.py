"""How long a command takes until it answers, and a run until its first step."""

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from benchmark.figure import Figure
from seq2see.options import COMMANDS, BenchmarkOptions

IMPORTS = "import torch, lightning"
FIRST_STEP = """
import json, sys, time
from seq2see.training.module import TrainingModule
begin = float(sys.argv[1])
class FirstStep(Exception):
    pass
def first(self, batch, batch_idx):
    print(json.dumps(time.time() - begin), flush=True)
    raise FirstStep
TrainingModule.training_step = first
from seq2see.runs.config import compose_options
from seq2see.runs.train import train_run
train_run(compose_options("train", sys.argv[2:]))
"""


def figures(options: BenchmarkOptions) -> Iterator[Figure]:
    """Seconds of new processes, from the command on."""
    scripts = Path(__file__).parents[1]
    for command in COMMANDS:
        seconds = _median([sys.executable, str(scripts / f"{command}.py"), "--help"], options.rounds)
        yield Figure("start", f"{command}.py --help", seconds, "s")
    alone = _median([sys.executable, "-c", IMPORTS], options.rounds)
    yield Figure("start", "import torch, lightning", alone, "s", note="what no training run can do without")
    first = median(_first_step() for _ in range(options.rounds))
    yield Figure(
        "start", "default run to its first step", first, "s", note=f"{first - alone:.1f} s more than the imports"
    )


def _median(command: Sequence[str], rounds: int) -> float:
    seconds = []
    for number in range(rounds + 1):  # the first one only fills the disk's cache
        begin = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, check=True)
        if number:
            seconds.append(time.perf_counter() - begin)
    return median(seconds)


def _first_step() -> float:
    with tempfile.TemporaryDirectory() as folder:
        begin = time.time()
        done = subprocess.run(
            [sys.executable, "-c", FIRST_STEP, str(begin), f"run_dir={os.path.join(folder, 'run')}"],
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            encoding="utf-8",
        )
    return json.loads(done.stdout.splitlines()[-1])
