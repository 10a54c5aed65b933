"""What the members of a round say to each other, and the bounds of what any message of averaging carries.

A round's messages carry its id: `Open`, `Part` and `Mean` are those of the all-reduce, the others end the round.  A set
of members travels as a row of bits in the plan's order.  The messages that find a group stand in
`core.averaging.matchmaking`.
"""

from functools import lru_cache
from typing import Annotated, ClassVar, Final

from msgspec import Meta

from core.base.bounds import NORM_MAX
from core.base.ids import KEY_BYTES, PEER_ID_BYTES
from core.base.signing import SIGNATURE_BYTES
from core.base.wire import Message

GROUP_MAX: Final = 256
"""Members of one group at most."""
NONCE_BITS: Final = 62
"""Size of the random number that tells a peer's calls apart: it fits a signed 64-bit integer."""
ATTEMPT_MAX: Final = 10_000
"""Upper bound on the attempts to form a group in one state: hours of them."""
SHARE_CHUNKS_MAX: Final = 1 << 24
"""Upper bound on the chunks of a share: a vector of 4 * 10^12 numbers in the largest chunks."""
NONCE_BYTES: Final = 8
"""Size of a member's part of the key of a round's fingerprints: no member can guess another's."""
FINGERPRINT_BYTES: Final = 16
"""Size of the fingerprint of a share: 128 bits, so that no two means share one by chance or by search."""
VERSION_MAX: Final = 1 << 31
"""Upper bound on a share's version: the upper half is the coordinator's rank."""

PROVEN_MAX: Final = 28
"""Number of members up to which means are proven: a Commit with everybody's sums has to be a control message."""
SUMS: Final = 16
"""Number of sums by which a share's means are proven: of lies of three times what passes, 4 of 10^10 are not seen."""
SUM_BYTES: Final = 4 * SUMS
"""Size of a member's sums in one share, bytes."""
REMADE_MAX: Final = 8
"""Shares that one member can have made in a round, of which it tells what others' sums should be."""

