"""Statistics of a host: bytes moved, and its links."""

from dataclasses import dataclass

from core.base.ids import PeerId
from core.net.streams import Way


@dataclass(frozen=True, slots=True)
class LinkStats:
    """One open link of a host."""

    peer: PeerId
    username: str
    initiated: bool
    """Whether this peer called."""
    since: float
    """Time of opening, Unix seconds."""
    bytes_sent: int
    bytes_received: int
    way: Way = "tcp"


@dataclass(frozen=True, slots=True)
class HostStats:
    """Bytes on the wire since the start, and the open links."""

    bytes_sent: int
    bytes_received: int
    links: tuple[LinkStats, ...]
