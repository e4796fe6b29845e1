"""Runs of several processes: the same run as that of one, wherever they come from and whatever befalls them."""

import csv
import json
import os
import random
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2see.decoding import load, read_content
from seq2see.evaluation import evaluate_pairs
from seq2see.options import Split, TrainerOptions
from seq2see.runs.config import compose_options
from seq2see.runs.data import pairs_of
from seq2see.runs.launch import layout_of
from seq2see.runs.train import train_run
from seq2see.training.module import TrainingModule

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="gloo, and signals of POSIX")

SCRIPT = str(Path(__file__).parents[2] / "scripts" / "train.py")
OPTIONS = [
    "task=copy", "task.train_size=150", "task.valid_size=100", "task.test_size=10", "task.ood_size=0",
    "model.d_model=32", "model.d_ff=64", "data.batch_size=32", "trainer.max_steps=50", "trainer.val_check_interval=20",
    "trainer.log_every_n_steps=1", "attention_log.num_examples=3", "logger=csv", "model.num_encoder_layers=1",
    "model.num_decoder_layers=1", "model.dropout=0",
]  # fmt: skip
FORKS = get_context("forkserver")  # imports once, and forks from then on
FORKS.set_forkserver_preload(["seq2see.runs.fit", "seq2see.runs.train"])


def train(folder: Path, *more: str) -> Any:
    return train_run(compose_options("train", [*OPTIONS, f"run_dir={folder}", *more]))


def column(folder: Path, name: str) -> list[float]:
    with (folder / "metrics.csv").open(encoding="utf-8") as file:
        return [float(row[name]) for row in csv.DictReader(file) if row[name]]


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return read_content(folder / "checkpoints" / "last.ckpt").values["state_dict"]


@pytest.mark.parametrize(
    "more",
    [
        [],
        pytest.param(["trainer.accumulate_grad_batches=2", "data.batch_size=20"], marks=pytest.mark.slow),
        pytest.param(["data.batch_size=null", "data.batch_tokens=60"], marks=pytest.mark.slow),  # some of one pair
        pytest.param(["model.position=learned", "model.share_layers=true", "optim.ema=0.9"], marks=pytest.mark.slow),
    ],
)
def test_two_processes_train_as_one_does(more: list[str], tmp_path: Path) -> None:
    alone, together = train(tmp_path / "1", *more), train(tmp_path / "2", *more, "trainer.devices=2")
    for name in ("train/loss", "val/loss", "val/chrf", "lr"):
        ours, theirs = column(alone.folder, name), column(together.folder, name)
        assert len(ours) == len(theirs) > 2 and ours == pytest.approx(theirs, abs=1e-5)
    assert together.test == pytest.approx(alone.test, abs=1e-3)
    assert {path.name for path in alone.folder.iterdir()} == {path.name for path in together.folder.iterdir()}
    assert not torch.distributed.is_initialized()


def test_five_lines_of_a_test_on_two_processes_are_five_predictions_with_the_scores_of_one(tmp_path: Path) -> None:
    result = train(tmp_path / "run", "task.test_size=5", "decode.batch_size=2", "trainer.devices=2")
    trained = load(str(result.folder))
    again = evaluate_pairs(trained, pairs_of(trained.options, Split.test, run=result.folder))
    lines = (result.folder / "evaluation" / "test.tsv").read_text(encoding="utf-8").splitlines()[1:]
    assert [line.split("\t")[2] for line in lines] == again.texts and len(lines) == 5
    # other numbers of threads add in another order
    assert again.scores == pytest.approx({name: result.test[name] for name in again.scores}, rel=1e-6)


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("trainer.devices=1000", r"trainer.devices \(1000\): \d+ can be had here"),
        ("trainer.devices=[1]", r"trainer.devices \(\[1\]\): 1 can be had here, numbered from 0"),
        ("trainer.num_nodes=2", r"trainer.num_nodes \(2\): a process has to be started on each: use torchrun"),
        ("trainer.strategy=deepspeed", r"trainer.strategy \(deepspeed\) must be one of auto, ddp, fsdp"),
        ("trainer.strategy=fsdp", r"attention_log.enabled \(True\) needs the whole weights .* or .*=false"),
    ],
)
def test_what_cannot_be_had_is_refused_before_data_are_read(override: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=message):
        train_run(compose_options("train", ["task=files", "task.train=no.tsv", f"run_dir={tmp_path}/run", override]))
    assert not (tmp_path / "run").exists()


