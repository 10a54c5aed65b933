"""What a host has moved."""

from dataclasses import dataclass

from core.base.ids import PeerId
from core.net.streams import Way


@dataclass(frozen=True, slots=True)
class LinkStats:
    """One open link."""

    peer: PeerId
    username: str
    initiated: bool
    """Whether we called."""
    since: float
    """Unix seconds."""
    bytes_sent: int
    bytes_received: int
    way: Way = "tcp"


@dataclass(frozen=True, slots=True)
class HostStats:
    """Bytes on the wire since the start, and the links of now."""

    bytes_sent: int
    bytes_received: int
    links: tuple[LinkStats, ...]
