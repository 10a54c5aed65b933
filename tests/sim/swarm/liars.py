"""Members of a simulated collaboration that lie.  Whatever they say, the rules hold for the others."""

import copyreg
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass
from random import Random
from types import MappingProxyType
from typing import Any, Final

import msgspec
import numpy as np

from core.averaging.matchmaking import Call, Wanted
from core.averaging.messages import Commit, Leaving, Order, to_bits
from core.averaging.plan import Plan
from core.base.bounds import FOLLOWED_EPOCH_MAX, SAMPLES_MAX
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, earliest
from core.swarm.participant import Participant
from core.swarm.presentation import Tells
from core.swarm.rounds.rounds import Rounds
from core.swarm.words.progress import ProgressReport
from core.swarm.words.states import StateName
from tests.sim.attacks.liars import Liar
from tests.sim.dht import liars
from tests.sim.rounds import hostile
from tests.sim.rounds.hostile import Hostile
from tests.sim.swarm.disk import MemoryFile
from tests.sim.world.world import START

FOUNDED_S: Final = 10.0
"""From then on a liar names its false state: all volunteers are there."""
CALLS_S: Final = 0.5
"""Time between two calls of a leader that never commits."""
EARLY: Final = 0.95
"""Part of the target batch at which a leader that commits two things calls, before anybody else does."""
SPLIT_LEAST: Final = 4
"""Number of members in the smallest group that is split."""
NOISE: Final = MemoryFile(np.random.default_rng(0).standard_normal(300).astype(np.float32).tobytes())
FALSE: Final = StateName(10**6, b"\xff" * 32)
TWO_COMMITS: Final = "two commits"


def _truth(report: ProgressReport) -> ProgressReport:
    return report


def _itself(participant: Participant, random: Random) -> Any:
    del random
    return participant


@dataclass(frozen=True, slots=True)
class Lie:
    """One way in which a member lies.

    Attributes:
        tells: Changes its reports.
        dresses: Makes the machine that others hear of its participant, and of a source of chance.
        gives: The file that it gives to all that ask for its state, in place of training.  None: it trains.
    """

    tells: Tells = _truth
    dresses: Callable[[Participant, Random], Any] = _itself
    gives: MemoryFile | None = None


def changed(**fields: Any) -> Lie:
    """Its reports have these fields, whatever it does."""
    return Lie(tells=lambda report: msgspec.structs.replace(report, **fields))


def another_state_each_second(report: ProgressReport) -> ProgressReport:
    """A report that names a state which nobody has, and each second another one."""
    epoch = 2**20 + int(report.time) % 2**20
    return msgspec.structs.replace(report, epoch=epoch, lineage=b"\xff" * 32, digest=b"x" * 32)


def far_ahead(report: ProgressReport) -> ProgressReport:
    """A report of a state far ahead of all, whose file is noise."""
    if report.time < START + FOUNDED_S:
        return report
    return msgspec.structs.replace(report, epoch=FALSE.epoch, lineage=FALSE.lineage, digest=NOISE.digest, in_step=True)


class Dressed(Hostile):
    """A participant that others hear otherwise than it is."""

    machine: Any

    def _calls(self, now: float) -> list[object]:
        """What it says where it makes itself the leader of the next round: as if it had been asked for a call."""
        view = self.machine.view(now)
        if view.state is None or self.machine.rounds.busy:
            return []
        mates = sorted(peer for peer, report in view.peers.items() if report.in_step and report.state == view.state)
        wanted = Wanted(view.state.epoch, view.state.lineage, 0)
        return [one for mate in mates[:1] for one in self.machine.handle(Received(mate, wanted), now)]


class NeverCommits(Dressed):
    """It calls twice a second if it may, follows nobody, plans well, and then only says that it lives."""

    def __init__(self, participant: Any, random: Random) -> None:
        del random
        super().__init__(participant, self._unchanged)
        self._again_at = 0.0

    def handle(self, event: Any, now: float) -> list[object]:
        """Pass an event that is no call to the participant, and call when it is time."""
        if isinstance(event, Received) and isinstance(event.message, Call):
            return []
        outputs: list[object] = [*super().handle(event, now)]
        if now >= self._again_at and not self.machine.rounds.busy:
            self._again_at = now + CALLS_S
            outputs += self._altered(self._calls(now), now)
        return outputs

    def _unchanged(self, send: Send[Any], now: float) -> list[Send[Any]]:
        """What leaves in place of a message: nothing that ends a round, and orders in which nothing has happened."""
        del now
        match send.message:
            case Leaving() | Commit():
                return []
            case Order() as order:
                everybody = to_bits(frozenset(range(len(order.versions))))
                return [Send(send.to, msgspec.structs.replace(order, nonces=(), live=everybody))]
        return [send]


copyreg.pickle(MappingProxyType, lambda mapping: (MappingProxyType, (dict(mapping),)))  # `deepcopy` asks here, too


