"""The number of files, sockets among them, that this process may have open."""

import importlib
from typing import Final

WANTED: Final = 8192
OWN: Final = 96
"""Files that a process of Potluck has open besides connections: libraries, logs, checkpoints, pipes."""


def raise_file_limit() -> int | None:
    """Allow this process up to `WANTED` open files, as far as the system's hard limit goes.

    Returns:
        The limit that holds now; None where the system tells none (Windows).
    """
    try:
        resource = importlib.import_module("resource")
    except ImportError:
        return None
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        return int(most)
    return WANTED if soft == resource.RLIM_INFINITY else int(soft)


def connections_within(most: int, *, of: int) -> int:
    """Return how many connections of strangers one door may have, so that all doors together leave the rest its files.

    Args:
        most: Number where files are plenty.
        of: Number of doors that share the files.
    """
    limit = raise_file_limit()
    return most if limit is None else max(1, min(most, (limit - OWN) // (2 * of)))
