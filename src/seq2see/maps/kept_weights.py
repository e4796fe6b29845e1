"""Weights of a few steps, kept beside the maps in half precision: a playground shows the model as it was.

A step's are kept when its outputs are a fifth nearer to the references than those of the last one that was kept: at
most six files, `attention/weights-00000084.pt`, however long a run is.
"""

from collections.abc import Sequence
from pathlib import Path

from rapidfuzz.distance import Levenshtein
from torch import Tensor, nn

from seq2see.decoding.checkpoint import read_values, write_checkpoint

MOST_PARAMETERS = 8_000_000  # of a larger model nothing is kept: 16 megabytes a file
NEARER = 0.2  # of the way from nothing in common to the references


class KeptWeights:
    """The files in the folder `attention/` of a run that trains, or has trained."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._last: tuple[int, float] | None = None  # step and nearness of the last file, once they are known

    @property
    def steps(self) -> list[int]:
        """Steps whose weights are there, ascending."""
        return sorted(int(file.stem.removeprefix("weights-")) for file in self.folder.glob("weights-*.pt"))

    def keep(self, step: int, model: nn.Module, outputs: Sequence[str], references: Sequence[str]) -> None:
        """Writes the weights of this step if there is a reason to."""
        if sum(parameter.numel() for parameter in model.parameters()) > MOST_PARAMETERS:
            return
        earlier = [other for other in self.steps if other < step]
        pairs = list(zip(outputs, references, strict=True))
        nearness = sum(Levenshtein.normalized_similarity(*pair) for pair in pairs) / len(pairs)
        if earlier:
            if self._last is None or self._last[0] != earlier[-1]:
                self._last = earlier[-1], self.read(earlier[-1])[0]
            if nearness < self._last[1] + NEARER:
                return
        weights = {name: tensor.detach().cpu().half() for name, tensor in model.state_dict().items()}
        write_checkpoint(self._file(step), {"nearness": nearness, "weights": weights})
        self._last = step, nearness

    def forget_after(self, step: int) -> None:
        """Drops those of later steps: a run that goes on from this one makes them anew."""
        for later in self.steps:
            if later > step:
                self._file(later).unlink()

    def read(self, step: int) -> tuple[float, dict[str, Tensor]]:
        """How near the outputs of this step were to the references, 0 to 1, and its weights by name, float16.

        Raises:
            ValueError: the file is not there, or damaged.
        """
        file = self._file(step)
        try:
            with file.open("rb") as stream:
                values = read_values(stream)
            return float(values["nearness"]), dict(values["weights"])
        except (OSError, ValueError, KeyError, TypeError) as error:
            raise ValueError(f"{file}: cannot be read ({error}): delete it") from error

    def _file(self, step: int) -> Path:
        return self.folder / f"weights-{step:08d}.pt"
