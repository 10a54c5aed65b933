"""What the members of a round and its coordinator say to each other to end it (`commit.phases`)."""

from typing import Annotated, Final

from msgspec import Meta

from core.averaging.messages import (
    GROUP_MAX,
    Bits,
    Fingerprints,
    Index,
    Mean,
    Nonce,
    Nonces,
    Numel,
    Open,
    Part,
    Reducers,
    RoundId,
    Versions,
)
from core.base.wire import Message


class Order(Message, frozen=True, tag="averaging.order"):
    """From the coordinator, on every change and as its heartbeat: the round as it stands."""

    round: RoundId
    rank: Index
    """The coordinator's place in the plan's order; a higher rank has taken over from a lower one."""
    versions: Versions
    reducers: Reducers
    live: Bits
    """Members that are in."""
    nonces: Nonces = ()
    """Prepare: all means are there, these make the key, now vote.  Empty before."""
    holders: Bits = b""
    """Members that hold all means: others that lack some ask them for retransmission."""


class Status(Message, frozen=True, tag="averaging.status"):
    """To the coordinator: where a member stands.  Answer to each Order, and sent unasked when that changes."""

    round: RoundId
    versions: Versions
    reducers: Reducers
    live: Bits
    """Members that are in, by the orders that the sender has followed."""
    complete: bool
    """All means of these versions are here; of a helper: all that it makes are made."""
    stalled: Bits = b""
    """Shares of these versions whose reducer is gone, or gives the sender no means."""
    nonce: Nonce = b""
    """Of the sender for these versions, told no sooner than they are complete."""
    nonces: Nonces = ()
    """Under which the sender has voted."""
    fingerprints: Fingerprints = ()
    """The vote: what the sender's means are (`commit.fingerprints`)."""


class Commit(Message, frozen=True, tag="averaging.commit"):
    """From the coordinator: all members that are in hold the same means; the round is done."""

    round: RoundId
    rank: Index
    versions: Versions
    nonces: Nonces
    fingerprints: Fingerprints
    """The vote of all members."""
    present: Annotated[tuple[Numel, ...], Meta(max_length=GROUP_MAX)]
    """For each member the number of chunks of the mean that hold its part: helpers cannot count them."""


class Leaving(Message, frozen=True, tag="averaging.leaving"):
    """To all members: the sender has left the round."""

    round: RoundId


ROUND_MESSAGES: Final = (Open, Part, Mean, Order, Status, Commit, Leaving)
RoundMessage = Open | Part | Mean | Order | Status | Commit | Leaving
