"""How the peers of one group come together for a stage: who is here, who is gone, and who stands in for whom."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Final

from core.averaging.grid.messages import (
    Arrived,
    GridMessage,
    Holding,
    StageMember,
    StagePlan,
    StandIn,
)
from core.averaging.grid.placement import Group
from core.base.machine import earliest

HEARTBEATS: Final = 3.0
"""Words to each member in one stall timeout."""
PATIENCE_LEFT: Final = 0.2
"""Part of the stall timeout that is left to one who has just let the others wait."""
LEAP: Final = 4
"""How many attempts ahead of our own another's count is believed."""
DECIDES_IN: Final = 3.0
"""Stall timeouts after which one that should decide, and does not, is passed over: it may be looking for stand-ins."""

To = list[tuple[int, GridMessage]]
"""Messages, with the place in the plan of whom they go to."""


@dataclass(slots=True)
class Convening:
    """One peer's view of its group before a stage.  Everybody tells everybody that it has arrived; one of them decides.

    That is the first in the group's order who is not gone.  It waits for all who are still underway; whoever is lost,
    has left or is silent for the stall timeout is gone.  Where a block has nobody left in the group, others of the same
    block are asked to stand in, one after the other.  A block whose peers are all gone is left out.

    Args:
        round_id: Of the whole round.
        stage: Number of the stage, from 1.
        number: Number of the group in it.
        group: Its members.
        me: My place in the plan.
        holding: What I hold.
        stall_timeout_s: After how long a silent peer is gone.
    """

    round_id: bytes
    stage: int
    number: int
    group: Group
    me: int
    holding: Holding
    stall_timeout_s: float
    attempt: int = 0
    called: StagePlan | None = None
    """The attempt that is under way; None while the group gathers."""
    unfit: set[int] = field(default_factory=set)
    """Whose parts did not all come in an attempt before: others of their blocks give, if there are any."""
    doubted: set[int] = field(default_factory=set)
    """Who did not come to the end of the stage before, as others say."""
    _holdings: dict[int, Holding] = field(default_factory=dict)
    _heard_at: dict[int, float] = field(default_factory=dict)
    _asked: dict[int, int] = field(default_factory=dict)
    _unable: set[int] = field(default_factory=set)
    _silent: set[int] = field(default_factory=set)
    _beat_at: float = 0.0
    _complete_since: float | None = None

    def begin(self, attempt: int, now: float) -> To:
        """Gather for this attempt; what was heard for an earlier one is void."""
        self.attempt = attempt
        self.called = None
        self._holdings = {self.me: self.holding}
        self._heard_at = dict.fromkeys(self.group.members, now)
        self._asked = {}
        self._silent = set()
        self._complete_since = None
        return self._tell(self.group.members, now)

    def heard(self, member: int, now: float) -> None:
        """`member` lives."""
        self._heard_at[member] = now
        self._silent.discard(member)

    def arrived(self, member: int, word: Arrived, now: float) -> To:
        """`member` is here; a later attempt of its makes us go on to it too."""
        later = self.attempt < word.attempt <= self.attempt + LEAP
        outputs = self.begin(word.attempt, now) if later else []
        self.heard(member, now)
        invited = member in self.group.members or member in self._asked.values()
        if invited and word.attempt == self.attempt:
            self._holdings[member] = word.holding
        return outputs

    def unable(self, member: int) -> None:
        """`member` cannot stand in."""
        self._unable.add(member)

    def tick(self, gone: int, now: float) -> To:
        """Notice who is silent, or does not decide, and send heartbeats."""
        self._silent.update(m for m in self._awaited() if self._silent_at(m) <= now)
        if self._complete_since is not None and self._complete_since + DECIDES_IN * self.stall_timeout_s <= now:
            self._unable.update({self.first(gone)} - {self.me})
            self._complete_since = None
        if now < self._beat_at:
            return []
        return self._tell(self.group.members, now) + [(m, self._ask()) for m in sorted(set(self._asked.values()))]

    @property
    def deadline(self) -> float | None:
        """When a heartbeat is due, or a silent peer's patience ends."""
        silent = min((self._silent_at(m) for m in self._awaited()), default=None)
        waits = None if self._complete_since is None else self._complete_since + DECIDES_IN * self.stall_timeout_s
        return earliest(self._beat_at, silent, waits)

    def first(self, gone: int) -> int:
        """Who is to say who takes part."""
        return next(m for m in self.group.members if m == self.me or not self._absent(m, gone))

    def may_decide(self, member: int, gone: int, now: float) -> bool:
        """Whether `member` may say who takes part: all before it are gone, or silent for a while, or do not decide.

        Others may have waited a little longer than I have, so half of my patience is enough.
        """
        slack_s = self.stall_timeout_s / 2
        since = self._complete_since
        overdue = since is not None and since + DECIDES_IN * self.stall_timeout_s <= now + slack_s
        for other in self.group.members:
            if other == member:
                return True
            if other == self.me:
                return False
            if self._absent(other, gone) or now >= self._silent_at(other) - slack_s:
                continue
            if not overdue:
                return False
            overdue = False
        return False

    def settle(self, gone: int, now: float) -> tuple[To, tuple[StageMember, ...] | None]:
        """Decide, if it is up to me and can be decided yet: who takes part; else None, and whom to ask.

        Args:
            gone: Who is lost or has left, by the bits of their places in the plan.
            now: Unix seconds.
        """
        if any(m not in self._holdings and not self._absent(m, gone) for m in self.group.members):
            self._complete_since = None
            return [], None
        if self.first(gone) != self.me:
            self._complete_since = self._complete_since or now
            return [], None
        asks: To = []
        givers, spares = [], []
        waiting = False
        for place, members in enumerate(self.group.places):
            here = [m for m in members if self._here(m, gone)]
            here.sort(key=self.unfit.__contains__)
            if not here or here[0] in self.unfit:
                stand_in, ask = self._replace(place, gone, now)
                asks += ask
                waiting = waiting or (stand_in is not None and not self._here(stand_in, gone))
                here = here if stand_in is None else [stand_in, *here]
            givers += [StageMember(member, place, gives=True) for member in here[:1]]
            spares += [StageMember(member, place, gives=False) for member in here[1:]]
        return asks, None if waiting else (*givers, *spares)

    def holding_of(self, member: int) -> Holding:
        """What a member that is here holds."""
        return self._holdings[member]

    # --- who is where ---

    def _here(self, member: int, gone: int) -> bool:
        return member in self._holdings and not self._absent(member, gone)

    def _awaited(self) -> list[int]:
        known = {*self.group.members, *self._asked.values()} - {self.me} - self._unable - self._silent
        return sorted(known)

    def _silent_at(self, member: int) -> float:
        """When it has been silent for too long."""
        late = member in self.unfit or member in self.doubted
        share = PATIENCE_LEFT if late and member not in self._holdings else 1.0
        return self._heard_at[member] + share * self.stall_timeout_s

    def _absent(self, member: int, gone: int) -> bool:
        """Whether it is not waited for any more."""
        return bool(gone >> member & 1) or member in self._unable or member in self._silent

    def _replace(self, place: int, gone: int, now: float) -> tuple[int | None, To]:
        """Who stands in for a block that nobody here is of, and whom to ask for it."""
        current = self._asked.get(place)
        if current is not None and not self._absent(current, gone):
            return current, []
        if current is not None:
            self._unable.add(current)
        block = self.group.blocks[place]
        turn = self.number % len(block)
        for member in (*block[turn:], *block[:turn]):
            if member not in {*self.group.members, *self.unfit} and not self._absent(member, gone):
                self._asked[place] = member
                self.heard(member, now)
                return member, [(member, self._ask())]
        self._asked.pop(place, None)
        return None, []

    def _tell(self, members: Iterable[int], now: float) -> To:
        self._beat_at = now + self.stall_timeout_s / HEARTBEATS
        word = Arrived(self.round_id, self.stage, self.number, self.attempt, self.holding)
        return [(member, word) for member in members if member != self.me]

    def _ask(self) -> StandIn:
        return StandIn(self.round_id, self.stage, self.number, self.attempt)
