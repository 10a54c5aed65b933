"""The handshake of a link: each side proves by its pass who it is.

Two peers may call each other at the same moment, each from the port on which it listens: then they share one TCP
connection, and nobody was called (simultaneous open, RFC 9293, 3.5).  Both see a ClientHello where a ServerHello should
be; the smaller id stays the caller, and the other becomes the called.
"""

import ssl
from collections.abc import Callable
from typing import Final

from core.base.ids import PeerId
from core.base.problems import ProofProblem
from core.net.identity.passes import Pass
from core.net.identity.tls import SecureChannel, reason_of
from core.net.links.stream_terms import StreamTerms

HEADER_BYTES: Final = 5
_HANDSHAKE: Final = 22
_CLIENT_HELLO: Final = 1


class Handshake:
    """Goes on with the handshake as bytes arrive, until the other side has proven who it is.

    Args:
        terms: Shared by all links of the host.
        expected: The peer that this one called; None: the other peer called.
    """

    def __init__(self, terms: StreamTerms, expected: PeerId | None) -> None:
        self._terms = terms
        self._expected = expected
        self._first_bytes = (
            None if expected is None else SimultaneousOpen(stays_caller=terms.credentials.peer_id < expected)
        )
        self._asked_at = 0.0
        self.channel = SecureChannel(terms.credentials, server_side=expected is None)
        self.initiated = expected is not None
        """Whether this peer is the caller."""
        self.rtt_s = 0.0
        """Seconds from this side's last part of the handshake to the other side's answer."""

    @property
    def simultaneous(self) -> bool:
        """Whether both sides called."""
        return self._first_bytes is not None and self._first_bytes.simultaneous

    def proceed(self, data: memoryview | bytes, now: float, write: Callable[[bytes], object]) -> Pass | None:
        """Go on with what has arrived.

        Args:
            data: Bytes of the other side; empty: the connection has just been made.
            now: Seconds of a steady clock.
            write: Takes this side's bytes, in a failure those that tell the reason.

        Returns:
            The other side's pass, once it has proven to be its holder.

        Raises:
            ProofProblem: it is not a peer of this collaboration, or another one than was called.
        """
        if data:
            self._hear(data, now)
        try:
            if not self.channel.handshake():
                return None
            proven = self._terms.passes.read(self.channel.peer_pass, self._terms.now())
        except (ssl.SSLError, ProofProblem) as error:
            self._terms.trace.mark("net.drop.handshake")
            raise ProofProblem(reason_of(error)) from error
        finally:
            if answer := self.channel.take():
                self._asked_at = now
                write(answer)
        if self._expected not in {None, proven.peer}:
            self._terms.trace.mark("net.drop.impostor")
            raise ProofProblem("another peer answered")
        return proven

    def _hear(self, data: memoryview | bytes, now: float) -> None:
        """Pass bytes to TLS; when both sides have called, one of them becomes the called."""
        self.rtt_s = now - self._asked_at
        if self._first_bytes is not None:
            data = self._first_bytes.look(data)
            if self._first_bytes.simultaneous and self.initiated and not self._first_bytes.stays_caller:
                self.initiated = False
                self.channel = SecureChannel(self._terms.credentials, server_side=True)
        self.channel.feed(data)


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
