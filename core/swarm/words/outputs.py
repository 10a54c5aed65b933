"""All that a participant and its parts say: messages, orders to the trainer, news, and events between its parts."""

from core.averaging.matchmaking import Elsewhere, Silent
from core.averaging.matchmaking import Event as GroupEvent
from core.averaging.outcome import RoundFailed, RoundFinished
from core.averaging.receipts.exchange import Receipted
from core.base.machine import Send
from core.base.wire import Message
from core.dht.events import DhtEvent
from core.nat.circuits import CircuitsOutput
from core.swarm.words.fetched import CaughtUp, Downloaded
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
    TrainerOrder,
    WorkNotKept,
)
from core.swarm.words.round_events import Asked, Committed, Formed, Missed

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
