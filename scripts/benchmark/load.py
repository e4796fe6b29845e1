"""How fast a large file of pairs gets to the model: first start, second start, and the loader beside the training."""

import json
import os
import random
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from benchmark.figure import Figure
from seq2see.options import BenchmarkOptions

START = """
import json, os, resource, sys, time
begin = time.perf_counter()
from seq2see.runs.config import compose_options
from seq2see.runs.prepare import prepare, train_loader
imported = time.perf_counter()
import seq2see.runs.train
prepared = prepare(compose_options("train", json.loads(sys.argv[1])))
next(iter(train_loader(prepared.options.data, prepared.options.seed, prepared.train)))
first = time.perf_counter()
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)
found = {"imports": imported - begin, "seconds": first - begin, "bytes": peak, "pairs": len(prepared.train)}
if sys.argv[2] == "loader":
    import itertools
    from torch.nn import functional as F
    from seq2see.text import PAD
    def tokens_of(batch):
        return int(batch.src_mask.sum()) + int((batch.tgt_out != PAD).sum())
    start, tokens = time.perf_counter(), 0
    for batch in itertools.islice(train_loader(prepared.options.data, prepared.options.seed, prepared.train), 2000):
        tokens += tokens_of(batch)
    found["loader"] = tokens / (time.perf_counter() - start)
    model = prepared.trained.model.train()
    batches = list(itertools.islice(train_loader(prepared.options.data, prepared.options.seed, prepared.train), 12))
    for number, batch in enumerate(batches):
        if number == 2:
            start, tokens = time.perf_counter(), 0
        logits = model(batch.src, batch.src_mask, batch.tgt_in)
        F.cross_entropy(logits.flatten(0, 1), batch.tgt_out.flatten(), ignore_index=PAD).backward()
        tokens += tokens_of(batch)
    found["training"] = tokens / (time.perf_counter() - start)
print(json.dumps(found))
"""


def figures(options: BenchmarkOptions) -> Iterator[Figure]:
    """Starts of new processes on a generated TSV of `pairs` pairs, in a cache of their own."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        _write_pairs(folder / "pairs.tsv", options.pairs)
        environment = {**os.environ, "SEQ2SEE_CACHE": str(folder / "cache")}
        overrides = json.dumps(["task=files", f"task.train={folder / 'pairs.tsv'}"])
        first, second = (_start(overrides, mode, environment) for mode in ("start", "loader"))
    pairs = f"{options.pairs:,} pairs"
    yield Figure("load", "first start to first batch", first["seconds"], "s", note=f"{pairs}, imports included")
    yield Figure("load", "second start to first batch", second["seconds"], "s")
    yield Figure("load", "  of this imports", second["imports"], "s")
    yield Figure("load", "peak memory, first start", first["bytes"] / 2**20, "MiB")
    yield Figure("load", "peak memory, second start", second["bytes"] / 2**20, "MiB")
    yield Figure("load", "loader", second["loader"], "tokens/s")
    ratio = second["loader"] / second["training"]
    yield Figure(
        "load", "training (forward and backward)", second["training"], "tokens/s", ratio, (ratio, ratio),
        note="the ratio is that of the loader alone to the training",
    )  # fmt: skip


def _write_pairs(path: Path, count: int) -> None:
    """Distinct pairs of 3 to 12 made-up words."""
    rng = random.Random(0)
    syllables = [first + second for first in "bdfgklmnprst" for second in "aeiou"]
    words = ["".join(rng.choices(syllables, k=rng.randint(1, 4))) for _ in range(20_000)]
    with path.open("w", encoding="utf-8", newline="\n") as file:
        for number in range(count):
            source = rng.choices(words, k=rng.randint(3, 12))
            file.write(f"{' '.join(source)} {number}\t{' '.join(reversed(source))}\n")


def _start(overrides: str, mode: str, environment: dict[str, str]) -> dict[str, float]:
    done = subprocess.run(
        [sys.executable, "-c", START, overrides, mode],
        env=environment,
        stdout=subprocess.PIPE,
        encoding="utf-8",
        check=True,
    )
    return json.loads(done.stdout.splitlines()[-1])
