"""A training step on a GPU beside `MarianMTModel` and `nn.Transformer`: bf16-mixed, fused AdamW, 64 pairs of 64 tokens.

Ours once as it is and once through `torch.compile`. Each step is forward, backward, clipping and AdamW; the clock is
read when the device is done.
"""

from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec

import torch

from benchmark.figure import Figure, Rounds
from benchmark.train.peers import MARIAN, MODULES, NOTES, OURS, TORCH, Pairs, Size, random_batch, work_of
from seq2see.options import BenchmarkOptions

STEPS = 10  # a round
COMPILED = "seq2see, torch.compile"
SIZES = {"small": Size(256, 3, 4, 1024, 8_000, 64, 64), "base": Size(512, 6, 8, 2048, 8_000, 64, 64)}


def figures(options: BenchmarkOptions) -> Iterator[Figure]:
    """Real target tokens a second, and ratios.

    Raises:
        ValueError: there is no GPU, or a peer is not installed.
    """
    if not torch.cuda.is_available():
        raise ValueError("suite=gpu measures a GPU, and torch finds none here: choose another suite, as suite=train")
    if find_spec("transformers") is None:
        raise ValueError("suite=gpu needs its peer (transformers): pip install -e '.[bench]'")
    yield from figures_on("cuda", SIZES, rounds=options.rounds)


def figures_on(device: str, sizes: Mapping[str, Size], *, rounds: int, steps: int = STEPS) -> Iterator[Figure]:
    """The same on any device and of any sizes."""
    makers = {OURS: MODULES[OURS], COMPILED: MODULES[OURS], TORCH: MODULES[TORCH], MARIAN: MODULES[MARIAN]}
    for name, size in sizes.items():
        torch.manual_seed(0)
        batches = [Pairs(*(side.to(device) for side in random_batch(size))) for _ in range(steps)]
        work = {}
        for contender, make in makers.items():
            module = make(size).to(device)
            module.forward = torch.autocast(device, torch.bfloat16)(module.forward)
            is_compiled = contender == COMPILED and device == "cuda"
            learner = torch.compile(module) if is_compiled else module
            work[contender] = _finished(work_of(learner, batches, fused=True), device)  # type: ignore[arg-type]
        measured = Rounds.run(f"gpu, {name}", "tokens/s", work, rounds=rounds)
        yield from measured.figures(OURS, NOTES)


def _finished(step: Callable[[], float], device: str) -> Callable[[], float]:
    """The step, until the device is done."""

    def work() -> float:
        tokens = step()
        if device == "cuda":
            torch.cuda.synchronize()
        return tokens

    return work
