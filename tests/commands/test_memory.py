"""What a process asks of the system before torch is loaded: how memory is kept, and how its threads wait."""

import os
import subprocess
import sys

import pytest

FAULTS = """
import resource, sys
import torch
from seq2see.commands.shell import keep_freed_memory

if sys.argv[1] == "keep" and not keep_freed_memory():
    sys.exit("no glibc")
def work():
    x = torch.ones(10_000_000)  # 40 MB
    y = x * 2
    return (x + y) * y
for _ in range(3):
    work()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    work()
print(resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before)
"""


def faults(mode: str) -> int:
    done = subprocess.run([sys.executable, "-c", FAULTS, mode], capture_output=True, encoding="utf-8")
    if "no glibc" in done.stderr:
        pytest.skip("no glibc here")
    return int(done.stdout)


def test_a_page_is_cleared_once_and_not_in_every_round() -> None:
    pages = 3 * 4 * 10_000_000 // 4_096  # of what lives at a time
    assert faults("keep") < 3 * pages < 10 * pages < faults("leave")


def spins(**set_by_user: str) -> str:
    code = "import os; from seq2see.commands.shell import run; run('train', ['--help'])"
    code += "; print(os.environ.get('GOMP_SPINCOUNT'))"
    environment = {
        name: value for name, value in os.environ.items() if name not in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY")
    }
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**environment, **set_by_user},
        capture_output=True,
        encoding="utf-8",
        check=True,
    )
    return done.stdout.splitlines()[-1]


def test_threads_that_wait_sleep_soon_unless_the_user_has_said_how_they_wait() -> None:
    assert spins() == "100000"
    assert spins(GOMP_SPINCOUNT="7") == "7"
    assert spins(OMP_WAIT_POLICY="ACTIVE") == "None"
