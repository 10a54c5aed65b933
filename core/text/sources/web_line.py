"""A connection to a stranger's server, which may say a letter now and then to keep its readers waiting for ever."""

import io
import socket
import time
from typing import Any, Final

SLOW_S: Final = 30.0
SLOW_BYTES: Final = 64 * 1024
"""A server that gives fewer bytes than this in `SLOW_S` seconds does not answer either."""


class TooSlowError(OSError):
    """A server says something now and then, and far too little."""


class _Incoming(io.RawIOBase):
    """What comes over a connection: head, lengths of chunks and body alike, as long as it is more than a trickle."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__()
        self._socket = sock
        self._waited_s = 0.0
        self._came = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        began = time.monotonic()
        count = self._socket.recv_into(buffer)
        self._waited_s += time.monotonic() - began
        self._came += count
        if self._waited_s > SLOW_S:
            if self._came < SLOW_BYTES:
                raise TooSlowError
            self._waited_s, self._came = 0.0, 0
        return count


class WebLine:
    """A socket as far as `http.client` needs it; its reader gets `TooSlowError`.

    Args:
        sock: Has a timeout, against servers that say nothing at all.
    """

    def __init__(self, sock: socket.socket) -> None:
        self.sendall = sock.sendall
        self._socket = sock

    def makefile(self, mode: str) -> io.BufferedReader:
        """What comes, to be read once."""
        del mode
        return io.BufferedReader(_Incoming(self._socket))

    def close(self) -> None:
        """The connection closes the socket itself, when all was read."""
