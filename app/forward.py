"""A second start of the window: speaks to the first one before anything of Qt is loaded."""

import hashlib
import os
import socket
import sys
import tempfile
from pathlib import Path

TIMEOUT_S = 0.5


def server_name(home: Path) -> str:
    """The name of the local server of a home's window (`app.single.SingleWindow`).

    Args:
        home: The home directory, absolute.
    """
    return f"potluck-{hashlib.sha256(str(home).encode()).hexdigest()[:24]}"


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
        # Qt puts the socket into its temporary folder (QLocalServer, QDir::tempPath).
        with socket.socket(socket.AF_UNIX) as stream:
            stream.settimeout(TIMEOUT_S)
            stream.connect(str(Path(os.environ.get("TMPDIR") or tempfile.gettempdir(), server_name(home))))
            stream.sendall(line)
    except OSError:
        return False
    return True
