"""How many cores this program may keep busy."""

import os
from collections.abc import Iterator
from contextlib import contextmanager

import psutil


def spare_cores() -> int:
    """All cores but one, at least one: threads that share a core only wait for each other's arithmetic."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else psutil.cpu_count() or 1
    return max(1, min(psutil.cpu_count(logical=False) or allowed, allowed) - 1)


@contextmanager
def one_core() -> Iterator[bool]:
    """Keep this thread, and those that it starts, on one core; gives whether the system can."""
    process = psutil.Process()
    if not hasattr(process, "cpu_affinity"):  # macOS
        yield False
        return
    before = process.cpu_affinity()
    process.cpu_affinity(before[-1:])
    try:
        yield True
    finally:
        process.cpu_affinity(before)
