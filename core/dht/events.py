"""What the DHT reports to its owner."""

from dataclasses import dataclass
from typing import Any

from core.base.ids import Key
from core.base.machine import Send
from core.dht.messages import Contact, Record


@dataclass(frozen=True, slots=True)
class Found:
    """All that was found under a key, including what we hold ourselves; at most one record per subkey."""

    key: Key
    records: tuple[Record, ...]


@dataclass(frozen=True, slots=True)
class RecordStored:
    """A record of ours is now held by so many peers, perhaps including ourselves."""

    key: Key
    subkey: bytes
    replicas: int


@dataclass(frozen=True, slots=True)
class Learned:
    """Where a peer is to be reached.  Comes before the first Send that goes to that address."""

    contact: Contact


@dataclass(frozen=True, slots=True)
class Joined:
    """A lookup of our own place in the key space has ended; so many contacts are in the routing table."""

    contacts: int


@dataclass(frozen=True, slots=True)
class ClockOff:
    """The clocks of most peers are this far ahead of ours (behind: negative); 0.0: no longer worth a word."""

    offset_s: float


DhtEvent = Found | RecordStored | Learned | Joined | ClockOff
Output = Send[Any] | DhtEvent
