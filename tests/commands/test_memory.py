"""Memory that is freed and asked for again is not cleared by the kernel each time."""

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
