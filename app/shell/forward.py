"""A second start of the window: speaks to the first one before anything of Qt is loaded."""

import hashlib
import os
import socket
import stat
import struct
import sys
import tempfile
from pathlib import Path

TIMEOUT_S = 0.5
PATH_BYTES_MAX = 100
"""Upper bound on a socket's path; systems allow 104 or 108."""
SOL_LOCAL, LOCAL_PEERCRED, XUCRED = 0, 1, "@II"
"""macOS (sys/un.h, sys/ucred.h): whose process is at the other end of a local socket."""


def server_name(home: Path) -> str:
    """The name of the local server of a home's window (`app.shell.single.SingleWindow`).

    It lies in a folder that no other person may enter: the runtime folder, that for temporary files where it is the
    person's own, or the home.

    Args:
        home: The home directory, absolute.
    """
    name = f"potluck-{hashlib.sha256(str(home).encode()).hexdigest()[:24]}"
    if sys.platform == "win32":
        return name  # a pipe, which Qt makes for this person only
    places = (os.environ.get("XDG_RUNTIME_DIR", ""), f"/run/user/{os.getuid()}", tempfile.gettempdir())
    own = next((Path(place) for place in places if place and _is_private(Path(place))), home)
    whole = own / name
    return str(whole if len(os.fsencode(whole)) <= PATH_BYTES_MAX else Path(tempfile.gettempdir(), name))


def forward(home: Path, link: str) -> bool:
    """Have the window that is there already come to the front.

    Where this fails, Qt is loaded and asks once more: it decides.

    Args:
        home: The home directory, absolute.
        link: Passed on to that window; empty: none.

    Returns:
        Whether there is one.
    """
    line = f"{link}\n".encode()
    try:
        if sys.platform == "win32":
            with Path(rf"\\.\pipe\{server_name(home)}").open("wb", buffering=0) as pipe:
                pipe.write(line)
            return True
        with socket.socket(socket.AF_UNIX) as stream:
            stream.settimeout(TIMEOUT_S)
            stream.connect(server_name(home))
            if _peer_user(stream) != os.getuid():
                return False
            stream.sendall(line)
    except OSError:
        return False
    return True


def _is_private(folder: Path) -> bool:
    try:
        found = folder.stat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def _peer_user(stream: socket.socket) -> int:
    """The user whose process is at the other end; raises OSError where the system does not tell."""
    if sys.platform == "linux":
        told = stream.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i"))
        return int(struct.unpack("3i", told)[1])
    told = stream.getsockopt(SOL_LOCAL, LOCAL_PEERCRED, 128)
    return int(struct.unpack_from(XUCRED, told)[1])
