"""All that a participant and its parts say: messages, orders to the trainer, news, and events between its parts."""

from dataclasses import dataclass
from typing import Any, Generic, Self, TypeVar

from core.averaging.allreduce.share_map import untaken_of
from core.averaging.matchmaking import Elsewhere, Silent
from core.averaging.matchmaking import Event as GroupEvent
from core.averaging.outcome import RoundFailed, RoundFinished
from core.averaging.plan import Plan
from core.averaging.receipts.exchange import Receipted
from core.base.machine import Send
from core.base.problems import Problem
from core.base.state_header import StateHeader
from core.base.wire import Message
from core.base.work import Untaken
from core.dht.events import DhtEvent
from core.nat.circuits import CircuitsOutput
from core.swarm.words.orders import (
    Changed,
    ContributionCut,
    CopyFailed,
    HeldoutLearned,
    Keep,
    KeyElsewhere,
    LedgerRead,
    RoundLost,
    RoundRecord,
    StateNotTaken,
    TrainerOrder,
    WorkNotKept,
)
from core.swarm.words.states import StateName

N = TypeVar("N")
"""Name of a file: of a state, or of a shard."""


@dataclass(frozen=True, slots=True)
class Fetching:
    """How much of a download is here, in chunks."""

    done: int
    total: int


@dataclass(frozen=True, slots=True)
class Fetched(Generic[N]):
    """The whole file is here and its digest holds."""

    name: N
    location: str


@dataclass(frozen=True, slots=True)
class FetchFailed(Generic[N]):
    """Nobody could give it; the owner may choose another file or other donors and try again."""

    name: N
    reason: str
    too_large: bool = False
    """Whether the file has more bytes than it may have."""
    problem: Problem | None = None
    """What this computer's disk refused; None: it is of others' doing."""


@dataclass(frozen=True, slots=True)
class MeansMissing:
    """The means cannot be had, or do not lead from the own state to the other."""

    owed: bool
    """Whether a donor has promised the state and has not given what leads to it."""


@dataclass(frozen=True, slots=True)
class StateFetched:
    """A newer state is on the disk, verified: the trainer may load it; `arrived` or `refused` follows."""

    name: StateName
    location: str


@dataclass(frozen=True, slots=True)
class MeansFetched:
    """All means of the steps to a state are on the disk: the trainer may take them."""

    name: StateName
    header: StateHeader
    digest: bytes
    """Root digest of the state's file."""
    locations: tuple[str, ...]
    """In the order of the steps."""


@dataclass(frozen=True, slots=True)
class CatchUpFailed:
    """Nobody could give the state, or it could not be written down; `due` says when to look again."""

    reason: str
    problem: Problem | None = None
    """As for `FetchFailed`."""


CaughtUp = StateFetched | MeansFetched | CatchUpFailed
"""What becomes of a newer state."""
Downloaded = Fetching | Fetched[Any] | FetchFailed[Any] | MeansMissing
"""What a download reports to the part that wanted it."""


@dataclass(frozen=True, slots=True)
class Asked:
    """Write the contribution down, then `offer` it."""

    round: bytes


@dataclass(frozen=True, slots=True)
class Formed:
    """The group stands, the round has begun."""

    plan: Plan


@dataclass(frozen=True, slots=True)
class Missed:
    """The round, or the search for its group, failed: the contribution is free again."""

    round: bytes
    reason: str
    samples: int | None
    """What the group would have brought together, when that was too little for a step."""


@dataclass(frozen=True, slots=True)
class Committed:
    """The mean is in its vector and may be absorbed."""

    round: bytes
    before: StateName
    """The state that all its members held."""
    record: RoundRecord
    gives: bool = True
    """Whether the plan took any of this peer's contribution."""
    untaken: Untaken | None = None
    """What it did not take of it."""

    @classmethod
    def of(cls, plan: Plan, member: int, record: RoundRecord) -> Self:
        """What the round of a plan came to for one of its members."""
        before, gives = StateName(plan.epoch, plan.lineage), plan.portion(member) > 0
        return cls(plan.round, before, record, gives=gives, untaken=untaken_of(plan, member))


RoundEvent = Asked | Formed | Missed | Committed
"""What rounds report to those who drive the trainer."""
News = (
    Changed
    | ContributionCut
    | CopyFailed
    | HeldoutLearned
    | Keep
    | KeyElsewhere
    | LedgerRead
    | Receipted
    | RoundLost
    | RoundRecord
    | StateNotTaken
    | WorkNotKept
)
"""What a participant's owner is told."""
Output = (
    Send[Message]
    | TrainerOrder
    | News
    | RoundEvent
    | CaughtUp
    | Downloaded
    | DhtEvent
    | CircuitsOutput
    | Elsewhere
    | Silent
)
"""Events between the parts of a participant stay inside; the rest goes to its owner."""
RoundsOutput = Output | GroupEvent | RoundFinished | RoundFailed
"""What the matchmaker, a round and the receipts say to `Rounds`, which makes outputs of it."""
