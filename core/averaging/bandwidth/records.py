"""What a peer tells others of lines: its own, and what it has seen of others'.  Signed, as a record in the DHT."""

import math
from collections.abc import Iterable, Mapping
from struct import Struct
from typing import Annotated, Final, NamedTuple

import msgspec
from msgspec import Meta

from core.averaging.plan import Rates
from core.base.ids import PeerId
from core.base.problems import WireProblem
from core.base.wire import Schema

MARK_BYTES: Final = 4
"""Bytes of an id, enough to tell a peer from the others of a collaboration."""
FACTS_BYTES_MAX: Final = 512
"""Upper bound on a record's value, bytes: what the DHT keeps."""
SEEN_MAX: Final = 50
HELD_MAX: Final = 12
RATE_LEAST: Final = 256.0
"""Bytes a second that are told as 1; each step is a factor of `STEP` more, so 255 stands for 2.9 GB a second."""
STEP: Final = 1.066

_SEEN: Final = Struct("4sBB")
_HELD: Final = Struct("4sB")
SEEN_BYTES: Final = _SEEN.size
HELD_BYTES: Final = _HELD.size


class SeenLine(NamedTuple):
    """What the line of another peer has carried, in rounds with it."""

    peer: bytes
    up: int
    """As a level, see `to_level`."""
    down: int


class Held(NamedTuple):
    """To whom bytes had to wait although the own line had room: no more than this came through to it."""

    peer: bytes
    rate: int


class LineFacts(msgspec.Struct, frozen=True, array_like=True):
    """A peer's record.  At most 512 bytes encoded."""

    own: Rates
    """What a plan may count on."""
    shown: Rates = Rates()
    """What of that the line has carried; 0: nobody knows."""
    packed_seen: Annotated[bytes, Meta(max_length=SEEN_MAX * SEEN_BYTES)] = b""
    packed_held: Annotated[bytes, Meta(max_length=HELD_MAX * HELD_BYTES)] = b""

    @property
    def seen(self) -> list[SeenLine]:
        """What this peer has seen of others."""
        return [SeenLine(*fields) for fields in _SEEN.iter_unpack(self.packed_seen)]

    @property
    def held(self) -> list[Held]:
        """To whom its bytes had to wait."""
        return [Held(*fields) for fields in _HELD.iter_unpack(self.packed_held)]


_SCHEMA: Final = Schema(LineFacts, named="facts of lines", bytes_max=FACTS_BYTES_MAX)


def mark_of(peer: PeerId) -> bytes:
    """The bytes of its id by which a record names a peer."""
    return peer[:MARK_BYTES]


def to_level(rate: float) -> int:
    """A rate in bytes a second as one byte: within 3.3 %; 0 for less than `RATE_LEAST`."""
    if not rate >= RATE_LEAST:
        return 0
    return min(255, 1 + round(math.log(min(rate, 1e15) / RATE_LEAST) / math.log(STEP)))


def from_level(level: int) -> float:
    """The rate in bytes a second that a level of `to_level` stands for; 0 for level 0."""
    return RATE_LEAST * STEP ** (level - 1) if level else 0.0


def facts_of(
    own: Rates,
    shown: Rates,
    seen: Mapping[PeerId, tuple[float, float]],
    held: Iterable[tuple[PeerId, float]] = (),
) -> LineFacts:
    """The record of what is known: of the peers that were seen, those that are listed first."""
    told = [_SEEN.pack(mark_of(peer), to_level(up), to_level(down)) for peer, (up, down) in seen.items()]
    slow = [_HELD.pack(mark_of(peer), max(1, to_level(rate))) for rate, peer in sorted((r, p) for p, r in held)]
    return LineFacts(own, shown, b"".join(told[:SEEN_MAX]), b"".join(slow[:HELD_MAX]))


def encode_facts(facts: LineFacts) -> bytes:
    """The facts as the value of a DHT record."""
    return _SCHEMA.encode(facts)


def decode_facts(data: bytes) -> LineFacts:
    """The facts in a record's value.

    Raises:
        WireProblem: there are none.
    """
    facts = _SCHEMA.decode(data)
    if len(facts.packed_seen) % SEEN_BYTES or len(facts.packed_held) % HELD_BYTES:
        raise WireProblem("the facts of lines end within a peer's entry")
    return facts
