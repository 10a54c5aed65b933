"""What peers say to find a group (`GROUP_MESSAGES`) and inside a round (`ROUND_MESSAGES`).

A round's words carry its id, and a set of members is a row of bits in the plan's order: a few bytes name any set.
"""

from typing import Annotated, ClassVar, Final, Literal

from msgspec import Meta

from core.base.ids import KEY_BYTES, PEER_ID_BYTES
from core.base.wire import Message

GROUP_MAX: Final = 256
"""Members of one group at most."""
NONCE_BITS: Final = 62
ATTEMPT_MAX: Final = 10_000
SHARE_CHUNKS_MAX: Final = 1 << 24
SALT_BYTES: Final = 8
SEAL_BYTES: Final = 16
SAMPLES_MAX: Final = 1 << 40
VERSION_MAX: Final = 1 << 31

RoundId = Annotated[bytes, Meta(min_length=KEY_BYTES, max_length=KEY_BYTES)]
Lineage = Annotated[bytes, Meta(min_length=32, max_length=32)]
Peer = Annotated[bytes, Meta(min_length=PEER_ID_BYTES, max_length=PEER_ID_BYTES)]
Epoch = Annotated[int, Meta(ge=0, lt=1 << 48)]
Attempt = Annotated[int, Meta(ge=0, le=ATTEMPT_MAX)]
Samples = Annotated[int, Meta(ge=0, le=SAMPLES_MAX)]
SamplesPerS = Annotated[float, Meta(ge=0, le=1e12)]
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
Salt = Annotated[bytes, Meta(max_length=SALT_BYTES)]
Salts = Annotated[tuple[Salt, ...], Meta(max_length=GROUP_MAX)]
"""One for each member, empty for those who gave none; no entry at all: the round is not that far."""
Seals = Annotated[tuple[Annotated[bytes, Meta(max_length=SEAL_BYTES)], ...], Meta(max_length=GROUP_MAX)]
"""One for each share, empty for a share of which no means are held."""


