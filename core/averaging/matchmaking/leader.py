"""The leader's side of a call: it collects contributions, and publishes a plan or cancels."""

import math
from collections.abc import Collection, Sequence
from enum import Enum

from core.averaging.bandwidth.known import UNKNOWN
from core.averaging.grid.layout import best_stages
from core.averaging.matchmaking import HELPERS_MAX, HELPERS_S, GroupFailed, GroupFormed, Silent
from core.averaging.matchmaking.attempts import RoundConfig, by_distance
from core.averaging.matchmaking.messages import Call, Cancelled, Ready
from core.averaging.matchmaking.plans import make_plan
from core.averaging.messages import GROUP_MAX
from core.averaging.plan import Member, Plan
from core.base.ids import PeerId
from core.base.machine import Send

Closed = list[Send[Plan | Cancelled] | Silent | GroupFormed | GroupFailed]


class Invited(Enum):
    """How a called peer stands to the call."""

    AWAITED = "awaited"
    OPTIONAL = "optional"
    """In the plan if it is ready in time; not waited for, since it was lost lately or is no candidate."""
    HELPER = "helper"
    """Called only to reduce for the others: waited for `HELPERS_S`."""
    READY = "ready"
    BUSY = "busy"
    """It was awaited, and is in another round."""
    DECLINED = "declined"


