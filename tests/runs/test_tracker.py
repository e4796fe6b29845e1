"""What W&B and MLflow are given; neither is needed here: stubs stand in the place of Lightning's loggers for them."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lightning.pytorch.loggers import Logger

from seq2see.runs import tracker, train
from seq2see.runs.config import compose_options

Overrides = Callable[..., list[str]]
QUICK = ("trainer.max_steps=2", "trainer.val_check_interval=1", "attention_log.num_examples=1", "task.ood_size=0")


class Stub(Logger):
    """Takes what a tracker is given, and remembers it."""

    opened: list[Stub] = []

    def __init__(self, **given: Any) -> None:
        super().__init__()
        self.given = given
        self.hyperparams: dict[str, Any] = {}
        self.metrics: dict[str, int | None] = {}
        self.ends: list[Any] = []
        self.shown: list[tuple[Any, ...]] = []
        self.made = f"made-{len(Stub.opened)}"
        Stub.opened.append(self)

    @property
    def name(self) -> str:
        return "stub"

    @property
    def version(self) -> str:
        return self.given.get("id") or self.given.get("run_id") or self.made

    run_id = version

    @property
    def experiment(self) -> Stub:
        return self

    def log_hyperparams(self, params: dict[str, Any], *more: object) -> None:
        self.hyperparams = params

    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        self.metrics |= dict.fromkeys(metrics, step)

    def log_text(self, *what: Any, **more: Any) -> None:
        self.shown.append((*what, *more.values()))

    log_image = log_text

    def finalize(self, status: str) -> None:
        self.ends.append(status)

    def finish(self, exit_code: int) -> None:
        self.ends.append(exit_code)


@pytest.mark.parametrize("kind", ["wandb", "mlflow"])
def test_a_tracker_without_its_package_is_refused_before_a_folder_is_made(
    kind: str, tmp_path: Path, short_run: Overrides, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(train, "find_spec", lambda name: None)
    with pytest.raises(ValueError, match=f"logger={kind}: its package is not installed: pip install {kind}"):
        train.train_run(compose_options("train", short_run(tmp_path / "run", f"logger={kind}")))
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("kind", ["wandb", "mlflow"])
def test_each_run_is_one_there_with_its_configuration_and_scores_and_goes_on_as_itself(
    kind: str, tmp_path: Path, short_run: Overrides, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("MLFLOW_TRACKING_URI", raising=False)
    monkeypatch.setattr(train, "find_spec", lambda name: name)
    monkeypatch.setattr(tracker, {"wandb": "WandbLogger", "mlflow": "MLFlowLogger"}[kind], Stub)
    Stub.opened.clear()
    for seed in (0, 1):
        overrides = short_run(tmp_path / "sweep" / str(seed), *QUICK, f"logger={kind}", f"seed={seed}")
        train.train_run(compose_options("train", overrides))
    first, second = Stub.opened
    assert first.version != second.version
    tags = second.given["tags"]
    assert tags == (
        ["task=copy", "seed=1", "group=sweep"] if kind == "wandb" else dict(task="copy", seed="1", group="sweep")
    )
    assert second.given["name" if kind == "wandb" else "run_name"] == "sweep/1"
    assert second.hyperparams["optim"]["lr"] > 0 and second.hyperparams["seed"] == 1
    assert second.metrics["val/loss"] == second.metrics["test/exact_match"] == 2
    assert second.ends[-1] == (0 if kind == "wandb" else "success")
    text, image = second.shown[-2:]
    assert "samples" in str(text[:3]) and "attention/cross" in str(image[:3])
    if kind == "mlflow":
        assert second.given["tracking_uri"] == f"sqlite:///{tmp_path / 'mlflow.db'}"

    monkeypatch.chdir(tmp_path / "sweep")
    longer = compose_options("train", [*overrides, f"resume={tmp_path / 'sweep' / '1'}", "trainer.max_steps=3"])
    train.train_run(longer)
    third = Stub.opened[-1]
    assert third.version == second.version == json.loads((tmp_path / "sweep/1" / f"{kind}.json").read_text())["id"]
    assert third.given.get("tracking_uri") == second.given.get("tracking_uri")
    assert third.metrics["test/exact_match"] == 3


def test_a_tracker_that_does_not_want_is_told_in_one_message(
    tmp_path: Path, short_run: Overrides, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(**given: object) -> Logger:
        raise OSError("no API key configured\nlog in")

    monkeypatch.setattr(train, "find_spec", lambda name: name)
    monkeypatch.setattr(tracker, "WandbLogger", refuse)
    with pytest.raises(train.RunFailed, match=r"logger=wandb cannot begin \(no API key configured\): mend that"):
        train.train_run(compose_options("train", short_run(tmp_path / "run", *QUICK, "logger=wandb")))
