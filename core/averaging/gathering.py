"""The two things a matchmaker may be in: a round that it gathers, or one that it is promised to."""

import math
from dataclasses import dataclass, field

from core.averaging.messages import GROUP_MAX, Ready
from core.averaging.plan import Member, Terms
from core.base.ids import PeerId
from core.base.manifest import AveragingNumbers


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
    ready: dict[PeerId, Member] = field(default_factory=dict)
    busy: int = 0
    """How many declined because they are promised to another round."""

    def knows(self, peer: PeerId) -> bool:
        """Whether `peer` has been called, and has not declined."""
        return peer in self.waiting or peer in self.ready or peer in self.hoped_for

    @property
    def others(self) -> set[PeerId]:
        """Everybody who has been called and has not declined; the leader too, once it is ready."""
        return self.waiting | self.hoped_for | self.ready.keys()

    @property
    def room(self) -> int:
        """How many more may be called; one place is the leader's."""
        return max(0, GROUP_MAX - len(self.others) - 1)

    def answer(self, peer: PeerId, message: Ready) -> bool:
        """`peer` is ready; False when nobody asked it, or its loss is no number."""
        if peer not in self.waiting | self.hoped_for or not math.isfinite(message.loss):
            return False
        self.without(peer)
        self.ready[peer] = Member(peer, message.samples, message.loss, message.reduces)
        return True

    def without(self, peer: PeerId) -> None:
        """Do not count on `peer`."""
        self.waiting.discard(peer)
        self.hoped_for.discard(peer)
        self.ready.pop(peer, None)

    def obstacle(self, leader: PeerId) -> str | None:
        """Why no plan is to be made of this, if so."""
        if leader not in self.ready:
            return "this computer's own contribution came too late"
        if self.busy >= len(self.ready):
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
    samples: int | None = None
    """What was offered; None until then."""

    def terms(self, me: PeerId, state: tuple[int, bytes], *, numel: int, topology: str, of: AveragingNumbers) -> Terms:
        """What the plan must say."""
        return Terms(
            round=self.round,
            epoch=state[0],
            lineage=state[1],
            me=me,
            samples=-1 if self.samples is None else self.samples,
            numel=numel,
            chunk_numel=of.chunk_numel,
            codec=of.codec,
            topology=topology,
            stall_timeout_s=of.stall_timeout_s,
            round_timeout_s=of.round_timeout_s,
        )
