"""What peers say to find the group of a round."""

from typing import Annotated, Final, Literal

from msgspec import Meta

from core.averaging.messages import (
    GROUP_MAX,
    NONCE_BITS,
    Attempt,
    Epoch,
    Lineage,
    Numel,
    Peer,
    RoundId,
    Samples,
)
from core.averaging.plan import Member, Plan
from core.base.wire import Message


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
    member: Member
    """The sender's row of the plan: what it brings and which roles it takes."""


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


GROUP_MESSAGES: Final = (Wanted, Call, Ready, Declined, Cancelled, Plan, Refused)
GroupMessage = Wanted | Call | Ready | Declined | Cancelled | Plan | Refused
