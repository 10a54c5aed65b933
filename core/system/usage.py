"""What a process takes of its computer: memory, cores, room on the disk, open files."""

import contextlib
import ctypes
import importlib
import os
import sys
from pathlib import Path
from typing import Final

import psutil

FILES_WANTED: Final = 8192
CLUSTER_BYTES: Final = 4096
"""Size of the pieces in which most file systems give room; a small file takes a whole one."""


def peak_memory() -> int:
    """The most resident memory that this process has held so far, bytes.

    On Linux it is VmHWM of the kernel's status file: what `getrusage` says there begins with the peak of the process
    that started this one.
    """
    if sys.platform == "win32":
        return int(psutil.Process().memory_info().peak_wset)
    if sys.platform == "linux":
        for line in Path("/proc/self/status").read_text("ascii", errors="replace").splitlines():
            if line.startswith("VmHWM:"):
                return 1024 * int(line.split()[1])
    import resource  # noqa: PLC0415 - only there

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024 * peak


def spare_cores() -> int:
    """All cores but one, at least one: threads that share a core only wait for each other's arithmetic."""
    allowed = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else psutil.cpu_count() or 1
    return max(1, min(psutil.cpu_count(logical=False) or allowed, allowed) - 1)


def on_disk(size_bytes: int) -> int:
    """The room that a file of this length takes, so that a person's limit counts what the disk really holds."""
    return -(-size_bytes // CLUSTER_BYTES) * CLUSTER_BYTES


def return_unused_memory() -> None:
    """The C library gives the system back what this process has freed.  Only glibc (malloc_trim(3)) has to be asked."""
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)


def raise_file_limit() -> None:
    """Allow this process up to `FILES_WANTED` open files, as far as the system's hard limit goes (Windows has none).

    Most systems begin programs with 1,024 or 256, for which silent connections of strangers alone would be enough.
    """
    try:
        resource = importlib.import_module("resource")
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = FILES_WANTED if hard == resource.RLIM_INFINITY else min(FILES_WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
