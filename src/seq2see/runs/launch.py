"""The processes of a run: started here, one for each device, or found where torchrun or srun has started them.

(Lightning's own launcher runs the command once more in each process, which would repeat a whole multirun.)
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import count
from typing import Any

import torch
from torch import distributed
from torch.distributed import PrefixStore, TCPStore  # pyright: ignore[reportPrivateImportUsage]
from torch.distributed.rendezvous import rendezvous

from seq2see.data.loader import end_with_parent
from seq2see.decoding import device_of
from seq2see.options import TrainerOptions, TrainOptions
from seq2see.runs.folder import RunFailed

A_CORE = 2  # processes at most
LOWEST_PORT = 20_000  # of those where the processes of a SLURM step meet
OWN = "127.0.0.1"  # where processes of one machine meet
PATIENCE = timedelta(hours=12)  # for the first process, which alone reads and tokenises new pairs
# What srun tells each process, by the names that torchrun uses
OF_SLURM = {"RANK": "PROCID", "LOCAL_RANK": "LOCALID", "WORLD_SIZE": "STEP_NUM_TASKS", "NODES": "STEP_NUM_NODES"}

_connections = count()  # of this process


@dataclass(frozen=True)
class Layout:
    """How many processes a run has, and where; the names of its fields are those that torchrun gives them."""

    num_nodes: int
    devices: int  # processes on each node, one a device
    started: dict[str, str] | None = None  # how this process finds the others; None: they have yet to be started

    @property
    def num_ranks(self) -> int:
        """Of all nodes."""
        return self.num_nodes * self.devices


def started_outside() -> dict[str, str] | None:
    """What torchrun, or srun with several tasks, has told this process of the others; None: nothing."""
    own = os.environ
    if {"RANK", "LOCAL_RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"} <= own.keys():
        return {name: own[name] for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE") if name in own}
    found = {name: own.get(f"SLURM_{theirs}", "") for name, theirs in OF_SLURM.items()}
    if not all(value.isdigit() for value in found.values()) or int(found["WORLD_SIZE"]) < 2:
        return None
    from lightning.fabric.plugins.environments.slurm import SLURMEnvironment  # it takes seconds

    found["LOCAL_WORLD_SIZE"] = str(int(found["WORLD_SIZE"]) // int(found.pop("NODES")))
    first = SLURMEnvironment.resolve_root_node_address(own.get("SLURM_STEP_NODELIST", OWN))
    port = LOWEST_PORT + (int(own.get("SLURM_JOB_ID", 0)) + int(own.get("SLURM_STEP_ID", 0))) % 10_000
    return {**found, "MASTER_ADDR": first, "MASTER_PORT": str(port)}


def layout_of(trainer: TrainerOptions, *, goes_on: bool = False) -> Layout:
    """The processes that the options ask for, or that there are; a run that goes on takes those that there are.

    Raises:
        ValueError: they cannot be had here, or not with these options.
    """
    device = device_of(trainer.accelerator, key="trainer.accelerator")
    num_gpus, devices = torch.cuda.device_count() if device == "cuda" else 0, trainer.devices
    asked = max(num_gpus, 1) if devices in (-1, "auto") else len(devices) if isinstance(devices, list) else devices
    highest = max(devices) if isinstance(devices, list) else asked - 1
    on_cores = device == "cpu" and not isinstance(devices, list)  # processes that share them
    most = num_gpus or (A_CORE * (os.cpu_count() or 1) if on_cores else 1)
    if highest >= most:
        raise ValueError(f"trainer.devices ({devices}): {most} can be had here, numbered from 0: use so many at most")
    layout, started = Layout(trainer.num_nodes, asked), started_outside()
    if started is not None:
        local = int(started.get("LOCAL_WORLD_SIZE", started["WORLD_SIZE"]))
        layout = Layout(int(started["WORLD_SIZE"]) // local, local, started)
        for key, typed, there in (
            ("devices", asked, layout.devices),
            ("num_nodes", trainer.num_nodes, layout.num_nodes),
        ):
            if typed not in (1, there) and not goes_on:
                raise ValueError(f"trainer.{key} ({typed}): {there} were started: use trainer.{key}={there}")
    elif trainer.num_nodes > 1:
        raise ValueError(
            f"trainer.num_nodes ({trainer.num_nodes}): a process has to be started on each: use torchrun --nnodes="
            f"{trainer.num_nodes} --nproc-per-node={asked} scripts/train.py, or srun"
        )
    if trainer.strategy == "fsdp" and device != "cuda":
        raise ValueError(f"trainer.strategy (fsdp) needs GPUs, and this run is on a {device}: use trainer.strategy=ddp")
    return layout


@contextmanager
def processes(options: TrainOptions) -> Iterator[TrainOptions]:
    """While this lasts all processes of the run are connected; gives the options with the layout that they have.

    Raises:
        ValueError: they cannot be had here, or not with these options.
        RunFailed: one of them has ended before its time.
    """
    layout = layout_of(options.trainer, goes_on=options.resume is not None)
    if layout.num_ranks == 1:
        yield options
        return
    trainer = options.trainer
    environment, threads, excepthook = dict(os.environ), torch.get_num_threads(), sys.excepthook
    if not isinstance(trainer.devices, list):
        trainer = replace(trainer, devices=layout.devices, num_nodes=layout.num_nodes)
    backend = "cpu:gloo,cuda:nccl" if device_of(trainer.accelerator) == "cuda" else "gloo"
    others: list[subprocess.Popen[bytes]] = []
    try:
        if layout.started is None:
            others = _start_others(layout.devices, backend)
        else:
            os.environ.update(layout.started)
            _connect_with_others(backend)
        _use_own_gpu(backend, trainer.devices)
        yield replace(options, trainer=trainer)
        for other in others:
            other.wait(timeout=60)
    except RuntimeError as error:  # such as of a connection that broke
        ended = [number for number, other in enumerate(others, start=1) if _has_ended(other)]
        if isinstance(error, RunFailed) or not ended:
            raise
        reason = str(error).splitlines()[0]
        raise RunFailed(f"process {ended[0]} of 0 to {len(others)} has ended before its time ({reason})") from error
    finally:
        for other in others:
            other.kill()
            other.wait()
        if distributed.is_initialized():
            distributed.destroy_process_group()
        sys.excepthook = excepthook  # a process group puts its own before it
        os.environ.clear()
        os.environ.update(environment)
        if torch.get_num_threads() != threads:
            torch.set_num_threads(threads)


def _connect_with_others(backend: str) -> None:
    """Of torchrun's processes, also of those that it has started once more, and of each run of a multirun."""
    own = os.environ
    rank, num_ranks = int(own["RANK"]), int(own["WORLD_SIZE"])
    store, _, _ = next(rendezvous("env://", rank, num_ranks, timeout=PATIENCE))
    # the store may still hold where the processes before were to be found
    store = PrefixStore(f"{own.get('TORCHELASTIC_RESTART_COUNT', 0)}/{next(_connections)}", store)
    distributed.init_process_group(backend, store=store, rank=rank, world_size=num_ranks, timeout=PATIENCE)


