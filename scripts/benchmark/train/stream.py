"""Pairs of 3 to 30 tokens, as people have them: each side in batches of its own making, of as many tokens a step."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch

from benchmark.apart import Contender, apart
from benchmark.figure import Figure, Rounds
from benchmark.train.peers import MARIAN, MODULES, OURS, Pairs, Size, work_of
from seq2see.data import LengthBuckets
from seq2see.text import PAD

SHORTEST, LONGEST = 3, 30  # tokens
STEPS = 16  # a round: all the pairs once
GROUPED, SHUFFLED = f"{MARIAN}, grouped", f"{MARIAN}, shuffled"


def figures(size: Size, *, rounds: int) -> Iterator[Figure]:
    """Real target tokens a second: ours, and Hugging Face's with batches by length and with shuffled ones.

    All go through the same pairs, in as many steps.
    """
    size = size._replace(length=LONGEST)
    contenders = {
        OURS: Contender(_work, (OURS, size, True), keeps_memory=True),
        GROUPED: Contender(_work, (MARIAN, size, True)),
        SHUFFLED: Contender(_work, (MARIAN, size, False)),
    }
    what = f"{SHORTEST}-{LONGEST} tokens, width {size.d_model}"
    with apart(contenders) as work:
        measured = Rounds.run(f"train, {what}", "tokens/s", work, rounds=rounds)
    yield from measured.figures(
        OURS,
        {
            OURS: f"{what}; {_filled(_batches(OURS, size, grouped=True))} of the tokens real",
            GROUPED: f"sorted by length; {_filled(_batches(MARIAN, size, grouped=True))} of the tokens real",
            SHUFFLED: f"its default; {_filled(_batches(MARIAN, size, grouped=False))} of the tokens real",
        },
    )


def _work(name: str, size: Size, grouped: bool) -> Callable[[], float]:
    batches = _batches(name, size, grouped=grouped)
    torch.manual_seed(0)
    return work_of(MODULES[name](size), batches, fused=name == OURS)


def _batches(name: str, size: Size, *, grouped: bool) -> list[Pairs]:
    random = np.random.default_rng(0)
    num_pairs = STEPS * size.batch_size
    sources = random.integers(SHORTEST, LONGEST, num_pairs)
    targets = np.clip(sources + random.integers(-2, 3, num_pairs), SHORTEST, LONGEST - 1)
    torch.manual_seed(0)
    if name == OURS:
        batches = list(LengthBuckets(sources, targets, batch_size=size.batch_size, shuffle=True, seed=0))
    else:
        order = np.argsort(targets, kind="stable") if grouped else np.arange(num_pairs)
        batches = random.permutation(order.reshape(-1, size.batch_size)).tolist()
    return [_padded(rows, sources, targets, size) for rows in batches]


def _padded(rows: Sequence[int], sources: np.ndarray, targets: np.ndarray, size: Size) -> Pairs:
    def side(lengths: np.ndarray) -> torch.Tensor:
        of_rows = torch.from_numpy(lengths[list(rows)])[:, None]
        longest = int(of_rows.max())
        ids = torch.randint(4, size.vocab_size, (len(rows), longest))
        return ids.masked_fill(torch.arange(longest) >= of_rows, PAD)

    return Pairs(side(sources), side(targets + 1))


def _filled(batches: Sequence[Pairs]) -> str:
    sides = [side for batch in batches for side in (batch.src, batch.tgt)]
    return f"{sum(int((side != PAD).sum()) for side in sides) / sum(side.numel() for side in sides):.0%}"
