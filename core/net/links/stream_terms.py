"""Resources and rules that all links of a host share."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from core.base.machine import Trace
from core.net.identity.passes import PassVerifier
from core.net.identity.tls import Credentials
from core.net.limits.pace import Pace
from core.net.links.delay_pacing import Uplink

SCRATCH_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Scratch:
    """Buffers in which all links of a loop receive and decrypt; nothing stays in them between two callbacks."""

    cipher: memoryview = field(default_factory=lambda: memoryview(bytearray(SCRATCH_BYTES)))
    plain: memoryview = field(default_factory=lambda: memoryview(bytearray(SCRATCH_BYTES)))


class StreamOwner(Protocol):
    """Callbacks to the owner of a link, inside the loop's callbacks."""

    def stream_connected(self, stream: Any) -> None:
        """The connection stands, and the handshake is about to begin."""

    def stream_heard(self, stream: Any) -> None:
        """Something of the other side's handshake has arrived."""

    def stream_opened(self, stream: Any) -> None:
        """The handshake is complete and the other side's pass holds: `stream.proven` is set."""

    def stream_received(self, stream: Any, data: bytearray) -> None:
        """Take a whole message; the bytes are the receiver's to keep.

        Args:
            stream: The link.
            data: The encoded message.
        """

    def stream_closed(self, stream: Any, reason: str) -> None:
        """The link is over; called once, also for a link that never opened.

        Args:
            stream: The link.
            reason: Why it is over.
        """


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTerms:
    """Resources and rules that all links of a host share."""

    credentials: Credentials
    passes: PassVerifier
    """Decides whose pass holds."""
    now: Callable[[], float]
    """Unix seconds, for the passes."""
    trace: Trace
    pace: Pace
    uplink: Uplink = field(default_factory=Uplink)
    scratch: Scratch = field(default_factory=Scratch)