RoundId = Annotated[bytes, Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
Lineage = Annotated[bytes, Meta(min_length=32, max_length=32)]
Peer = Annotated[bytes, Meta(min_length=PEER_ID_BYTES, max_length=PEER_ID_BYTES)]
Attempt = Annotated[int, Meta(ge=0, le=ATTEMPT_MAX)]
Index = Annotated[int, Meta(ge=0, lt=GROUP_MAX)]
"""A member's place in the plan; a share has the place of the member whose it is at first."""
Numel = Annotated[int, Meta(ge=0, lt=1 << 40)]
Version = Annotated[int, Meta(ge=0, le=VERSION_MAX)]
Chunk = Annotated[int, Meta(ge=0, lt=SHARE_CHUNKS_MAX)]
"""A chunk's place in its share."""
Bits = Annotated[bytes, Meta(max_length=GROUP_MAX // 8)]
"""A set of members: bit i % 8 of byte i // 8 stands for member i."""
Versions = Annotated[tuple[Version, ...], Meta(max_length=GROUP_MAX)]
Reducers = Annotated[tuple[Index, ...], Meta(max_length=GROUP_MAX)]
Digest = Annotated[bytes, Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
Radius = Annotated[float, Meta(ge=0, le=NORM_MAX)]
"""The common radius of a chunk's clipped parts; 0: none was clipped."""
Signature = Annotated[bytes, Meta(max_length=SIGNATURE_BYTES)]
Sums = Annotated[bytes, Meta(max_length=PROVEN_MAX * SUM_BYTES)]
"""`SUMS` numbers for each share, or for each member; float32."""
Nonce = Annotated[bytes, Meta(max_length=NONCE_BYTES)]
Nonces = Annotated[tuple[Nonce, ...], Meta(max_length=GROUP_MAX)]
"""One for each member, empty for those that gave none; no entry at all: the round is not that far."""
Fingerprints = Annotated[tuple[Annotated[bytes, Meta(max_length=FINGERPRINT_BYTES)], ...], Meta(max_length=GROUP_MAX)]
"""One for each share, empty for a share of which no means are held."""


Members = frozenset[int]
"""A set of members, by their places in the plan."""
SETS_REMEMBERED: Final = 256
"""Number of sets that are not made again: strangers invent them, and one of 256 members takes 9 KiB."""


@lru_cache(maxsize=SETS_REMEMBERED)
def to_bits(members: Members) -> bytes:
    """A set of members as it goes over the wire."""
    return sum(1 << member for member in members).to_bytes((max(members, default=-1) + 8) // 8, "little")


@lru_cache(maxsize=SETS_REMEMBERED)
def from_bits(bits: bytes) -> Members:
    """The set of members again; of unused bits nothing is said."""
    number = int.from_bytes(bits, "little")
    return frozenset(member for member in range(number.bit_length()) if number >> member & 1)


class Open(Message, frozen=True, tag="averaging.open"):
    """From a member that has begun: it reduces these versions of these shares, and waits for their parts."""

    round: RoundId
    plan: Digest
    """Digest of the plan that the member follows."""
    shares: Annotated[tuple[tuple[Index, Version], ...], Meta(max_length=GROUP_MAX)]


class Part(Message, frozen=True, tag="averaging.part"):
    """A chunk of the sender's contribution, for the share's reducer; at the same time the request for its mean.

    The payload is empty when the sender contributes nothing to the chunk, or asks another holder of the mean.
    """

    bulk: ClassVar[bool] = True

    round: RoundId
    share: Index
    version: Version
    chunk: Chunk
    payload: memoryview


class Mean(Message, frozen=True, tag="averaging.mean"):
    """The mean of a chunk, from the share's reducer or from another member that holds it."""

    bulk: ClassVar[bool] = True

    round: RoundId
    share: Index
    version: Version
    chunk: Chunk
    contributors: Bits
    """Members whose parts are in it."""
    payload: memoryview
    scaled: Bits = b""
    """Those of them whose parts its reducer has scaled down, for their own notice: a reducer that lies makes a member
    read a wrong sentence, and nothing else follows."""
    radius: Radius = 0.0


class Order(Message, frozen=True, tag="averaging.order"):
    """From the coordinator, on every change and as its heartbeat: the round as it stands."""

    round: RoundId
    versions: Versions
    reducers: Reducers
    live: Bits
    """Members that are in."""
    nonces: Nonces = ()
    """Prepare: all means are there, these make the key, now vote.  Empty before."""
    holders: Bits = b""
    """Members that hold all means: others that lack some ask them for retransmission."""
    fingerprints: Fingerprints = ()
    """Repair: the coordinator's vote under these nonces.  A member that has voted otherwise on some shares gives their
    means up, and asks the coordinator for them."""


class Status(Message, frozen=True, tag="averaging.status"):
    """To the coordinator: where a member stands.  Answer to each Order, and sent unasked when that changes."""

    round: RoundId
    versions: Versions
    reducers: Reducers
    stalled: Bits = b""
    """Shares of these versions whose reducer is gone, or gives the sender no means."""
    nonce: Nonce = b""
    """The sender's nonce for these versions, told once it holds all means; empty before, and from a helper."""
    nonces: Nonces = ()
    """Nonces under which the sender has voted."""
    fingerprints: Fingerprints = ()
    """The vote: what the sender's means are (`commit.fingerprints`)."""
    sums: Sums = b""
    """The sums of the sender's parts, for each share (`commit.sums`); empty where means are not proven."""
    signature: Signature = b""
    """The sender has signed its vote and its sums."""
    made: Annotated[tuple[tuple[Index, Sums], ...], Meta(max_length=REMADE_MAX)] = ()
    """Each share that the sender has made, and what the sums of every member in it should be."""


class Commit(Message, frozen=True, tag="averaging.commit"):
    """From the coordinator: all members that are in hold the same means; the round is done."""

    round: RoundId
    versions: Versions
    nonces: Nonces
    fingerprints: Fingerprints
    """The vote of all members."""
    present: Annotated[tuple[Numel, ...], Meta(max_length=GROUP_MAX)]
    """For each member the number of chunks of the mean that hold its part: helpers cannot count them."""
    told: Annotated[tuple[tuple[Sums, Signature], ...], Meta(max_length=PROVEN_MAX)] = ()
    """Each member's sums and its signature of them: empty for members that are out or need no mean."""


class Leaving(Message, frozen=True, tag="averaging.leaving"):
    """To all members: the sender has left the round."""

    round: RoundId


ROUND_MESSAGES: Final = (Open, Part, Mean, Order, Status, Commit, Leaving)
RoundMessage = Open | Part | Mean | Order | Status | Commit | Leaving
