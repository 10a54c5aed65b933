"""Finding the group of a round: a leader calls, collects contributions and publishes a plan; its members check it.

Its messages, its events and all numbers that it goes by stand here.  T is the manifest's `gather_timeout_s`, how long a
leader waits for contributions.  Figures are those of `docs/decisions/0010`.
"""

from dataclasses import dataclass
from typing import Annotated, Final, Literal

from msgspec import Meta

from core.averaging.messages import GROUP_MAX, NONCE_BITS, Attempt, Lineage, Numel, Peer, RoundId
from core.averaging.plan import Member, Plan
from core.base.bounds import Epoch, Samples
from core.base.ids import PeerId
from core.base.wire import Message

# --- waiting

CALL_PATIENCE: Final = (0.5, 0.75)
"""Parts of T between which is drawn when a silent leader is passed over: members do not all ask at once.  Its call is
due after one round trip, at most 0.5 s.  For its plan a member waits the lesser part longer than the leader does for
answers, which is T."""
HELPERS_S: Final = 0.25
"""Seconds for which a leader waits for helpers alone: they have nothing to write down, so one round trip is enough."""
HELPERS_MAX: Final = 16
"""Upper bound on the helpers that a leader calls: more reducers make no round shorter (decision 0007)."""

SILENT_MAX: Final = 2000
"""Number of peers from which on it is forgotten which of them did not answer a call."""

# --- peers that are left alone after failures

EXCLUDED_S: Final = 2.0
"""Seconds for which a first failure excludes a peer.  Each further one doubles them."""
EXCLUDED_MAX_S: Final = 32.0
"""Upper bound on an exclusion, and time without a failure after which one is forgotten, seconds.  Without exclusions a
leader that never plans costs 0.92 of all time."""
PLAIN_AFTER: Final = 4
"""Number of refused plans and failed rounds in one state after which a leader makes plain plans: equal shares, which
no member refuses.  It counts only those that it was in itself."""

FAULTY_PART: Final = 3
"""Fewer than one in so many members may be the ones that are wrong: more that refuse a plan are believed, and of those
that would reduce a plan may spare as many, or one where they are few."""

# --- dividing a round, and checking how it was divided

BROUGHT_FACTOR: Final = 2.0
"""Times what its samples speak for that a member's word about its speed is believed."""
SLOWEST_PER_S: Final = 1e-6
"""Samples a second that a member computes at least: one in eleven days."""
SHARE_CHUNKS: Final = 32
"""Number of chunks that an average share has at least where links send at the plan's rates.  The last one is on its
way twice, as a part and as a mean: 8 members at 20 to 80 Mbit/s take 1.20 plans with 9 chunks, 1.08 with 34."""
OWN_FACTOR: Final = 1.5
"""Times what a member has told of its own line that a plan may count on: a leader may not have heard the newest."""
OTHERS_FACTOR: Final = 6.0
"""Times more or less than a member believes that a plan may count on another's line: not all have heard the same."""
SLOWER_TOLERANCE: Final = 0.05
"""Part by which a plan's round may be longer than the checking member's own for the same lines: solvers differ."""


def spared_most(able: int) -> int:
    """Number of members that a plan may give no share, of so many that would reduce."""
    return 0 if able < 2 else max(1, able // FAULTY_PART)


# --- what peers say to each other


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
    """The attempt that is declined."""
    reason: Literal["elsewhere", "busy", "away"]

    def goes_on(self, epoch: int) -> bool:
        """Whether its sender is in another round at this epoch's state, or beyond it."""
        return self.reason == "busy" or (self.reason == "elsewhere" and self.epoch > epoch)


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


# --- what a matchmaker reports to its owner


@dataclass(frozen=True, slots=True)
class ContributionWanted:
    """The worker's contribution is to stand still, and to be offered.  Replaces an earlier wish."""

    round: bytes


@dataclass(frozen=True, slots=True)
class GroupFormed:
    """The round of this plan begins."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class GroupFailed:
    """This round will not be: the contribution may be released.

    The search goes on by itself, unless `samples` tells that the target is not reached after all.
    """

    round: bytes
    reason: str
    samples: int | None = None
    """What those that were ready brought together, when that was too little."""


@dataclass(frozen=True, slots=True)
class PlanRefused:
    """The plan of a round that was formed is bad: leave the round.  The search goes on, with the same contribution."""

    round: bytes


@dataclass(frozen=True, slots=True)
class MemberRefused:
    """A member does not follow the plan of a round that was formed, and the others go on without it."""

    round: bytes
    peer: PeerId


@dataclass(frozen=True, slots=True)
class Elsewhere:
    """A peer stands at another state than was known."""

    peer: PeerId
    epoch: int
    lineage: bytes


@dataclass(frozen=True, slots=True)
class Silent:
    """These candidates did not answer a call in time: they may be gone, and their samples with them."""

    peers: tuple[PeerId, ...]


Event = ContributionWanted | GroupFormed | GroupFailed | PlanRefused | MemberRefused | Elsewhere | Silent
