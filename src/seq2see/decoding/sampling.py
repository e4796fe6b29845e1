"""Sampling: tokens at random, as probable as the model says, and repeatable."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor


class Sampler:
    """Draws each row's next token; the draws of a row depend on the seed and its number alone, not on its batch.

    Args:
        seed: of all draws.
        numbers: for each row of the batch a number of its own, such as that of its sentence.
        temperature: above 1 flattens the probabilities, below 1 sharpens them; positive.
        top_k: only the so many most probable tokens; None: all.
        top_p: only the most probable tokens that together reach this probability; None: all.

    Source:
        Fan et al. 2018 (top-k); Holtzman et al. 2020 (top-p, "nucleus").
    """

    def __init__(
        self,
        seed: int,
        numbers: Sequence[int],
        *,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
    ) -> None:
        self._generators = [np.random.Generator(np.random.Philox(key=[seed, number])) for number in numbers]
        self._draws: list[np.ndarray] = [generator.random(64) for generator in self._generators]
        self.temperature, self.top_k, self.top_p = temperature, top_k, top_p

    def __call__(self, log_probs: Tensor, rows: Tensor, step: int) -> Tensor:
        """The tokens drawn, int64 (R,); log_probs (R, V), rows (R,), step from 0."""
        probs, order = kept_probs(log_probs.double(), temperature=self.temperature, top_k=self.top_k, top_p=self.top_p)
        draws = torch.tensor([self._draw(row, step) for row in rows.tolist()], dtype=probs.dtype, device=probs.device)
        rising = probs.cumsum(dim=-1)
        place = torch.searchsorted(rising, (draws * rising[:, -1])[:, None], right=True)
        last = (probs > 0).sum(dim=-1, keepdim=True) - 1  # rounding must not lead behind the tokens that are left
        return order.gather(1, place.minimum(last))[:, 0]

    def _draw(self, row: int, step: int) -> float:
        while step >= len(self._draws[row]):
            self._draws[row] = np.concatenate((self._draws[row], self._generators[row].random(64)))
        return float(self._draws[row][step])


def kept_probs(
    log_probs: Tensor, *, temperature: float = 1.0, top_k: int | None = None, top_p: float | None = None
) -> tuple[Tensor, Tensor]:
    """The probabilities from which a token is drawn, falling, and which tokens they belong to.

    Args:
        log_probs: (R, V).
        temperature: see `Sampler`.
        top_k: see there.
        top_p: see there; of the probabilities after temperature and top-k.

    Returns:
        probabilities (R, V) in falling order, 0 for what is left out, and the tokens (R, V) in the same order.
    """
    falling, order = log_probs.sort(dim=-1, descending=True, stable=True)
    falling = (falling - falling[:, :1]) / temperature  # the first stays 0 however near to 0 the temperature is
    if top_k is not None:
        falling[:, top_k:] = float("-inf")
    probs = falling.softmax(dim=-1)
    if top_p is not None:
        before = probs.cumsum(dim=-1) - probs
        probs = probs.masked_fill(before >= top_p, 0.0)
        probs = probs / probs.sum(dim=-1, keepdim=True)
    return probs, order
