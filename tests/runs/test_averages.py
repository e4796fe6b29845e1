"""Averages of weights: over the newest checkpoints of a run, and moving along while it trains."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from seq2see.decoding import load
from seq2see.runs.config import compose_options
from seq2see.runs.train import train_run

DECAY = 0.8


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory, short_run: Callable[..., list[str]]) -> tuple[Path, Path]:
    """Five steps, each validated and kept: as they are, and with a moving average."""
    folder = tmp_path_factory.mktemp("runs")
    more = ["trainer.val_check_interval=1", "trainer.max_steps=5", "attention_log.enabled=false", "task.ood_size=0"]
    train_run(compose_options("train", short_run(folder / "kept", *more, "training.keep=3")))
    train_run(compose_options("train", short_run(folder / "moving", *more, "training.keep=9", f"optim.ema={DECAY}")))
    return folder / "kept", folder / "moving"


@pytest.fixture(scope="module")
def run(runs: tuple[Path, Path]) -> Path:
    """The one as it is."""
    return runs[0]


def of_step(folder: Path, step: int) -> dict[str, torch.Tensor]:
    return weights(folder / "checkpoints" / f"step-0000000{step}.ckpt")


def weights(path: Path) -> dict[str, torch.Tensor]:
    return load(str(path)).model.state_dict()


def test_the_newest_checkpoints_are_kept_when_asked_and_none_otherwise(run: Path, small_run: Path) -> None:
    assert sorted(path.name for path in (run / "checkpoints").glob("step-*")) == [
        f"step-0000000{step}.ckpt" for step in (3, 4, 5)
    ]
    assert not list((small_run / "checkpoints").glob("step-*"))


def test_the_average_is_the_mean_of_the_newest(run: Path) -> None:
    newest = [of_step(run, step) for step in (4, 5)]
    average = load(str(run), average=2)
    assert average.step == 5
    for name, value in average.model.state_dict().items():
        torch.testing.assert_close(value, (newest[0][name] + newest[1][name]) / 2)


@pytest.mark.parametrize("count", [0, 4])
def test_more_than_are_kept_cannot_be_averaged_and_the_message_says_how_many_are(run: Path, count: int) -> None:
    with pytest.raises(ValueError, match=f"average={count}: .* keeps 3 checkpoints .*: ask for 1 to 3"):
        load(str(run), average=count)


def test_the_moving_average_is_kept_and_training_goes_on_from_the_weights_which_a_checkpoint_holds_too(
    runs: tuple[Path, Path],
) -> None:
    run, averaged = runs
    name = "encoder_layers.0.feed_forward.in_proj.weight"
    for step in (4, 5):
        expected = DECAY * of_step(averaged, step - 1)[name] + (1 - DECAY) * of_step(run, step)[name]
        torch.testing.assert_close(of_step(averaged, step)[name], expected)
    last = torch.load(averaged / "checkpoints" / "last.ckpt", weights_only=True)
    plain = weights(run / "checkpoints" / "last.ckpt")
    for name, value in last["training_weights"].items():
        torch.testing.assert_close(value, plain[name.removeprefix("model.")])
    assert any((last["state_dict"][name] != value).any() for name, value in last["training_weights"].items())
