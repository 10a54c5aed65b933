"""The rounds that a peer calls for: who is called, who has answered, and the plan that comes of it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from random import Random
from typing import Final

from core.averaging.bandwidth.known import UNKNOWN
from core.averaging.grid.stages import best_stages
from core.averaging.matchmaking import ContributionWanted
from core.averaging.matchmaking.attempts import by_distance, round_id
from core.averaging.matchmaking.config import RoundConfig, State
from core.averaging.matchmaking.gathering import Gathering
from core.averaging.matchmaking.make_plan import make_plan
from core.averaging.messages import GROUP_MAX, NONCE_BITS, Call, Cancelled
from core.averaging.plan import Plan
from core.base.ids import PeerId
from core.base.machine import Send

HELPERS_S: Final = 0.25
"""Helpers that a leader called have so long to answer; whoever did not is not waited for until it is heard again."""
HELPERS_MAX: Final = 16


@dataclass(frozen=True, slots=True)
class Closed:
    """What came of a call."""

    plan: Plan | None
    silent: tuple[PeerId, ...]
    """Who was waited for in vain."""
    reason: str = ""
    """Why there is no plan."""
    samples: int | None = None
    """What those who were ready brought together, when that was too little."""


class GroupLeader:
    """The leader's side of finding a group.

    Args:
        config: What rounds are made of.
        random: For nonces.
    """

    def __init__(self, config: RoundConfig, random: Random) -> None:
        self._config = config
        self._random = random
        self._state: State = (0, b"")
        self._published: Plan | None = None
        self.gathering: Gathering | None = None
        """The call that is on."""

    def begin(
        self,
        state: State,
        attempt: int,
        *,
        others: Sequence[PeerId],
        helpers: Sequence[PeerId],
        lost: Collection[PeerId],
        now: float,
    ) -> list[Send[Call] | ContributionWanted]:
        """Call.

        Args:
            state: Where all stand.
            attempt: The how manyth.
            others: Whom to call: the nearest to the attempt's key, where they are more than a group may have, and whom
                failed rounds are put down to last.
            helpers: Who only reduces for others.
            lost: Who is called and not waited for.
            now: Unix seconds.
        """
        config = self._config
        key = config.key(state, attempt)
        called = sorted(by_distance(others, key), key=lambda peer: not config.reputation.may_lead(peer, now))
        called = called[: GROUP_MAX - 1]
        aides = [peer for peer in helpers if peer != config.me and peer not in called][:HELPERS_MAX]
        aides = aides[: GROUP_MAX - 1 - len(called)]
        nonce = self._random.getrandbits(NONCE_BITS)
        self._state = state
        gathering = self.gathering = Gathering(
            round_id(key, config.me, nonce),
            attempt,
            nonce,
            now + config.numbers.gather_timeout_s,
            waiting=set(called).difference(lost),
            hoped_for={*called, *aides}.intersection(lost),
            helpers=set(aides).difference(lost),
            helped_by=now + HELPERS_S,
        )
        call = self._call(gathering)
        return [*(Send(peer, call) for peer in (*called, *aides)), ContributionWanted(gathering.round)]

    def invite(self, peers: Sequence[PeerId], *, awaited: bool = True) -> list[Send[Call]]:
        """These have come later: call them too, as long as there is room; without `awaited` nobody waits for them."""
        gathering = self.gathering
        if gathering is None:
            return []
        known = gathering.others if awaited else gathering.others | gathering.uninvited
        new = [peer for peer in peers if peer not in known][: gathering.room]
        (gathering.waiting if awaited else gathering.hoped_for).update(new)
        return [Send(peer, self._call(gathering)) for peer in new]

    def cancel(self, *, silent: tuple[PeerId, ...], samples: int | None) -> list[Send[Cancelled]]:
        """No plan will come of the call that is on, if one is: tell those who may wait for it."""
        gathering, self.gathering = self.gathering, None
        if gathering is None:
            return []
        cancelled = Cancelled(gathering.round, silent, samples)
        return [Send(peer, cancelled) for peer in sorted(gathering.others - {self._config.me})]

    def planned(self, round_: bytes, peer: PeerId) -> bool:
        """Whether `peer` is in the plan that was published last, and this is its round."""
        plan = self._published
        return plan is not None and plan.round == round_ and peer in plan.peers

    def complete(self, now: float) -> bool:
        """Whether a call is on, and there is nobody left to wait for."""
        return self.gathering is not None and self.gathering.complete(self._config.me, now)

    @property
    def deadline(self) -> float | None:
        """When it goes on without some of those who have not answered."""
        return None if self.gathering is None else self.gathering.deadline(self._config.me)

    def close(self, *, plain: bool, now: float) -> Closed:
        """The call that is on has its answers: make the plan, if one can be made; without one, the call stays.

        Args:
            plain: Nobody's line is taken for anything.
            now: Unix seconds.
        """
        gathering = self.gathering
        assert gathering is not None
        silent = tuple(sorted(gathering.waiting))
        reason = gathering.obstacle(self._config.me)
        if reason is not None:
            return Closed(None, silent, reason)
        samples = sum(member.samples for member in gathering.ready.values())
        if samples < self._config.minimum_samples:
            return Closed(None, silent, "the contributions together have too few samples", samples)
        self.gathering = None
        self._published = self._plan(gathering, plain=plain, now=now)
        return Closed(self._published, silent)

    def _call(self, gathering: Gathering) -> Call:
        assert self._config.numel is not None
        return Call(*self._state, gathering.attempt, gathering.nonce, self._config.numel)

    def _plan(self, gathering: Gathering, *, plain: bool, now: float) -> Plan:
        config = self._config
        assert config.numel is not None
        members = config.reputation.without_excluded(list(gathering.ready.values()), now)
        peers = sorted(PeerId(member.peer) for member in members)
        order = by_distance(peers, config.key(self._state, gathering.attempt))
        order.sort(key=lambda peer: (peer != config.me, not config.reputation.may_lead(peer, now)))
        return make_plan(
            config.request(gathering.round, self._state, gathering.attempt, config.numel),
            members,
            order,
            known=UNKNOWN if plain else config.book.known(peers),
            stages=best_stages(sum(member.receives for member in members), config.failures.value),
        )
