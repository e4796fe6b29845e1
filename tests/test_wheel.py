"""An installed wheel has all that it needs."""

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]


@pytest.mark.slow
def test_a_built_wheel_brings_its_configs_lexicon_and_page(tmp_path: Path) -> None:
    subprocess.run(
        [sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", str(tmp_path), str(ROOT)], check=True
    )
    (wheel,) = tmp_path.glob("*.whl")
    inside = tmp_path / "inside"
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(inside)
    assert "seq2see = seq2see.commands.console:main" in next(inside.glob("*.dist-info/entry_points.txt")).read_text()
    code = (
        "import seq2see.runs.config as config, seq2see.maps.page as page, sys\n"
        "assert 'inside' in str(config.config_folder()), config.config_folder()\n"
        "options = config.compose_options('train', ['task=translation', 'task.train_size=9', 'task.valid_size=1'])\n"
        "from seq2see.tasks import make_task\n"
        "assert len(make_task(options.task).pairs('train')) == 9\n"
        "assert 'inside' in page.__file__ and len(list(page.__path__)) == 1\n"
        "from seq2see.commands.console import main\n"
        "sys.argv = ['seq2see', 'data', 'task=copy', 'task.train_size=9', 'task.valid_size=1']\n"
        "main()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, env={"PYTHONPATH": str(inside), "PATH": ""})
