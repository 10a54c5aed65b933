"""A connection to a stranger's server, which may say a letter now and then to keep its readers waiting for ever."""

import io
import socket
import time
from typing import Any, Final

SLOW_S: Final = 30.0
SLOW_BYTES: Final = 64 * 1024
"""A server that gives fewer bytes than this in `SLOW_S` seconds does not answer either."""
HEAD_BYTES_MAX: Final = 256 * 1024
"""Upper bound on what comes before the body; answers that announce the answer may follow one another for ever."""
AROUND: Final = 2
"""Upper bound on what comes for each byte of the body, with the lengths of its chunks and what stands beside them."""


class TooSlowError(OSError):
    """A server says something now and then, and far too little."""


class TooMuchError(OSError):
    """A server says far more than the body that was asked for, which the person's limits do not count."""


class _Incoming(io.RawIOBase):
    """What comes over a connection: head, lengths of chunks and body alike, as long as it is more than a trickle."""

    def __init__(self, sock: socket.socket) -> None:
        super().__init__()
        self._socket = sock
        self._waited_s = 0.0
        self._came = 0
        self.room = HEAD_BYTES_MAX
        """Bytes that may still come."""

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        if self.room <= 0:
            raise TooMuchError
        began = time.monotonic()
        count = self._socket.recv_into(memoryview(buffer)[: self.room])
        self.room -= count
        self._waited_s += time.monotonic() - began
        self._came += count
        if self._waited_s > SLOW_S:
            if self._came < SLOW_BYTES:
                raise TooSlowError
            self._waited_s, self._came = 0.0, 0
        return count


class WebLine:
    """A socket as far as `http.client` needs it; its reader gets `TooSlowError` or `TooMuchError`.

    Args:
        sock: Has a timeout, against servers that say nothing at all.
    """

    def __init__(self, sock: socket.socket) -> None:
        self.sendall = sock.sendall
        self._incoming = _Incoming(sock)

    def expect(self, count: int) -> None:
        """Let this number of further bytes of the body come."""
        self._incoming.room += AROUND * count

    def makefile(self, mode: str) -> io.BufferedReader:
        """What comes, to be read once."""
        del mode
        return io.BufferedReader(self._incoming)

    def close(self) -> None:
        """The connection closes the socket itself, when all was read."""
