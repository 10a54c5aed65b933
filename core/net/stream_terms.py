"""What all links of a host have in common."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

from core.base.trace import Trace
from core.net.delay_pacing import Uplink
from core.net.pace import Pace
from core.net.passes import Pass
from core.net.tls import Credentials

SCRATCH_BYTES = 256 * 1024


@dataclass(frozen=True, slots=True)
class Scratch:
    """Room in which all links of a loop receive and decrypt; nothing stays in it between two callbacks."""

    cipher: memoryview = field(default_factory=lambda: memoryview(bytearray(SCRATCH_BYTES)))
    plain: memoryview = field(default_factory=lambda: memoryview(bytearray(SCRATCH_BYTES)))


class StreamOwner(Protocol):
    """Who is told what happens on a link.  Called inside the loop's callbacks."""

    def stream_opened(self, stream: Any) -> None:
        """The handshake is complete and the other side's pass holds: `stream.proven` is set."""

    def stream_received(self, stream: Any, data: bytearray) -> None:
        """A whole message arrived; the bytes are the receiver's to keep."""

    def stream_closed(self, stream: Any, reason: str) -> None:
        """It is over; called once, also for a link that never opened."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StreamTerms:
    """What all links of a host have in common."""

    owner: StreamOwner
    credentials: Credentials
    verify: Callable[[bytes], Pass]
    """The pass in a certificate; raises ProofProblem."""
    now: Callable[[], float]
    """Unix seconds, for the passes."""
    trace: Trace
    pace: Pace
    uplink: Uplink = field(default_factory=Uplink)
    scratch: Scratch = field(default_factory=Scratch)
