"""The most memory that this process has held."""

import sys
from pathlib import Path

import psutil


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
