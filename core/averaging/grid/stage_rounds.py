"""The butterflies of one grid that one member takes part in, at the same time or one after the other."""

from dataclasses import replace
from typing import Final

from core.averaging.allreduce.vectors import RoundInput, Vector
from core.averaging.butterfly import Butterfly, Outputs
from core.averaging.commit.messages import RoundMessage
from core.averaging.penalties.observed import Remembered
from core.averaging.plan import Plan
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, earliest
from core.base.trace import Trace

STAND_INS_MAX: Final = 2
"""Number of other groups in which a member stands in at a time; each takes room for another vector."""


class StageRounds:
    """Starts butterflies, and passes each event to those that it concerns.  Their events name their rounds.

    A member stands in for others in the butterflies of at most `STAND_INS_MAX` other groups at a time.

    Args:
        me: This member.
        work: How numbers travel and are averaged.
        trace: Counts misuse and incidents.
        secret: Bytes that no other member can guess.
        remembered: With which members this one has less patience.
    """

    def __init__(self, me: PeerId, work: RoundInput, trace: Trace, secret: bytes, remembered: Remembered) -> None:
        self._me = me
        self._work = work
        self._trace = trace
        self._secret = secret
        self._remembered = remembered
        self._rounds: dict[bytes, Butterfly] = {}
        self._visits: list[bytes] = []
        self.lost: set[PeerId] = set()
        """Peers whose link has ended, and that have not been heard since."""

    def start(self, plan: Plan, vectors: tuple[Vector, Vector], now: float, *, visit: bool = False) -> Outputs:
        """Begin a butterfly.

        Args:
            plan: Its plan.
            vectors: What this member contributes, and where the mean is to be; shape (numel,).
            now: Unix seconds.
            visit: Whether it stands in for another; then there must be room.
        """
        if visit:
            over = [round_id for round_id in self._visits if self._is_over(round_id)]
            for round_id in over:
                self.drop(round_id)
            self._visits = [*(round_id for round_id in self._visits if round_id not in over), plan.round]
        contribution, result = vectors
        butterfly = Butterfly(
            self._me,
            plan,
            replace(self._work, contribution=contribution, result=result),
            trace=self._trace,
            secret=self._secret,
            remembered=self._remembered.among(plan.peers),
        )
        self._rounds[plan.round] = butterfly
        outputs = butterfly.start(now)
        for peer in plan.peers:
            if peer in self.lost:
                outputs += butterfly.handle(Lost(peer, "lost before"), now)
        return outputs

    def drop(self, round_id: bytes) -> None:
        """Forget a butterfly: it answers no more."""
        self._rounds.pop(round_id, None)

    def leave(self, now: float) -> Outputs:
        """Leave and forget all of them."""
        outputs = [output for butterfly in self._rounds.values() for output in butterfly.leave(now)]
        self._rounds = {}
        return [output for output in outputs if isinstance(output, Send)]

    def handle(self, event: Received[RoundMessage] | Tick | Lost, now: float) -> Outputs:
        """Advance those butterflies that an event concerns."""
        if isinstance(event, Received):
            return self._rounds[event.message.round].handle(event, now)
        if isinstance(event, Lost):
            self.lost.add(event.peer)
        outputs: Outputs = []
        for butterfly in list(self._rounds.values()):
            if isinstance(event, Lost) or (butterfly.deadline is not None and butterfly.deadline <= now):
                outputs += butterfly.handle(event, now)
        return outputs

    def concerns(self, round_id: bytes) -> bool:
        """Whether one of them has this id."""
        return round_id in self._rounds

    @property
    def has_room(self) -> bool:
        """Whether this member can stand in once more."""
        return sum(not self._is_over(round_id) for round_id in self._visits) < STAND_INS_MAX

    @property
    def deadline(self) -> float | None:
        """When to be woken with a Tick, unix seconds."""
        return earliest(*(butterfly.deadline for butterfly in self._rounds.values()))

    @property
    def open_chunks(self) -> int:
        """Number of chunks that wait for parts here."""
        return sum(butterfly.open_chunks for butterfly in self._rounds.values())

    def _is_over(self, round_id: bytes) -> bool:
        """Whether this butterfly has ended for this member, and at most answers."""
        return round_id not in self._rounds or self._rounds[round_id].deadline is None
