"""How Lightning writes a checkpoint: as `decoding.checkpoint` does."""

from pathlib import Path
from typing import Any

from lightning.pytorch.plugins.io import TorchCheckpointIO

from seq2see.decoding.checkpoint import write_checkpoint


class AtomicCheckpointIO(TorchCheckpointIO):
    """Writes a checkpoint whole or not at all."""

    def save_checkpoint(self, checkpoint: dict[str, Any], path: str | Path, storage_options: Any | None = None) -> None:
        """The checkpoint before stays until the new one is whole."""
        write_checkpoint(Path(path), checkpoint)
