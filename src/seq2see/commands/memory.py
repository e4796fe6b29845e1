"""How the process keeps the memory that it has freed."""

import ctypes
import sys

TRIM_THRESHOLD, MMAP_THRESHOLD = -1, -3  # glibc's names for them: M_TRIM_THRESHOLD, M_MMAP_THRESHOLD
LARGEST = 2**30  # bytes


def keep_freed_memory() -> bool:
    """Tells glibc not to give memory back to the system, only to ask for the same again a moment later.

    A training step frees and allocates the same megabytes over and over; each time the kernel would clear every page
    of them anew, which took a sixth of a step.

    Returns:
        whether there is a glibc here that took it.

    Source:
        mallopt(3) of the Linux manual.
    """
    if not sys.platform.startswith("linux"):
        return False
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    return mallopt is not None and bool(mallopt(MMAP_THRESHOLD, LARGEST) and mallopt(TRIM_THRESHOLD, LARGEST))
