"""One training step beside its peers: forward, loss, backward, clip, optimiser; then what the difference comes from.

All get the very same padded batches, dropout 0.1, label smoothing 0.1, clipping at 1 and AdamW, in float32, each in a
process of its own that is set up as its users would have it. What differs is said in the notes. Then a stream of pairs
of real lengths, which each side batches for itself; then our own step with one of its parts replaced by the usual one;
then our step with Lightning around it.
"""

from collections.abc import Iterator
from importlib.util import find_spec

from benchmark.apart import apart
from benchmark.figure import Figure, Rounds
from benchmark.train import causes, framework, peers, stream
from seq2see.options import BenchmarkOptions

STEPS = 4  # a round


def figures(options: BenchmarkOptions) -> Iterator[Figure]:
    """Real target tokens a second, and ratios.

    Raises:
        ValueError: a peer is not installed.
    """
    missing = [name for name in ("transformers", "x_transformers") if find_spec(name) is None]
    if missing:
        raise ValueError(f"suite=train needs its peers ({', '.join(missing)}): pip install -e '.[bench]'")
    for name, size in peers.SIZES.items():
        with apart({peer: peers.contender(peer, size, STEPS) for peer in peers.MODULES}) as work:
            rounds = Rounds.run(f"train, {name}", "tokens/s", work, rounds=options.rounds)
        yield from rounds.figures(peers.OURS, peers.NOTES)
    for size in peers.SIZES.values():
        yield from stream.figures(size, rounds=options.rounds)
    for name, size in peers.SIZES.items():
        yield from causes.figures(name, size, rounds=options.rounds)
    yield from framework.figures(peers.SIZES["tiny"], rounds=options.rounds)
