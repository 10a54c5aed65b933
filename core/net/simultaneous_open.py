"""Simultaneous open: two peers call each other at the same moment, and nobody was called.

When each calls from the port on which it listens, they share one TCP connection (RFC 9293, 3.5).  Both see a
ClientHello where a ServerHello should be; then the smaller id stays the caller, and the other becomes the called.
"""

from typing import Final

HEADER_BYTES: Final = 5
_HANDSHAKE: Final = 22
_CLIENT_HELLO: Final = 1


class SimultaneousOpen:
    """Inspects the first bytes that a caller receives.

    Args:
        stays_caller: Whether this peer's id is the smaller one.
    """

    def __init__(self, *, stays_caller: bool) -> None:
        self.stays_caller = stays_caller
        self._seen = b""
        self._skip = 0
        self._decided = False
        self.simultaneous = False
        """Whether both sides called."""

    def look(self, data: bytes | memoryview) -> bytes | memoryview:
        """The bytes that TLS should get; after that, `simultaneous` may have become true."""
        if self._decided:
            return self._skipped(data)
        self._seen += bytes(data)
        if len(self._seen) <= HEADER_BYTES and self._seen[:1] in {b"", bytes((_HANDSHAKE,))}:
            return b""
        self._decided = True
        seen, self._seen = self._seen, b""
        if seen[0] == _HANDSHAKE and seen[HEADER_BYTES] == _CLIENT_HELLO:
            self.simultaneous = True
            self._skip = HEADER_BYTES + int.from_bytes(seen[3:5], "big") if self.stays_caller else 0
        return self._skipped(seen)

    def _skipped(self, data: bytes | memoryview) -> bytes | memoryview:
        """Drop the other side's greeting, when this side's holds."""
        skip = min(self._skip, len(data))
        self._skip -= skip
        return data[skip:]
