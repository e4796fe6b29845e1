"""Any number of encoded sentences through a decoder: sorted by length, batched, padded, and put back in order.

On a CPU each core decodes batches of its own: the products of a single step are too small to be worth sharing (two
cores: 146 sentences a second against 84, `scripts/benchmark.py suite=decode`).
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace

import torch
from threadpoolctl import threadpool_limits

from seq2see.decoding.beam import beam_search
from seq2see.decoding.constraints import Constraints, Restriction
from seq2see.decoding.ensemble import Predictor
from seq2see.decoding.greedy import greedy, sample
from seq2see.decoding.hypothesis import Hypothesis, LengthLimit, evaluation_mode
from seq2see.options import DecodeOptions
from seq2see.ranks import joined, share_of
from seq2see.text import EOS, PAD

MOST_SQUARED = 2**23  # sentences x (source tokens)^2 in a batch: 64 of 362 tokens, 8 of 1,000; bounds the memory


def decode_sentences(
    model: Predictor,
    sources: Sequence[Sequence[int]],
    *,
    limit: LengthLimit,
    options: DecodeOptions | None = None,
    numbers: Sequence[int] | None = None,
    progress: Callable[[int], None] | None = None,
    constraints: Constraints | None = None,
    prefixes: Sequence[str] | None = None,
) -> list[list[Hypothesis]]:
    """The hypotheses of each source, best first (see `best_first`), in the order of the sources (see `ranks.sharing`).

    Args:
        model: the model, on the device to use.
        sources: source ids without EOS.
        limit: how long a hypothesis may get.
        options: how to search; None: greedily.
        numbers: for each source one of its own, which its random draws follow from; None: its place.
        progress: called with the number of sentences done since the last call.
        constraints: of all outputs.
        prefixes: with constraints, what each output begins with; None: nothing.

    Raises:
        ValueError: a source's constraints cannot be met, or are for a search and `options` draw samples.
    """
    options = options or DecodeOptions()
    if constraints is not None and constraints.must and options.length_penalty is None:
        options = replace(options, length_penalty=0.0)  # a mean over tokens likes to put them off (README)
    options = options.filled()
    assert options.batch_size and options.num_best
    paths = []
    if constraints is not None:
        if constraints.must and options.sample:
            raise ValueError("decode.sample=true draws at random, and must= needs a search: leave out one of them")
        own = zip(numbers or range(1, len(sources) + 1), prefixes or [""] * len(sources), sources, strict=True)
        paths = [
            constraints.path(prefix, number=at, limit=limit, source_length=len(row) + 1) for at, prefix, row in own
        ]
    device = next(model.parameters()).device
    hypotheses: list[list[Hypothesis]] = [[] for _ in sources]

    def decode(places: list[int]) -> list[list[Hypothesis]]:
        rows = [torch.tensor([*sources[place], EOS]) for place in places]
        src = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD).to(device)
        lengths = torch.tensor([len(row) for row in rows], device=device)
        src_mask = torch.arange(src.shape[1], device=device) < lengths[:, None]
        most = [limit.of(len(row)) for row in rows]
        copies, restriction = options.num_best if options.sample else 1, None
        if constraints is not None:
            ways = [paths[place] for place in places for _ in range(copies or 1)]
            restriction = Restriction(constraints, ways, device)
        if options.sample:
            own = places if numbers is None else [numbers[place] for place in places]
            return sample(model, src, src_mask, max_lengths=most, numbers=own, options=options, restriction=restriction)
        if options.beam_size == 1 and (constraints is None or not constraints.must):
            return [[best] for best in greedy(model, src, src_mask, max_lengths=most, restriction=restriction)]
        assert options.beam_size and options.num_best and options.length_penalty is not None
        return beam_search(
            model,
            src,
            src_mask,
            max_lengths=most,
            beam_size=options.beam_size,
            length_penalty=options.length_penalty,
            num_best=options.num_best,
            restriction=restriction,
        )

    batches = list(share_of(_batches([len(source) + 1 for source in sources], options.batch_size)))
    results = []
    with evaluation_mode(model), _mapper(device, len(batches)) as each:
        for places, found in zip(batches, each(decode, batches), strict=True):
            results += zip(places, found, strict=True)
            if progress is not None:
                progress(len(places))
    for place, found in joined(results):
        hypotheses[place] = found
    return hypotheses


@contextmanager
def _mapper(device: torch.device, num_batches: int) -> Iterator[Callable]:
    """What takes the place of `map` for batches: as many at a time as there are cores for them."""
    num_threads = torch.get_num_threads()
    num_workers = min(num_threads, num_batches) if device.type == "cpu" else 1
    if num_workers <= 1:
        yield map
        return
    with ThreadPoolExecutor(num_workers, initializer=_take_threads, initargs=(num_threads // num_workers,)) as pool:
        yield pool.map


def _take_threads(number: int) -> None:
    """This thread computes with so many.

    (`torch.set_num_threads` turns MKL's own choice off in the whole process, which costs later training a sixth.)
    """
    torch.get_num_threads()  # torch sets a thread's number when it is first asked
    threadpool_limits(limits=number, user_api="openmp")


def _batches(lengths: Sequence[int], batch_size: int) -> list[list[int]]:
    """Which sentences are decoded together: of similar lengths, and few of long ones; the longest batch first.

    So no worker is left with the longest batch while the others are done.
    """
    batches: list[list[int]] = []
    for place in sorted(range(len(lengths)), key=lambda place: lengths[place]):
        size = len(batches[-1]) if batches else batch_size
        if size >= batch_size or (size + 1) * lengths[place] ** 2 > MOST_SQUARED:
            batches.append([])
        batches[-1].append(place)
    return batches[::-1]
