"""No task but `hub` needs a network or a home folder."""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
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


NOBODY = 65_534
UNPRIVILEGED = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]
READS_ALL = ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]  # Python may lie in root's own home


def train(task: str, folder: Path, *, home: str, prefix: Sequence[str] = ()) -> None:
    overrides = [f"task={task}", *TASKS[task], f"run_dir={folder / 'run'}", "model.d_model=32", "model.d_ff=32"]
    overrides += ["data.batch_size=16", "trainer.max_steps=2"]
    if task == "files":
        (folder / "pairs.tsv").write_text("".join(f"a{n} b\tb a{n}\n" for n in range(80)), encoding="utf-8")
        overrides.append(f"task.train={folder / 'pairs.tsv'}")
    environment = {name: value for name, value in os.environ.items() if name != "SEQ2SEE_CACHE"}
    environment |= {"HOME": home, "XDG_CACHE_HOME": home, "HF_HOME": home, "MPLCONFIGDIR": home}
    done = subprocess.run(
        [*prefix, sys.executable, "-c", BLOCKED, str(ROOT / "scripts/train.py"), *overrides],
        env=environment,
        cwd=folder,
        capture_output=True,
        encoding="utf-8",
    )
    assert done.returncode == 0, done.stderr
    assert (folder / "run" / "result.json").is_file()


@pytest.mark.slow
@pytest.mark.parametrize("task", TASKS)
def test_every_task_trains_without_a_network_and_without_a_home_folder(task: str, tmp_path: Path) -> None:
    train(task, tmp_path, home="/dev/null/nobody")  # cannot be made, not even by root


@pytest.mark.slow
@pytest.mark.parametrize("task", ["scan", "files"])  # which read data, of the package or of the user
def test_a_task_trains_for_a_user_who_may_write_into_the_runs_folder_alone(task: str, tmp_path: Path) -> None:
    if shutil.which("setpriv") is None or subprocess.run([*UNPRIVILEGED, *READS_ALL, "true"]).returncode != 0:
        pytest.skip("needs setpriv, and the right to become somebody else")
    home, folder = tmp_path / "home", tmp_path / "work"
    home.mkdir()
    folder.mkdir()
    os.chown(folder, NOBODY, NOBODY)
    train(task, folder, home=str(home), prefix=[*UNPRIVILEGED, *READS_ALL])
    assert not list(home.iterdir())
