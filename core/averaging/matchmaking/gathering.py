"""The two things a matchmaker may be in: a round that it gathers, or one that it is promised to."""

import math
from dataclasses import dataclass, field

from core.averaging.messages import GROUP_MAX, Ready
from core.averaging.plan import Member
from core.base.ids import PeerId


@dataclass(slots=True)
class Gathering:
    """A round that I lead."""

    round: bytes
    attempt: int
    nonce: int
    until: float
    """When it goes on without those who have not answered, unix seconds."""
    waiting: set[PeerId] = field(default_factory=set)
    hoped_for: set[PeerId] = field(default_factory=set)
    """Called, but lost lately: welcome in time, not waited for."""
    helpers: set[PeerId] = field(default_factory=set)
    """Called only to reduce for the others: waited for a moment, no longer."""
    helped_by: float = 0.0
    """When it goes on without helpers that have not answered, unix seconds."""
    ready: dict[PeerId, Member] = field(default_factory=dict)
    busy: set[PeerId] = field(default_factory=set)
    """Who was awaited and declined because it is promised to another round."""
    uninvited: set[PeerId] = field(default_factory=set)
    """Who has declined without being awaited: not called again."""

    def knows(self, peer: PeerId) -> bool:
        """Whether `peer` has been called, and has not declined."""
        return peer in self.others

    @property
    def others(self) -> set[PeerId]:
        """Everybody who has been called and has not declined; the leader too, once it is ready."""
        return self.waiting | self.hoped_for | self.helpers | self.ready.keys()

    @property
    def room(self) -> int:
        """How many more may be called; one place is the leader's, and who asked for a call and declined keeps his."""
        return max(0, GROUP_MAX - len(self.others) - len(self.uninvited) - 1)

    def complete(self, leader: PeerId, now: float) -> bool:
        """Whether there is nobody left to wait for."""
        return not self.waiting and leader in self.ready and (not self.helpers or now >= self.helped_by)

    def deadline(self, leader: PeerId) -> float:
        """When it goes on without some of those who have not answered."""
        only_helpers = self.helpers and not self.waiting and leader in self.ready
        return min(self.until, self.helped_by) if only_helpers else self.until

    def answer(self, peer: PeerId, message: Ready) -> bool:
        """`peer` is ready; False when nobody asked it, a number is none, or a helper brings samples."""
        numbers = math.isfinite(message.loss) and math.isfinite(message.samples_per_s)
        if peer not in self.waiting | self.hoped_for | self.helpers or not numbers:
            return False
        if peer in self.helpers and message.samples:
            return False
        self.without(peer)
        self.ready[peer] = Member(
            peer, message.samples, message.loss, message.reduces, message.receives, message.samples_per_s
        )
        return True

    def decline(self, peer: PeerId, *, busy: bool) -> None:
        """`peer` says no.  Only of those who are awaited it matters why: anybody can ask for a call, and decline it."""
        if busy and peer in self.waiting:
            self.busy.add(peer)
        elif peer in self.hoped_for and len(self.uninvited) < GROUP_MAX:
            self.uninvited.add(peer)
        self.without(peer)

    def without(self, peer: PeerId) -> None:
        """Do not count on `peer`."""
        self.waiting.discard(peer)
        self.hoped_for.discard(peer)
        self.helpers.discard(peer)
        self.ready.pop(peer, None)

    def obstacle(self, leader: PeerId) -> str | None:
        """Why no plan is to be made of this, if so."""
        if leader not in self.ready:
            return "this computer's own contribution came too late"
        if len(self.busy) >= sum(member.receives for member in self.ready.values()):
            return "the others are in another round"
        return None


@dataclass(slots=True)
class Promise:
    """A call that I follow."""

    round: bytes
    leader: PeerId
    attempt: int
    until: float
    """When the plan is given up, unix seconds."""
    mine: Member | None = None
    """What was offered; None until then."""
    numel: int = 0
    """Numbers in the vector, as the call says."""
    refused: bool = False
    """Others have refused its plan: if it does not come, that is not its leader's fault."""