def test_devices_by_other_names(monkeypatch: pytest.MonkeyPatch) -> None:
    for devices in ([0], -1, "auto"):
        assert layout_of(TrainerOptions(accelerator="cpu", devices=devices)).num_ranks == 1
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "device_count", lambda: 4)
    for devices, num_ranks in ((-1, 4), ("auto", 4), ([1, 3], 2), (3, 3)):
        assert layout_of(TrainerOptions(devices=devices)).num_ranks == num_ranks
    with pytest.raises(ValueError, match="4 can be had here"):
        layout_of(TrainerOptions(devices=5))


def test_fsdp_is_refused_without_gpus(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    with pytest.raises(ValueError, match=r"trainer.strategy \(fsdp\) needs GPUs, .*: use trainer.strategy=ddp"):
        train(tmp_path / "run", "trainer.strategy=fsdp", "attention_log.enabled=false")
    assert not (tmp_path / "run").exists()


@pytest.mark.gpu
def test_fsdp_trains_as_one_process_does_and_its_checkpoint_loads_in_one(tmp_path: Path) -> None:
    more = ["trainer.max_steps=20", "attention_log.enabled=false", "trainer.accelerator=gpu"]
    alone = train(tmp_path / "alone", *more)
    sharded = train(tmp_path / "fsdp", *more, "trainer.strategy=fsdp", "trainer.devices=auto")
    losses = column(sharded.folder, "train/loss")
    assert losses == pytest.approx(column(alone.folder, "train/loss"), abs=1e-4) and len(losses) == 20
    assert len(load(str(sharded.folder)).translate(["a b c"])) == 1


@pytest.mark.gpu
@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="needs two GPUs")
def test_two_gpus_train_as_one_does(tmp_path: Path) -> None:
    alone, together = train(tmp_path / "1"), train(tmp_path / "2", "trainer.devices=2", "trainer.strategy=ddp")
    losses = column(together.folder, "train/loss")
    assert losses == pytest.approx(column(alone.folder, "train/loss"), abs=1e-4) and len(losses) == 50


def recorded(folder: Path, rank: int, own: dict[str, str], more: list[str]) -> None:
    """Trains as one of several processes that something else has started, and writes down the pairs of each step."""
    training_step = TrainingModule.training_step

    def recording(self: TrainingModule, batch: Any, batch_idx: int) -> Any:
        ids = batch.ids.tolist() if (batch.tgt_out != 0).any() else []
        with folder.with_name(f"{folder.name}.ids").open("a") as file:
            file.write(json.dumps([self.global_step, own["WORLD_SIZE"], rank, ids]) + "\n")
        return training_step(self, batch, batch_idx)

    TrainingModule.training_step = recording
    os.environ.update(own, RANK=str(rank), LOCAL_RANK=str(rank), OMP_NUM_THREADS="1")
    torch.set_num_threads(1)
    train(folder, "resume=auto", *more)


