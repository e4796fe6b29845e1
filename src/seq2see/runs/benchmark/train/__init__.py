"""One training step beside its peers: forward, loss, backward, clip, optimiser; then what the difference comes from.

All get the very same padded batches, dropout 0.1, label smoothing 0.1, clipping at 1 and AdamW, in float32. What
differs is said in the notes. Then a stream of pairs of real lengths, which each side batches for itself; then our own
step with one of its parts replaced by the usual one; then our step with Lightning around it.
"""

from collections.abc import Iterator
from importlib import import_module

import torch

from seq2see.options import BenchmarkOptions
from seq2see.runs.benchmark.figure import Figure, Rounds
from seq2see.runs.benchmark.train import causes, framework, peers, stream

STEPS = 4  # a round


def figures(options: BenchmarkOptions) -> Iterator[Figure]:
    """Real target tokens a second, and ratios.

    Raises:
        ValueError: a peer is not installed.
    """
    try:
        transformers, x_transformers = import_module("transformers"), import_module("x_transformers")
    except ImportError as error:
        raise ValueError(f"suite=train needs its peers ({error.name}): pip install -e '.[bench]'") from error
    for name, size in peers.SIZES.items():
        torch.manual_seed(0)
        batches = [peers.random_batch(size) for _ in range(STEPS)]
        modules = peers.contenders(size, transformers, x_transformers)
        work = {peer: peers.work_of(module, batches, fused=peer == peers.OURS) for peer, module in modules.items()}
        rounds = Rounds.run(f"train, {name}", "tokens/s", work, rounds=options.rounds)
        yield from rounds.figures(peers.OURS, peers.NOTES)
    for size in peers.SIZES.values():
        yield from stream.figures(size, transformers, rounds=options.rounds)
    for name, size in peers.SIZES.items():
        yield from causes.figures(name, size, rounds=options.rounds)
    yield from framework.figures(peers.SIZES["tiny"], rounds=options.rounds)
