"""Any number of encoded sentences through a decoder: sorted by length, batched, padded, and put back in order.

On a CPU each core decodes batches of its own: the products of a single step are too small to be worth sharing (two
cores: 146 sentences a second against 84, `scripts/benchmark.py suite=decode`).
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager

import torch
from torch import Tensor

from seq2see.decoding.beam import beam_search
from seq2see.decoding.greedy import greedy
from seq2see.decoding.hypothesis import Hypothesis, evaluation_mode
from seq2see.decoding.limit import LengthLimit
from seq2see.decoding.sampling import Sampler
from seq2see.options import DecodeOptions
from seq2see.text import EOS, PAD
from seq2see.transformer import Transformer

MOST_SQUARED = 2**23  # sentences x (source tokens)^2 in a batch: 64 of 362 tokens, 8 of 1,000; bounds the memory


def decode_sentences(
    model: Transformer,
    sources: Sequence[Sequence[int]],
    *,
    limit: LengthLimit,
    options: DecodeOptions | None = None,
    exact_lengths: Sequence[int] | None = None,
    numbers: Sequence[int] | None = None,
    progress: Callable[[int], None] | None = None,
) -> list[list[Hypothesis]]:
    """The hypotheses of each source, best first, in the order of the sources.

    Args:
        model: the model, on the device to use.
        sources: source ids without EOS.
        limit: how long a hypothesis may get.
        options: how to search; None: greedily.
        exact_lengths: for each source the target tokens to produce, EOS included, whatever the limit; None: until EOS.
        numbers: for each source one of its own, which its random draws follow from; None: its place.
        progress: called with the number of sentences done since the last call.
    """
    options = (options or DecodeOptions()).filled()
    assert options.batch_size
    device = next(model.parameters()).device
    hypotheses: list[list[Hypothesis]] = [[] for _ in sources]

    def decode(indices: list[int]) -> list[list[Hypothesis]]:
        rows = [torch.tensor([*sources[index], EOS]) for index in indices]
        src = torch.nn.utils.rnn.pad_sequence(rows, batch_first=True, padding_value=PAD).to(device)
        lengths = torch.tensor([len(row) for row in rows], device=device)
        src_mask = torch.arange(src.shape[1], device=device) < lengths[:, None]
        if exact_lengths is None:
            limits = [limit.of(len(row)) for row in rows]
        else:
            limits = [exact_lengths[index] for index in indices]
        exact = exact_lengths is not None
        if options.sample:
            own_numbers = indices if numbers is None else [numbers[index] for index in indices]
            return _sample(model, src, src_mask, limits, own_numbers, options, exact=exact)
        if options.beam_size == 1:
            return [[found] for found in greedy(model, src, src_mask, max_lengths=limits, exact_lengths=exact)]
        assert options.beam_size and options.num_best and options.length_penalty is not None
        return beam_search(
            model,
            src,
            src_mask,
            max_lengths=limits,
            beam_size=options.beam_size,
            length_penalty=options.length_penalty,
            num_best=options.num_best,
            exact_lengths=exact,
        )

    batches = _batches([len(source) + 1 for source in sources], options.batch_size)
    with evaluation_mode(model), _workers(device, len(batches)) as run:
        for indices, found in run(decode, batches):
            for index, own in zip(indices, found, strict=True):
                hypotheses[index] = own
            if progress is not None:
                progress(len(indices))
    return hypotheses


Decode = Callable[[list[int]], list[list[Hypothesis]]]
Decoded = Iterator[tuple[list[int], list[list[Hypothesis]]]]


@contextmanager
def _workers(device: torch.device, num_batches: int) -> Iterator[Callable[[Decode, Sequence[list[int]]], Decoded]]:
    """What decodes batches, as many at a time as there are cores for them, and gives each when it is done."""
    num_threads = torch.get_num_threads()
    num_workers = min(num_threads, num_batches) if device.type == "cpu" else 1
    if num_workers <= 1:
        yield lambda decode, batches: ((batch, decode(batch)) for batch in batches)
        return
    pool = ThreadPoolExecutor(num_workers, initializer=torch.set_num_threads, initargs=(num_threads // num_workers,))

    def run(decode: Decode, batches: Sequence[list[int]]) -> Decoded:
        futures = {pool.submit(decode, batch): batch for batch in batches}
        return ((futures[future], future.result()) for future in as_completed(futures))

    try:
        yield run
    finally:
        pool.shutdown(cancel_futures=True)
        torch.set_num_threads(num_threads)  # the workers' number is that of threads to come


def _batches(lengths: Sequence[int], batch_size: int) -> list[list[int]]:
    """Which sentences are decoded together: of similar lengths, and few of long ones; the longest batch first.

    So no worker is left with the longest batch while the others are done.
    """
    batches: list[list[int]] = [[]]
    for index in sorted(range(len(lengths)), key=lambda index: lengths[index]):
        batch = batches[-1]
        if len(batch) == batch_size or (len(batch) + 1) * lengths[index] ** 2 > MOST_SQUARED and batch:
            batches.append([])
        batches[-1].append(index)
    return [batch for batch in reversed(batches) if batch]


def _sample(
    model: Transformer,
    src: Tensor,
    src_mask: Tensor,
    limits: Sequence[int],
    numbers: Sequence[int],
    options: DecodeOptions,
    *,
    exact: bool,
) -> list[list[Hypothesis]]:
    """`num_best` independent samples of each row, the most probable first."""
    assert options.num_best and options.seed is not None and options.temperature
    count = options.num_best
    sampler = Sampler(
        options.seed,
        [number * count + copy for number in numbers for copy in range(count)],
        temperature=options.temperature,
        top_k=options.top_k,
        top_p=options.top_p,
    )
    found = greedy(
        model,
        src.repeat_interleave(count, 0),
        src_mask.repeat_interleave(count, 0),
        max_lengths=[length for length in limits for _ in range(count)],
        exact_lengths=exact,
        choose=sampler,
    )
    rows = [found[start : start + count] for start in range(0, len(found), count)]
    assert options.length_penalty is not None
    penalty = options.length_penalty
    return [sorted(row, key=lambda one: (one.ended, one.ranked_by(penalty)), reverse=True) for row in rows]