class LedCall:
    """One call of this peer, until its plan is out or it is cancelled.

    Args:
        config: Of the rounds.
        call: What is sent to all.
        candidates: Peers that train at this state; where they are more than a group may have, the nearest to the
            attempt's key are called.
        helpers: Peers that only reduce for others.
        unavailable: Peers that are called and not waited for.
        now: Unix seconds.
    """

    def __init__(
        self,
        config: RoundConfig,
        call: Call,
        *,
        candidates: Collection[PeerId],
        helpers: Sequence[PeerId],
        unavailable: Collection[PeerId],
        now: float,
    ) -> None:
        self._config = config
        self._call = call
        self.request = config.request(config.me, call)
        """What the members of the round agree on."""
        self._key = config.key((call.epoch, call.lineage), call.attempt)
        self._until = now + config.numbers.gather_timeout_s
        self._helpers_until = now + HELPERS_S
        others = by_distance({*candidates} - {config.me}, self._key)[: GROUP_MAX - 1]
        self._invited = dict.fromkeys(others, Invited.AWAITED)
        aides = [peer for peer in helpers if peer != config.me and peer not in self._invited]
        self._invited |= dict.fromkeys(aides[: min(HELPERS_MAX, self._room)], Invited.HELPER)
        self._invited |= dict.fromkeys({*unavailable}.intersection(self._invited), Invited.OPTIONAL)
        self._ready: dict[PeerId, Member] = {}

    def open(self) -> list[Send[Call]]:
        """The call, to every peer that is invited."""
        return [Send(peer, self._call) for peer in self._invited]

    def invite(self, peers: Sequence[PeerId], *, awaited: bool) -> list[Send[Call]]:
        """Call peers that have come since, as long as there is room.

        Args:
            peers: Any peers.
            awaited: Whether they are candidates, which are waited for.  Others are called once only.
        """
        again = {*self._among(Invited.BUSY, Invited.DECLINED)} if awaited else set()
        new = [peer for peer in peers if peer != self._config.me and (peer not in self._invited or peer in again)]
        new = new[: self._room]
        self._invited |= dict.fromkeys(new, Invited.AWAITED if awaited else Invited.OPTIONAL)
        return [Send(peer, self._call) for peer in new]

    def offer(self, mine: Member) -> None:
        """The leader's own contribution is ready."""
        self._ready[self._config.me] = mine

    def answer(self, peer: PeerId, ready: Ready) -> bool:
        """Take in an answer; False: `peer` was not asked, or helps and has samples, or a number is not finite."""
        stands = self._invited.get(peer)
        finite = math.isfinite(ready.loss) and math.isfinite(ready.samples_per_s)
        helps = stands is Invited.HELPER and not ready.samples
        if not finite or not (helps or stands in {Invited.AWAITED, Invited.OPTIONAL}):
            return False
        self._invited[peer] = Invited.READY
        self._ready[peer] = Member(peer, ready.samples, ready.loss, ready.reduces, ready.receives, ready.samples_per_s)
        return True

    def decline(self, peer: PeerId, attempt: int, *, busy: bool) -> bool:
        """Take in that a called peer does not come.

        Args:
            peer: The peer that says so.
            attempt: The attempt that it speaks of.
            busy: Whether it is in another round.

        Returns:
            Whether this call is meant.
        """
        if peer not in self._invited or attempt != self._call.attempt:
            return False
        awaited = self._invited[peer] is Invited.AWAITED
        self._invited[peer] = Invited.BUSY if busy and awaited else Invited.DECLINED
        self._ready.pop(peer, None)
        return True

    def lose(self, peer: PeerId) -> None:
        """`peer` is gone; it may be invited again."""
        self._invited.pop(peer, None)
        self._ready.pop(peer, None)

    @property
    def deadline(self) -> float:
        """When the call is closed, unix seconds: at once when there is nobody left to wait for."""
        if self._among(Invited.AWAITED) or self._config.me not in self._ready:
            return self._until
        return min(self._until, self._helpers_until) if self._among(Invited.HELPER) else -math.inf

    def close(self, now: float, *, plain: bool) -> Closed:
        """Publish the plan, or cancel where none can be made.

        Args:
            now: Unix seconds.
            plain: Whether the plan is to give equal shares, whatever is known of lines.
        """
        silent = tuple(self._among(Invited.AWAITED))
        samples = sum(member.samples for member in self._ready.values())
        told: Closed = [Silent(silent)] if silent else []
        if self._config.me not in self._ready:
            reason = "this computer's own contribution came too late"
        elif len(self._among(Invited.BUSY)) >= sum(member.receives for member in self._ready.values()):
            reason = "the others are in another round"
        elif samples < self._config.minimum_samples:
            reason = "the contributions together have too few samples"
            failed = GroupFailed(self.request.round, reason, samples)
            return [*told, *self.cancel(silent, samples=samples), failed]
        else:
            plan = self._plan(now, plain=plain)
            others = [peer for peer in plan.peers if peer != self._config.me]
            left = [cancelled for cancelled in self.cancel() if cancelled.to not in others]
            return [*told, *left, *(Send(peer, plan) for peer in others), GroupFormed(plan)]
        return [*told, *self.cancel(silent), GroupFailed(self.request.round, reason)]

    def cancel(self, silent: tuple[PeerId, ...] = (), *, samples: int | None = None) -> list[Send[Cancelled]]:
        """Tell all that may wait for the plan that there will be none.

        Args:
            silent: Peers that were waited for in vain.
            samples: What the others brought together, when that was too little.
        """
        waiting = self._among(Invited.AWAITED, Invited.OPTIONAL, Invited.HELPER, Invited.READY)
        return [Send(peer, Cancelled(self.request.round, silent, samples)) for peer in waiting]

    def _among(self, *how: Invited) -> list[PeerId]:
        return sorted(peer for peer, stands in self._invited.items() if stands in how)

    @property
    def unanswered(self) -> list[PeerId]:
        """The peers that have been waited for in vain so far, helpers among them."""
        return self._among(Invited.AWAITED, Invited.HELPER)

    @property
    def _room(self) -> int:
        return max(0, GROUP_MAX - 1 - len(self._invited))

    def _plan(self, now: float, *, plain: bool) -> Plan:
        config = self._config
        members = config.penalties.without_excluded(list(self._ready.values()), now)
        leaders = by_distance(self._ready, self._key)
        leaders.sort(key=lambda peer: (peer != config.me, not config.penalties.may_lead(peer, now)))
        stages = best_stages(sum(member.receives for member in members), config.failures.value)
        known = UNKNOWN if plain else config.lines.known(sorted(self._ready))
        return make_plan(self.request, members, leaders, known=known, stages=stages)