def _start_others(num_ranks: int, backend: str) -> list[subprocess.Popen[bytes]]:
    """Starts all processes but this one on this machine, and connects with them."""
    store = TCPStore(OWN, 0, num_ranks, is_master=True, wait_for_workers=False, timeout=PATIENCE)
    threads = os.environ.get("OMP_NUM_THREADS") or str(max(torch.get_num_threads() // num_ranks, 1))
    own = {"WORLD_SIZE": str(num_ranks), "LOCAL_WORLD_SIZE": str(num_ranks), "OMP_NUM_THREADS": threads}
    own |= {"MASTER_ADDR": OWN, "MASTER_PORT": str(store.port), "RANK": "0", "LOCAL_RANK": "0"}
    own |= {"MALLOC_TRIM_THRESHOLD_": str(2**62), "MALLOC_MMAP_THRESHOLD_": str(2**30)}  # see `commands.shell`
    if sys.platform == "linux":
        os.environ.setdefault("GLOO_SOCKET_IFNAME", "lo")  # a machine's own name may not lead back to it
    os.environ.update(own)
    torch.set_num_threads(int(threads))
    command = [sys.executable, "-c", f"from seq2see.runs.follow import main; main({backend!r})"]
    others = [
        subprocess.Popen(
            command,
            env={**os.environ, "RANK": str(number), "LOCAL_RANK": str(number)},
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            start_new_session=True,  # a signal to the whole group is for this process, which tells the others
        )
        for number in range(1, num_ranks)
    ]
    try:
        while not store.check([f"here/{number}" for number in range(1, num_ranks)]):
            if any(other.poll() is not None for other in others):
                raise RunFailed("another process of this run could not be started; its message stands above")
            time.sleep(0.02)
        distributed.init_process_group(backend, store=store, rank=0, world_size=num_ranks, timeout=PATIENCE)
    except BaseException:
        for other in others:
            other.kill()
        raise
    return others


def connect(backend: str) -> None:
    """What a process that `processes` has started does first."""
    end_with_parent()
    own = os.environ
    store = TCPStore(own["MASTER_ADDR"], int(own["MASTER_PORT"]), int(own["WORLD_SIZE"]), timeout=PATIENCE)
    store.set(f"here/{own['RANK']}", "")
    size = int(own["WORLD_SIZE"])
    distributed.init_process_group(backend, store=store, rank=int(own["RANK"]), world_size=size, timeout=PATIENCE)


def _use_own_gpu(backend: str, devices: Any) -> None:
    """From now on `cuda` means this process's device."""
    if "cuda" in backend:
        local = int(os.environ["LOCAL_RANK"])
        torch.cuda.set_device(devices[local] if isinstance(devices, list) else local)


def _has_ended(process: subprocess.Popen[bytes]) -> bool:
    with suppress(subprocess.TimeoutExpired):
        process.wait(timeout=1)
    return process.poll() is not None
