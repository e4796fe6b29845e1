"""A service under load: how long its clients wait, what together gains, and whether its memory stays."""

import asyncio
import json
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import cycle, islice
from pathlib import Path

import numpy as np

from benchmark.figure import Figure
from benchmark.solve import result_of
from seq2see.options import BenchmarkOptions

RUN = ("trainer.max_steps=100", "attention_log.enabled=false", "logger=none")  # of the default
CONNECTIONS, REQUESTS = 64, 10_000
ALONE, WARM = 500, 1_000  # requests of one client; before memory is first looked at
HEAD = b"POST /translate HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n"
SCRIPT = Path(__file__).parents[1] / "serve.py"


def figures(options: BenchmarkOptions) -> Iterator[Figure]:
    """One sentence a request: of one client, then of 64 at a time."""
    with tempfile.TemporaryDirectory() as name:
        run = Path(name) / "run"
        result_of(RUN, run)
        rows = (run / "evaluation" / "test.tsv").read_text(encoding="utf-8").split("\n")[1:]
        texts = [row.split("\t")[0] for row in rows if row]
        with _served(run) as (process, port):
            alone, rate_alone = asyncio.run(_load(port, texts, ALONE, connections=1))
            asyncio.run(_load(port, texts, WARM, connections=CONNECTIONS))
            before = _resident(process)
            together, rate = asyncio.run(_load(port, texts, REQUESTS, connections=CONNECTIONS))
            after = _resident(process)
    yield from _waits("one client", alone)
    yield from _waits(f"{CONNECTIONS} clients", together)
    yield Figure("serve", "one client", rate_alone, "requests/s")
    note = f"{rate / rate_alone:.1f} times one client: they are translated together"
    yield Figure("serve", f"{CONNECTIONS} clients", rate, "requests/s", note=note)
    lost = REQUESTS - len(together)
    yield Figure("serve", "lost", lost, "requests", note=f"of {REQUESTS:,}: not answered, or not with its translation")
    note = f"{before:.0f} MiB after {WARM + ALONE:,} requests, {after:.0f} after {REQUESTS:,} more"
    yield Figure("serve", "more memory", after - before, "MiB", note=note)


def _waits(who: str, seconds: Sequence[float]) -> Iterator[Figure]:
    for share in (50, 99):
        yield Figure("serve", f"{who}, p{share}", float(np.percentile(seconds, share)) * 1e3, "ms")


@contextmanager
def _served(run: Path) -> Iterator[tuple[subprocess.Popen[str], int]]:
    command = [sys.executable, str(SCRIPT), f"ckpt={run}", "port=0", "page=false"]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, encoding="utf-8")
    assert process.stderr is not None
    try:
        for line in process.stderr:
            if found := re.search(r"http://127\.0\.0\.1:(\d+)/", line):
                yield process, int(found[1])
                return
        raise RuntimeError("the service has not begun")
    finally:
        process.terminate()
        process.communicate()


async def _load(port: int, texts: Sequence[str], number: int, *, connections: int) -> tuple[list[float], float]:
    """Seconds of each request that was answered with its translation, and how many of all there were a second."""
    asked, seconds = iter(islice(cycle(texts), number)), []

    async def client() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for text in asked:
            body = json.dumps({"texts": [text]}).encode()
            begin = time.perf_counter()
            writer.write(HEAD % len(body) + body)
            try:
                head = await reader.readuntil(b"\r\n\r\n")
                length = int(re.findall(rb"content-length: (\d+)", head)[0])
                answer = json.loads(await reader.readexactly(length))
            except (OSError, EOFError):
                return
            if head.startswith(b"HTTP/1.1 200 ") and answer["translations"][0]["source"] == text:
                seconds.append(time.perf_counter() - begin)
        writer.close()

    begin = time.perf_counter()
    await asyncio.gather(*(client() for _ in range(connections)))
    return seconds, number / (time.perf_counter() - begin)


def _resident(process: subprocess.Popen[str]) -> float:
    """MiB of memory that the process has; not known where there is no /proc."""
    status = Path(f"/proc/{process.pid}/status")
    found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text(encoding="utf-8")) if status.is_file() else None
    return int(found[1]) / 1024 if found else float("nan")
