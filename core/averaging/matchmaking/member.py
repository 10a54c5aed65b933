"""The call that a peer follows: its promise, its offer, and what it makes of the plan."""

from collections.abc import Collection
from typing import Final

from core.averaging.matchmaking.check_plan import check_division, check_plan
from core.averaging.matchmaking.config import RoundConfig, State
from core.averaging.matchmaking.gathering import Promise
from core.averaging.messages import Call, Declined, Leaving, Ready
from core.averaging.plan import Member, Plan
from core.base.ids import PeerId
from core.base.machine import Send
from core.base.problems import RemoteProblem

PLAN_PATIENCE: Final = 2.0
"""Gather timeouts after which a member that followed a call gives up waiting for the plan."""
REFUSED_PATIENCE_S: Final = 0.5
"""When others have refused a plan that has not come yet, it is waited for no longer than this."""


class GroupMember:
    """A member's side of finding a group.

    Args:
        config: What rounds are made of.
    """

    def __init__(self, config: RoundConfig) -> None:
        self._config = config
        self._left: tuple[PeerId, bytes] | None = None
        self.promise: Promise | None = None
        """What is followed now."""

    def follow(self, leader: PeerId, call: Call, round_: bytes, *, state: State, now: float) -> list[Send[Declined]]:
        """Stand still for this round, and no longer for the one before.

        A leader that began anew is not waited for any longer because of that.
        """
        before = self.promise
        until = now + PLAN_PATIENCE * self._config.numbers.gather_timeout_s
        if before is not None and before.leader == leader:
            until = before.until
        told = self.withdraw(state)
        self.promise = Promise(round_, leader, call.attempt, until, numel=call.numel)
        return told

    def offer(self, round_: bytes, mine: Member) -> list[Send[Ready]]:
        """The contribution stands; in vain if it is for another round, or was offered."""
        promise = self.promise
        if promise is None or promise.round != round_ or promise.mine is not None:
            return []
        promise.mine = mine
        ready = Ready(round_, mine.samples, mine.loss, mine.reduces, mine.receives, mine.samples_per_s)
        return [Send(promise.leader, ready)]

    def awaits(self, leader: PeerId, round_: bytes) -> bool:
        """Whether a plan, or its absence, is to be told by this peer for this round."""
        promise = self.promise
        return promise is not None and (promise.leader, promise.round) == (leader, round_)

    def check(self, plan: Plan, state: State) -> None:
        """Refuse the plan that is awaited if it is bad.

        Raises:
            RemoteProblem: says what is wrong.
        """
        config, promise = self._config, self.promise
        assert promise is not None
        if promise.mine is None:
            raise RemoteProblem("the plan came before this member's contribution")
        numel = promise.numel if config.numel is None else config.numel
        check_plan(plan, config.request(promise.round, state, promise.attempt, numel), promise.mine)
        check_division(
            plan,
            config.me,
            known=config.book.known(plan.peers),
            claimed=config.book.claimed,
            held=config.book.held,
            target_samples=config.target_samples,
        )

    def doubt(self, now: float) -> None:
        """Many refuse the plan that has not come: perhaps it never will, and that is not its leader's fault."""
        assert self.promise is not None
        self.promise.refused = True
        self.promise.until = min(self.promise.until, now + REFUSED_PATIENCE_S)

    def end(self) -> Promise:
        """The promise holds no longer; if its plan comes all the same, its members hear that we have left."""
        promise, self.promise = self.promise, None
        assert promise is not None
        self._left = (promise.leader, promise.round)
        return promise

    def withdraw(self, state: State) -> list[Send[Declined]]:
        """Tell the leader, if there is one, that we follow no longer."""
        if self.promise is None:
            return []
        promise = self.end()
        return [Send(promise.leader, Declined(*state, promise.attempt, "busy"))]

    def late(self, sender: PeerId, plan: Plan, here: Collection[PeerId]) -> list[Send[Leaving]] | None:
        """The plan of a round that was left: those `here` whom it names hear so, once.  None: it is no such plan."""
        if self._left != (sender, plan.round):
            return None
        self._left = None
        told = sorted({sender, *set(here).intersection(plan.peers)} - {self._config.me})
        return [Send(peer, Leaving(plan.round)) for peer in told]
