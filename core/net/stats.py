"""Statistics of a host: bytes moved, and its links."""

from dataclasses import dataclass
from typing import Self

from core.base.ids import PeerId
from core.net.links.streams import PeerStream, Way


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

    @classmethod
    def of(cls, stream: PeerStream) -> Self:
        """Return the figures of an open link."""
        assert stream.proven is not None
        return cls(
            stream.peer,
            stream.proven.username,
            stream.initiated,
            stream.opened_at,
            stream.sender.bytes_sent,
            stream.receiver.bytes_received,
            stream.route.way,
        )


@dataclass(frozen=True, slots=True)
class HostStats:
    """Bytes on the wire since the start, and the open links."""

    bytes_sent: int
    bytes_received: int
    links: tuple[LinkStats, ...]

    @property
    def moved_bytes(self) -> int:
        """The sum of what was sent and received."""
        return self.bytes_sent + self.bytes_received