class TwoCommits(Dressed):
    """A leader that is two: each half of its group hears one of them, and each commits what its half holds.

    Both exclude the other's half.  With the leader in both, each half is a quorum.  It leads whenever it may.
    """

    def __init__(self, participant: Any, random: Random) -> None:
        del random
        super().__init__(participant)
        self._twin: Rounds | None = None
        self._plan: Plan | None = None
        self._twins: frozenset[PeerId] = frozenset()
        """The members that hear the twin."""

    @property
    def deadline(self) -> float | None:
        """The earlier one of both leaders' deadlines."""
        return earliest(self.machine.deadline, None if self._twin is None else self._twin.deadline)

    def handle(self, event: Any, now: float) -> list[object]:
        """Pass an event to the leader for which it is, and split the group once there is a plan."""
        if isinstance(event, Received) and event.sender in self._twins and self._is_of_round(event.message):
            return self._said_by_twin(event, now)
        outputs: list[object] = [one for one in self.machine.handle(event, now) if not self._is_for_twins(one)]
        if isinstance(event, Tick):
            outputs += self._said_by_twin(event, now)
            view = self.machine.view(now)
            if view.samples + view.others_samples >= EARLY * self.machine.settings.target_samples:
                outputs += self._calls(now)
        plan = self.machine.rounds.plan
        if plan is not None and plan is not self._plan:
            self._plan, self._twin, self._twins = plan, None, frozenset()
            outputs += self._split(plan, now)
        return outputs

    def _split(self, plan: Plan, now: float) -> list[object]:
        me = self.machine.me
        others = [PeerId(member.peer) for member in plan.members if member.receives and member.peer != me]
        if plan.leader != me or plan.stages > 1 or len(others) + 1 < SPLIT_LEAST:
            return []
        self._twin, self._twins = deepcopy(self.machine.rounds), frozenset(others[::2])
        outputs: list[object] = [one for peer in others[1::2] for one in self._said_by_twin(Lost(peer, "split"), now)]
        for peer in others[::2]:
            outputs += [one for one in self.machine.handle(Lost(peer, "split"), now) if not self._is_for_twins(one)]
        return outputs

    def _said_by_twin(self, event: Any, now: float) -> list[object]:
        if self._twin is None:
            return []
        return [output for output in self._twin.handle(event, now) if self._is_for_twins(output)]

    def _is_for_twins(self, output: Any) -> bool:
        return isinstance(output, Send) and output.to in self._twins and self._is_of_round(output.message)

    def _is_of_round(self, message: Any) -> bool:
        return self._plan is not None and getattr(message, "round", None) == self._plan.round


@dataclass(frozen=True, slots=True)
class _Membership:
    """A participant as a member of one round."""

    participant: Participant
    plan: Plan

    @property
    def peers(self) -> tuple[PeerId, ...]:
        return self.plan.peers

    @property
    def place(self) -> int:
        return self.plan.peers.index(self.participant.me)

    @property
    def handle(self) -> Any:
        return self.participant.handle


class HostileInRounds(Dressed):
    """A member that is hostile in each round, in one way.

    Args:
        kind: Of the way (`tests.sim.rounds.hostile`).
    """

    def __init__(self, participant: Any, kind: hostile.Kind) -> None:
        super().__init__(participant)
        self._kind = kind
        self._plan: Plan | None = None
        self._member: Any = participant

    def handle(self, event: Any, now: float) -> list[object]:
        """Pass an event to the participant, and alter what leaves it."""
        outputs: list[object] = [*self._member.handle(event, now)]
        plan = self.machine.rounds.plan
        if plan is not None and plan is not self._plan:
            self._plan, member = plan, _Membership(self.machine, plan)
            reducers = {place for place, count in enumerate(plan.chunks) if count}
            self._member = self._kind(member, member) if reducers - {member.place} else self.machine  # type: ignore[arg-type]
        return outputs


def _hostile(kind: hostile.Kind) -> Lie:
    return Lie(dresses=lambda participant, _: HostileInRounds(participant, kind))


def _by_chance(kind: Callable[[Random], hostile.Kind]) -> Lie:
    return Lie(dresses=lambda participant, random: HostileInRounds(participant, kind(random)))


def _in_dht(lie: Callable[[Random], Any]) -> Lie:
    return Lie(dresses=lambda participant, random: Liar(participant, lie(random)))  # type: ignore[arg-type]


LIES: Final[Mapping[str, Lie]] = MappingProxyType(
    {
        "a state that it does not have": changed(epoch=FOLLOWED_EPOCH_MAX, lineage=b"\xff" * 32, digest=b"x" * 32),
        "another state each second": Lie(tells=another_state_each_second),
        "a state that is noise": Lie(tells=far_ahead, gives=NOISE),
        "samples that it does not have": changed(samples=SAMPLES_MAX),
        "an address that is none": changed(host="a..b\0", port=1),
        "never commits": Lie(dresses=NeverCommits),
        TWO_COMMITS: Lie(dresses=TwoCommits),
        "lacks means": _hostile(hostile.always_lacks),
        "complains of all": _hostile(hostile.Complains),
        "slanders": _by_chance(hostile.slanders),
        "two means": _by_chance(hostile.cheats),
        "wrong contacts": _in_dht(liars.wrong_contacts),
        "stale records": _in_dht(liars.stale_records),
        "dropped answers": _in_dht(liars.dropped_answers),
    }
)
"""All lies that a seed may draw, by name."""