def started_outside(num_ranks: int, folder: Path, *more: str, seconds: float | None = None) -> set[int | None]:
    """Trains in so many processes, all killed after so many seconds, one after the other; their exit codes."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    own = {"WORLD_SIZE": str(num_ranks), "LOCAL_WORLD_SIZE": str(num_ranks), "GLOO_SOCKET_IFNAME": "lo"}
    own |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port)}
    ranks = [FORKS.Process(target=recorded, args=(folder, rank, own, list(more))) for rank in range(num_ranks)]
    for process in ranks:
        process.start()
    end = None if seconds is None else time.monotonic() + seconds
    for process in ranks:
        process.join(None if end is None else max(end - time.monotonic(), 0))
    codes = {process.exitcode for process in ranks}
    for process in random.sample(ranks, len(ranks)):
        process.kill()
        process.join()
    return codes


def ids(folder: Path) -> dict[int, list[int]]:
    """The pairs of each step, of all processes; of a step that was done twice, the last time."""
    steps: dict[int, dict[int, list[int]]] = {}
    layouts: dict[int, str] = {}
    for line in folder.with_name(f"{folder.name}.ids").read_text().splitlines():
        step, num_ranks, rank, pairs = json.loads(line)
        if layouts.get(step) != num_ranks:
            steps[step], layouts[step] = {}, num_ranks
        steps[step][rank] = pairs
    return {step: sorted(sum(every.values(), [])) for step, every in steps.items()}


@pytest.mark.slow
@pytest.mark.parametrize("layouts", [(2, 2, 2), (1, 2, 3)])
def test_killed_ten_times_and_resumed_it_is_the_run_that_nothing_befell(
    layouts: tuple[int, ...], tmp_path: Path
) -> None:
    same, more = len(set(layouts)) == 1, ["trainer.max_steps=150"]
    if same:
        more.append("model.dropout=0.1")
    straight, moments, kills, begun = tmp_path / "straight", random.Random(3), 0, 0
    begin = time.monotonic()
    assert started_outside(2, straight, *more) == {0}
    seconds, expected = time.monotonic() - begin, ids(straight)
    for epoch in range(150 // 5):  # five batches of 32 have 150 pairs
        assert sorted(sum((expected[step] for step in range(5 * epoch, 5 * epoch + 5)), [])) == list(range(150))
    while kills < 10:
        folder, begun = tmp_path / f"killed{begun}", begun + 1
        while None in (codes := started_outside(layouts[kills % 3], folder, *more, seconds=moments.random() * seconds)):
            kills += 1
            assert codes <= {None, 0}
        assert codes == {0} and ids(folder) == expected
        ours, theirs = weights(folder), weights(straight)
        assert all(torch.equal(ours[name], theirs[name]) for name in ours) == same
        losses = column(folder, "train/loss")[:50]
        assert losses == pytest.approx(column(straight, "train/loss")[:50], abs=1e-5)


def command(*more: str, by: tuple[str, ...] = (sys.executable,), **environment: str) -> subprocess.Popen[str]:
    RUNS.append(subprocess.Popen(
        [*by, SCRIPT, *OPTIONS, *more], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    ))  # fmt: skip
    return RUNS[-1]


RUNS: list[subprocess.Popen[str]] = []  # of a test
TORCHRUN = (sys.executable, "-m", "torch.distributed.run", "--nproc-per-node=2", "--standalone")


@pytest.mark.slow
def test_torchrun_needs_no_other_command_and_lands_in_one_folder(tmp_path: Path) -> None:
    run = command(f"run_dir={tmp_path}/run", by=TORCHRUN)
    out, err = run.communicate(timeout=200)
    assert run.returncode == 0 and out.count("exact match") == 1 and err.count("vocabulary") == 1
    assert os.listdir(tmp_path) == ["run"]
    assert "devices: 2" in (tmp_path / "run" / "config.yaml").read_text(encoding="utf-8")
    wrong = command("task=files", "task.train=no.tsv", "task.valid_size=null", by=TORCHRUN)
    assert wrong.communicate(timeout=200)[1].count("train: task.valid_size") == 1


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_stops_all_processes_at_one_step(number: signal.Signals, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run = command(f"run_dir={folder}", "trainer.devices=2", "trainer.max_steps=100000", "trainer.max_time=00:00:05:00")
    wait_for(lambda: "\n3" in (folder / "metrics.csv").read_text(encoding="utf-8"), run)
    run.send_signal(number)
    _, err = run.communicate(timeout=100)
    assert run.returncode == 128 + number, err
    steps = json.loads((folder / "result.json").read_text(encoding="utf-8"))["steps"]
    assert read_content(folder / "checkpoints" / "last.ckpt").step == steps > 0
    assert (
        train(folder, f"resume={folder}", f"trainer.max_steps={steps + 3}", "trainer.max_time=null").steps == steps + 3
    )


@pytest.mark.slow
def test_a_process_that_is_killed_ends_the_run_in_one_line_and_none_is_left(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run = command(f"run_dir={folder}", "trainer.devices=2", "trainer.max_steps=100000")
    wait_for(lambda: "\n3" in (folder / "metrics.csv").read_text(encoding="utf-8"), run)
    other = int(subprocess.check_output(["pgrep", "-P", str(run.pid), "-f", "seq2see.runs.follow"]))
    os.kill(other, signal.SIGKILL)
    _, err = run.communicate(timeout=100)
    assert run.returncode == 1 and "train: process 1 of 0 to 1 has ended" in err and "Traceback" not in err
    assert json.loads((folder / "result.json").read_text(encoding="utf-8"))["status"] == "failed"


@pytest.mark.slow
def test_torchrun_starts_a_killed_run_again_and_it_goes_on(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    run = command(f"run_dir={folder}", "resume=auto", "trainer.max_steps=400", by=(*TORCHRUN, "--max-restarts=2"))
    wait_for(lambda: "\n45," in (folder / "metrics.csv").read_text(encoding="utf-8"), run)
    workers = subprocess.check_output(["pgrep", "-P", str(run.pid)], text=True).split()
    os.kill(int(workers[-1]), signal.SIGKILL)
    _, err = run.communicate(timeout=200)
    assert run.returncode == 0, err
    assert column(folder, "step") == list(range(1, 401)) and "goes on" in (folder / "train.log").read_text()


@pytest.mark.slow
def test_srun_needs_no_other_command(tmp_path: Path) -> None:
    own = {"SLURM_STEP_NUM_TASKS": "2", "SLURM_STEP_NUM_NODES": "1", "SLURM_NODELIST": "127.0.0.1"}
    own |= {
        "SLURM_JOB_ID": str(os.getpid()),
        "SLURM_NTASKS": "2",
        "SLURM_JOB_NAME": "train",
        "GLOO_SOCKET_IFNAME": "lo",
    }
    tasks = [
        command(f"run_dir={tmp_path}/run", **own, SLURM_PROCID=str(number), SLURM_LOCALID=str(number))
        for number in range(2)
    ]
    (out, err), (other, _) = (task.communicate(timeout=200) for task in tasks)
    assert [task.returncode for task in tasks] == [0, 0], err
    assert "exact match" in out and "devices: 2" in (tmp_path / "run" / "config.yaml").read_text(encoding="utf-8")
    assert "exact match" not in other


@pytest.mark.slow
def test_each_job_of_a_multirun_has_its_own_processes(tmp_path: Path) -> None:
    run = command("-m", "seed=1,2", f"run_dir={tmp_path}/many", "trainer.devices=2", "trainer.max_steps=3")
    _, err = run.communicate(timeout=200)
    assert run.returncode == 0, err
    assert {(tmp_path / "many" / job / "result.json").is_file() for job in "01"} == {True}


@pytest.fixture(autouse=True)
def ended() -> Iterator[None]:
    yield
    for run in RUNS:
        if run.poll() is None:
            run.send_signal(signal.SIGTERM)  # which torchrun passes on
        run.communicate()
    RUNS.clear()


def wait_for(condition: Callable[[], bool], run: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline and run.poll() is None:
        time.sleep(0.05)
        try:
            if condition():
                return
        except OSError:
            pass
    raise AssertionError(run.communicate()[1])
