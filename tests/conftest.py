"""What all tests share: a quiet machine, no network, and a small trained run."""

import os
import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")
os.environ["HF_HUB_OFFLINE"] = "1"
_CACHE = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
os.environ["SEQ2SEE_CACHE"] = _CACHE.name
settings.register_profile("seq2see", deadline=None, derandomize=True)
settings.load_profile("seq2see")


@pytest.fixture(scope="session")
def short_run() -> Callable[..., list[str]]:
    """Overrides of a run that takes a second or two, in this folder."""

    def overrides(folder: str | Path, *more: str) -> list[str]:
        return [
            "task=copy",
            "task.train_size=300",
            "task.valid_size=20",
            "task.test_size=30",
            "model.d_model=32",
            "model.d_ff=64",
            "data.batch_size=32",
            "trainer.max_steps=12",
            "trainer.val_check_interval=6",
            "attention_log.num_examples=3",
            f"run_dir={folder}",
            *more,
        ]

    return overrides


@pytest.fixture(scope="session")
def small_run(tmp_path_factory: pytest.TempPathFactory, short_run: Callable[..., list[str]]) -> Path:
    """A finished run of the copy task, barely trained; not to be changed."""
    from seq2see.runs.config import compose_options
    from seq2see.runs.train import train_run

    folder = tmp_path_factory.mktemp("runs") / "small"
    train_run(compose_options("train", short_run(folder, "task.max_length=6")))
    return folder
