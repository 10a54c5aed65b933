"""Memory that a program has freed, and its C library has kept for it."""

import contextlib
import ctypes
import sys


def return_unused_memory() -> None:
    """The C library gives the system back what this process has freed.  Only glibc (malloc_trim(3)) has to be asked."""
    if sys.platform == "linux":
        with contextlib.suppress(AttributeError):  # another C library
            ctypes.CDLL(None).malloc_trim(0)
