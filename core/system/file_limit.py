"""The number of files, sockets among them, that this process may have open."""

import importlib
from typing import Final

WANTED: Final = 8192


def raise_file_limit() -> None:
    """Allow this process up to `WANTED` open files, as far as the system's hard limit goes (Windows has none).

    Most systems begin programs with 1,024 or 256, for which silent connections of strangers alone would be enough.
    """
    try:
        resource = importlib.import_module("resource")
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = WANTED if hard == resource.RLIM_INFINITY else min(WANTED, hard)
    if soft != resource.RLIM_INFINITY and soft < most:
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
