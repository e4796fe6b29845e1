"""What a checkpoint needs beside what Lightning keeps, and how it is written."""

from pathlib import Path
from typing import Any

import lightning as L
import torch
from lightning.pytorch.plugins.io import TorchCheckpointIO

from seq2see.decoding.checkpoint import write_checkpoint
from seq2see.ranks import gathered, rank


class AtomicCheckpointIO(TorchCheckpointIO):
    """Writes a checkpoint whole or not at all, with its checksum."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any | None = None) -> None:
        """The checkpoint before stays until the new one is whole."""
        write_checkpoint(Path(path), checkpoint)


def require_state(trainer: L.Trainer, *, step: int) -> None:
    """Refuses what Lightning and torch would go on with: no loops, an optimiser's state of nothing or of other weights.

    Raises:
        ValueError, KeyError: it is so.
    """
    if trainer.global_step != step:
        raise ValueError(f"its loops are at step {trainer.global_step}, its weights at step {step}")
    for optimizer in trainer.optimizers if step else ():
        for parameter in (parameter for group in optimizer.param_groups for parameter in group["params"]):
            state = optimizer.state[parameter]
            if any(state[name].shape != parameter.shape for name in ("exp_avg", "exp_avg_sq")):
                raise ValueError("the optimiser's state is of other weights")


def random_state() -> dict[str, Any]:
    """The states of torch's generators, the only global ones that a training draws from, in each process of the run."""
    cuda = torch.cuda.get_rng_state_all() if torch.cuda.is_available() else []
    first, *others = gathered({"torch": torch.get_rng_state(), "cuda": cuda})
    return {**first, "others": others} if others else first


def set_random_state(state: dict[str, Any]) -> None:
    """Puts torch's generators back where `random_state` saw them; a process that was not there keeps its own."""
    every = [state, *state.get("others", [])]
    if rank() >= len(every):
        return
    state = every[rank()]
    torch.set_rng_state(state["torch"])
    if state["cuda"] and torch.cuda.is_available():
        torch.cuda.set_rng_state_all(state["cuda"])