def to_bits(members: int) -> bytes:
    """A set of members, held as the bits of an integer, for the wire."""
    return members.to_bytes((members.bit_length() + 7) // 8, "little")


def from_bits(bits: bytes) -> int:
    """The integer again."""
    return int.from_bytes(bits, "little")


# --- finding a group -------------------------------------------------------------------------------------------------


class Wanted(Message, frozen=True, tag="averaging.wanted"):
    """To the leader of an attempt: the target batch is reached as I see it; please call."""

    epoch: Epoch
    lineage: Lineage
    attempt: Attempt


class Call(Message, frozen=True, tag="averaging.call"):
    """From a leader: who stands here, contribute to a round."""

    epoch: Epoch
    lineage: Lineage
    attempt: Attempt
    nonce: Annotated[int, Meta(ge=0, lt=1 << NONCE_BITS)]
    """Makes the round's id unique, even when its leader has forgotten the attempts before it."""
    numel: Numel = 0
    """Numbers in the vector; a helper without a model cannot know."""


class Ready(Message, frozen=True, tag="averaging.ready"):
    """Answer to a Call: my contribution stands still and waits."""

    round: RoundId
    samples: Samples
    loss: Annotated[float, Meta(ge=-1e30, le=1e30)]
    """Mean training loss over these samples."""
    reduces: bool = True
    """False: others reach me only through relays, so I would rather be given no share to reduce (client mode)."""
    receives: bool = True
    """False: I have no model, so I need no mean (a helper)."""
    samples_per_s: SamplesPerS = 0.0
    """What I compute; 0: I do not know."""


class Declined(Message, frozen=True, tag="averaging.declined"):
    """Answer to a Wanted or a Call: not with me.

    `elsewhere`: my state is (epoch, lineage).  `busy`: I am promised to another round.  `away`: I do not take part now.
    """

    epoch: Epoch
    lineage: Lineage
    attempt: Attempt
    """Of what is declined."""
    reason: Literal["elsewhere", "busy", "away"]


class Cancelled(Message, frozen=True, tag="averaging.cancelled"):
    """From a leader: this round will have no plan."""

    round: RoundId
    silent: Annotated[tuple[Peer, ...], Meta(max_length=GROUP_MAX)] = ()
    """Who was called and did not answer: perhaps they have gone, and their samples with them."""
    samples: Samples | None = None
    """Too few to be worth a step: what those who were ready brought together."""


class Refused(Message, frozen=True, tag="averaging.refused"):
    """To the leader and the members: this plan is bad, so I do not follow it, nor should you."""

    round: RoundId


# --- a round ---------------------------------------------------------------------------------------------------------


class Open(Message, frozen=True, tag="averaging.open"):
    """I am here, and reduce these versions of these shares; their parts are welcome."""

    round: RoundId
    plan: Digest
    """Of the plan that I go by."""
    shares: Annotated[tuple[tuple[Index, Version], ...], Meta(max_length=GROUP_MAX)]


class Part(Message, frozen=True, tag="averaging.part"):
    """A chunk of my contribution, for the share's reducer; at the same time the request for that chunk's mean.

    The payload is empty when the contribution has no samples.
    """

    bulk: ClassVar[bool] = True
    together: ClassVar[bool] = True

    round: RoundId
    share: Index
    version: Version
    chunk: Chunk
    payload: memoryview


class Mean(Message, frozen=True, tag="averaging.mean"):
    """The mean of a chunk, from the share's reducer."""

    bulk: ClassVar[bool] = True
    together: ClassVar[bool] = True

    round: RoundId
    share: Index
    version: Version
    chunk: Chunk
    contributors: Bits
    """Whose parts are in it."""
    payload: memoryview


class Tally(Message, frozen=True, tag="averaging.tally"):
    """To a member that needs no mean, from the share's reducer: all its means are made."""

    round: RoundId
    share: Index
    version: Version
    present: Annotated[tuple[Chunk, ...], Meta(max_length=GROUP_MAX)]
    """For each member how many of the means hold a part of it."""


class Stalled(Message, frozen=True, tag="averaging.stalled"):
    """To the leader: I get no means of this version of the share."""

    round: RoundId
    share: Index
    version: Version


class Order(Message, frozen=True, tag="averaging.order"):
    """From the leader, on every change and as its heartbeat: who reduces what now, and who is still in."""

    round: RoundId
    rank: Index
    """The leader's place in the plan's order of leaders; a higher one takes precedence."""
    number: Annotated[int, Meta(ge=0, le=VERSION_MAX)]
    """Counts this leader's orders, so that an old one cannot undo a new one."""
    settled: bool
    """False: I have just taken over and do not know the versions yet; tell me your Status."""
    versions: Versions
    reducers: Reducers
    live: Bits
    salts: Salts = ()
    """Everybody is complete: these make the key, now tell me your seals."""
    urged: Bits = b""
    """Most are complete: these are to say now of whom they lack means, and get them from others."""


class Status(Message, frozen=True, tag="averaging.status"):
    """To the leader: where I stand.  Answer to each Order, and sent unasked when my result is complete."""

    round: RoundId
    rank: Index
    """Of the leader that I follow."""
    versions: Versions
    reducers: Reducers
    live: Bits
    """Who is in, by the orders that I have followed."""
    complete: bool
    committed: bool
    """I hold a Commit for these versions."""
    lacking: Annotated[int, Meta(ge=0, lt=1 << 40)] = 0
    """How many means have not come yet."""
    salt: Salt = b""
    """Mine for these versions, told no sooner than they are complete."""
    salts: Salts = ()
    """Under which these seals were made."""
    seals: Seals = ()
    """Of the means that I hold: see `topologies.sealing`."""


class Commit(Message, frozen=True, tag="averaging.commit"):
    """From the leader: everybody who is in holds the same means, complete; the round is done."""

    round: RoundId
    rank: Index
    versions: Versions
    salts: Salts = ()
    seals: Seals = ()
    """What everybody has said its means to be."""


class Leaving(Message, frozen=True, tag="averaging.leaving"):
    """To all members: go on without me."""

    round: RoundId


ROUND_MESSAGES: Final = (Open, Part, Mean, Tally, Stalled, Order, Status, Commit, Leaving)
RoundMessage = Open | Part | Mean | Tally | Stalled | Order | Status | Commit | Leaving
