"""A run's page, and what TensorBoard has of it beside numbers."""

from __future__ import annotations

import errno
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from seq2see.decoding import read_content
from seq2see.maps import AttentionLog, log
from seq2see.maps import page as page_module
from seq2see.runs import report
from seq2see.runs.config import compose_options
from seq2see.runs.folder import RunFailed
from seq2see.runs.phases import Phases
from seq2see.runs.train import train_run

Overrides = Callable[..., list[str]]
HOSTILE = "</script><b>&{{x}}"


def page_of(folder: Path) -> str:
    return (folder / "report.html").read_text(encoding="utf-8")


def test_the_page_of_a_finished_run_says_what_came_of_it(small_run: Path) -> None:
    page, result = page_of(small_run), json.loads((small_run / "result.json").read_text())
    assert "completed, step 12 of 12" in page and 'http-equiv="refresh"' not in page
    assert f"exact match {result['test']['exact_match']:.3f}" in page
    assert f"at step {result['best']['step']}, chosen by loss" in page
    for text in ("training", "validation", "source tokens", "outputs", "seconds", "checkpoints", "test"):
        assert f">{text}<" in page
    assert 'href="attention.html"' in page and "evaluation/test.html" not in page
    assert not re.search(r"\bnan\b|\bNone\b", page) and not re.search(r'(src|href)="(https?:)?//', page)
    ids = re.findall(r' id="(\S+?)"', page)
    assert len(set(ids)) == len(ids)


def test_the_page_names_what_was_set_as_one_types_it(tmp_path: Path, short_run: Overrides) -> None:
    train_run(compose_options("train", short_run(tmp_path / "run", "optim.betas=[0.9,0.99]", "trainer.max_steps=2")))
    page = page_of(tmp_path / "run")
    command = re.search(r"python scripts/train.py ([^<]*)</pre>", page)
    assert command is not None
    typed = command[1].replace("&#x27;", "'").split()
    assert typed[0] == "task=copy" and "'optim.betas=[0.9,0.99]'" in typed and "model.d_model=32" in typed
    assert not any(part.startswith(("run_dir", "optim.lr", "model.num_heads")) for part in typed)


def test_the_page_can_be_watched_and_goes_on_with_the_run(
    tmp_path: Path, short_run: Overrides, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(report, "SHARE", 1.0)
    seen: list[str] = []
    write = report.write_text

    def watch(path: Path, text: str) -> None:
        seen.append(text)
        write(path, text)

    monkeypatch.setattr(report, "write_text", watch)
    overrides = short_run(tmp_path / "run")
    train_run(compose_options("train", overrides))
    running = [text for text in seen if "running, step" in text]
    assert len(running) >= 2 and all('http-equiv="refresh"' in text for text in running)
    assert "from step 6<" in running[-1] and "Test, by length" not in running[-1]
    before = read_content(tmp_path / "run/checkpoints/last.ckpt").values["phases"]
    seen.clear()
    train_run(compose_options("train", [*overrides, f"resume={tmp_path / 'run'}", "trainer.max_steps=18"]))
    assert "running, step 12 of 18" in seen[0] or "running, step 18 of 18" in seen[0]
    page = page_of(tmp_path / "run")
    assert "completed, step 18 of 18" in page and "from step 6<" in page
    after = read_content(tmp_path / "run/checkpoints/last.ckpt").values["phases"]
    assert all(after[name] >= seconds > 0 for name, seconds in before.items() if name != "report")


def test_hostile_text_stays_text(tmp_path: Path, short_run: Overrides) -> None:
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("".join(f"{HOSTILE} {n}\tשלום {HOSTILE} {n}\n" for n in range(60)), encoding="utf-8")
    own = [text for text in short_run(tmp_path / "run") if not text.startswith("task")]
    train_run(compose_options("train", ["task=files", f"task.train={pairs}", *own]))
    page = page_of(tmp_path / "run")
    assert HOSTILE not in page and "<bdi>&lt;/script&gt;&lt;b&gt;&amp;{{x}}" in page and "<bdi>שלום" in page


def test_a_full_disk_is_told_as_ever(tmp_path: Path, short_run: Overrides, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, text: str) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", str(path))

    monkeypatch.setattr(report, "write_text", full)
    with pytest.raises(RunFailed, match="report.html: No space left on device; what was written before is whole"):
        train_run(compose_options("train", short_run(tmp_path / "run", "trainer.max_steps=2")))


def test_a_phase_inside_another_is_not_counted_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 1.0, 3.0, 6.0, 10.0, 15.0])
    monkeypatch.setattr("seq2see.runs.phases.time.monotonic", lambda: next(clock))
    phases = Phases({"training": 100.0})
    with phases("training"):  # from 1
        with phases("checkpoints"):  # from 3 to 6
            pass
    assert phases.seconds() == {"training": 106.0, "imports, data, model": 6.0, "checkpoints": 3.0}


def test_tensorboard_has_maps_samples_and_the_page_of_hyperparameters(small_run: Path) -> None:
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
    from tensorboard.plugins.hparams import plugin_data_pb2

    events = EventAccumulator(str(small_run / "tensorboard"))
    events.Reload()
    images = events.Images("attention/cross")
    assert [image.step for image in images] == [6, 12]
    assert all(image.encoded_image_string.startswith(b"\x89PNG") and image.width > 200 for image in images)
    texts = events.Tensors("samples/text_summary")
    first = json.loads((small_run / "samples.jsonl").read_text(encoding="utf-8").splitlines()[0])
    shown = texts[0].tensor_proto.string_val[0].decode()
    assert f"{first['source']} | {first['reference']} | {first['hypothesis']}" in shown
    start = plugin_data_pb2.HParamsPluginData.FromString(  # pyright: ignore[reportAttributeAccessIssue]
        events.summary_metadata["_hparams_/session_start_info"].plugin_data.content
    ).session_start_info
    assert start.hparams["model/d_model"].number_value == 32 and start.hparams["task/kind"].string_value == "copy"
    result = json.loads((small_run / "result.json").read_text())
    (score,) = events.Scalars("test/exact_match")
    assert (score.step, score.value) == (12, pytest.approx(result["test"]["exact_match"]))


def test_the_maps_can_be_watched_while_the_run_goes_on(
    tmp_path: Path, short_run: Overrides, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(log, "SHARE", 1000.0)
    seen: list[str] = []
    write = log.write_bytes

    def watch(path: Path, content: bytes) -> None:
        seen.append(content.decode())
        write(path, content)

    monkeypatch.setattr(log, "write_bytes", watch)
    train_run(compose_options("train", short_run(tmp_path / "run", "attention_log.enabled=true")))
    data = [json.loads(re.search(r'id="log">(.*)</script>', page)[1]) for page in seen]  # pyright: ignore
    steps = [[step["step"] for step in own["steps"]] for own in data]
    assert len(steps) >= 3 and steps[-2] == steps[-1] and steps[0] == steps[-1][: len(steps[0])] != steps[-1]
    assert [own["reloadSeconds"] for own in data] == [page_module.RELOAD_SECONDS] * (len(data) - 1) + [None]
    anew = page_module.render(AttentionLog.open(tmp_path / "run"))
    assert data[-1]["maps"] == json.loads(re.search(r'id="log">(.*)</script>', anew)[1])["maps"]  # pyright: ignore
