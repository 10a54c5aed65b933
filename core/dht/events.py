"""Events that the DHT reports to its owner."""

from dataclasses import dataclass
from typing import Any

from core.base.ids import Contact, Key
from core.base.machine import Send
from core.dht.messages import Record


@dataclass(frozen=True, slots=True)
class Found:
    """Result of a read: all records found under a key, including those held here; at most one record per subkey."""

    key: Key
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class RecordStored:
    """A record of this peer is now held by `replicas` peers, perhaps including this one."""

    key: Key
    replicas: int


@dataclass(frozen=True, slots=True)
class Learned:
    """Address of a peer, reported before the first Send to that address."""

    contact: Contact


@dataclass(frozen=True, slots=True)
class Joined:
    """A lookup of this peer's own position has ended; the routing table has `contacts` contacts."""

    contacts: int


DhtEvent = Found | RecordStored | Learned | Joined
Output = Send[Any] | DhtEvent
