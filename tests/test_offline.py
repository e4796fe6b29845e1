"""No task but `hub` needs a network or a home folder."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SIZES = ["task.train_size=60", "task.valid_size=5"]
OF_ITS_OWN = [*SIZES, "task.test_size=5", "task.ood_size=2"]
TASKS = {
    "copy": OF_ITS_OWN,
    "translation": OF_ITS_OWN,
    "numbers": OF_ITS_OWN,
    "dates": OF_ITS_OWN,
    "scan": [*SIZES, "task.train_fraction=0.998"],
    "files": [],
}
BLOCKED = """
import runpy, socket, sys

def refuse(*args, **keys):
    raise OSError("this test has no network")

socket.socket.connect = socket.socket.connect_ex = socket.getaddrinfo = refuse
sys.argv = sys.argv[1:]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_every_task_trains_without_a_network_and_without_a_home_folder(task: str, tmp_path: Path) -> None:
    overrides = [f"task={task}", *TASKS[task]]
    if task == "files":
        pairs = tmp_path / "pairs.tsv"
        pairs.write_text("".join(f"a{n} b\tb a{n}\n" for n in range(80)), encoding="utf-8")
        overrides.append(f"task.train={pairs}")
    sizes = ["model.d_model=32", "model.d_ff=32", "data.batch_size=16", "trainer.max_steps=2"]
    nowhere = "/dev/null/nobody"  # cannot be made, not even by root
    environment = {name: value for name, value in os.environ.items() if name != "SEQ2SEE_CACHE"}
    environment |= {"HOME": nowhere, "XDG_CACHE_HOME": nowhere, "HF_HOME": nowhere, "MPLCONFIGDIR": nowhere}
    arguments = [*overrides, *sizes, f"run_dir={tmp_path / 'run'}"]
    done = subprocess.run(
        [sys.executable, "-c", BLOCKED, str(ROOT / "scripts/train.py"), *arguments],
        env=environment,
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "run" / "result.json").is_file()
