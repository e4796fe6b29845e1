"""What data-parallel training on many devices is expected to take, by a small model of it."""

from collections.abc import Iterator

from benchmark.figure import Figure
from benchmark.growth import measured_step
from benchmark.train.peers import SIZES, Ours, Size
from seq2see.options import BenchmarkOptions

LINKS = {"10 Gbit/s": 10e9 / 8, "400 Gbit/s": 400e9 / 8}  # bytes a second
DEVICES = (1, 2, 8, 64, 512)
LATENCY = 20e-6  # seconds a message
BACKWARD = 2 / 3  # of the operations of a step
ALL_SIZES = {**SIZES, "base": Size(512, 6, 8, 2048, 8_000, 64, 24)}


def step_seconds(
    flops: float,
    gradient_bytes: float,
    *,
    num_devices: int,
    flops_per_second: float,
    link: float,
    latency: float = LATENCY,
    overlap: float = 0.0,
) -> float:
    """Expected seconds of an optimiser step whose batch is shared out evenly.

    Args:
        flops: operations of the whole batch, over all devices.
        gradient_bytes: of all gradients, as they are sent.
        num_devices: in a ring.
        flops_per_second: that one device was measured to do.
        link: bytes a second between neighbours of the ring.
        latency: seconds a message; a ring sends 2 (N - 1) of them one after another.
        overlap: share of the exchange that may go on beside the backward pass, which is two thirds of the operations;
            0: none, the worst case.

    Source:
        Patarasuk and Yuan 2009 (ring all-reduce): each device sends 2 (N - 1) / N of the bytes, and no scheme less.
    """
    compute = flops / num_devices / flops_per_second
    messages = 2 * (num_devices - 1)
    exchange = messages / num_devices * gradient_bytes / link + messages * latency
    return compute + exchange - min(overlap * exchange, BACKWARD * compute)


def figures(options: BenchmarkOptions) -> Iterator[Figure]:
    """Milliseconds a step with the same batch on each device, that of one being measured here.

    The share in the note is of N times the tokens a second of one device.
    """
    for name, size in ALL_SIZES.items():
        seconds, flops = measured_step(size, options.rounds)
        gradient_bytes = 4 * sum(parameter.numel() for parameter in Ours(size).parameters())
        for link, speed in LINKS.items():
            for number in DEVICES:
                expected = step_seconds(
                    number * flops, gradient_bytes, num_devices=number, flops_per_second=flops / seconds, link=speed
                )
                yield Figure(
                    "scaling", f"{name}, {number} x {link}", 1e3 * expected, "ms",
                    note=f"{seconds / expected:.0%} of {number} times the speed of one" if number > 1 else "measured",
                )  # fmt: skip
