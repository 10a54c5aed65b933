"""How many cores this program may keep busy."""

import os

import psutil


def spare_cores() -> int:
    """All cores but one, at least one: threads that share a core only wait for each other's arithmetic."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else psutil.cpu_count() or 1
    return max(1, min(psutil.cpu_count(logical=False) or allowed, allowed) - 1)
