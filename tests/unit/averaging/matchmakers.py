"""Matchmakers that find each other in a pretended network, and villains among them."""

from collections.abc import Callable, Sequence
from random import Random
from typing import Any

import msgspec

from core.averaging.bandwidth.book import LineBook
from core.averaging.bandwidth.known import KnownLines
from core.averaging.grid.layout import FailureRate
from core.averaging.matchmaking import GROUP_MESSAGES, Call, ContributionWanted, Declined, GroupFormed, Ready
from core.averaging.matchmaking.attempts import RoundConfig, attempt_key, by_distance, round_id
from core.averaging.matchmaking.calls import LedCall
from core.averaging.matchmaking.matchmaker import Matchmaker
from core.averaging.penalties import Penalties
from core.averaging.plan import Member, Plan, Rates
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace
from core.base.manifest import AveragingNumbers
from tests.unit.averaging.pump import Pump, peer_ids

RUN = b"r" * 32
LINEAGE = b"l" * 32
NUMEL = 10_000
NUMBERS = AveragingNumbers(chunk_numel=256, gather_timeout_s=3.0)
MEGA = 1_000_000
STRANGER = PeerId(b"\xee" * 32)
Twist = Callable[[Any], list[Any]]


def leader_of(peers: Sequence[PeerId], attempt: int = 0, epoch: int = 1) -> PeerId:
    """The peer whose turn it is to lead."""
    return by_distance(peers, attempt_key(RUN, LINEAGE, epoch, attempt))[0]


def round_of(leader: PeerId, call: Call) -> bytes:
    """The round that a call is for."""
    return round_id(attempt_key(RUN, call.lineage, call.epoch, call.attempt), leader, call.nonce)


class Told(LineBook):
    """Line knowledge that somebody was told: the same of everybody's lines, and what it has claimed of its own."""

    def __init__(self, me: PeerId, lines: dict[PeerId, Rates], claimed: Rates) -> None:
        super().__init__(me)
        self._lines = lines
        self._claimed = claimed

    def known(self, peers: Sequence[PeerId]) -> KnownLines:
        return KnownLines({peer: self._lines[peer] for peer in peers if peer in self._lines}, {})

    @property
    def claimed(self) -> Rates:
        return self._claimed

    @property
    def judges(self) -> bool:
        return True


class TwistedPump(Pump):
    """A network in which what some peers say and report is changed."""

    def say(self, source: PeerId, outputs: list[Any]) -> None:
        twist: Twist = getattr(self, "twists", {}).get(source, lambda output: [output])
        super().say(source, [twisted for output in outputs for twisted in twist(output)])


class Group:
    """Matchmakers whose owners offer what they have as soon as they are asked.

    Args:
        count: How many train.
        helpers: How many peers only help.
        lines: What is known of lines, by peer; none: nothing.
        picky: Peers that refuse every plan with lines, since it takes theirs for more than they have claimed.
    """

    def __init__(
        self,
        count: int,
        *,
        helpers: int = 0,
        seed: int = 0,
        target_samples: int = 0,
        numel_max: int = NUMEL,
        lines: dict[PeerId, Rates] | None = None,
        picky: Sequence[PeerId] = (),
        failures: FailureRate | None = None,
        **pump: Any,
    ) -> None:
        everybody = peer_ids(count + helpers)
        self.peers, self.helpers = everybody[:count], everybody[count:]
        self.random = Random(seed)
        self.traces = {p: Trace() for p in everybody}
        self.held = {p: Penalties(p, round_timeout_s=NUMBERS.round_timeout_s) for p in everybody}
        self.configs = {
            p: RoundConfig(
                me=p,
                run_id=RUN,
                numbers=NUMBERS,
                lines=self._knowledge(p, lines, picky),
                penalties=self.held[p],
                failures=failures or FailureRate(),
                numel=None if p in self.helpers else NUMEL,
                numel_max=numel_max,
                target_samples=target_samples,
            )
            for p in everybody
        }
        self.machines: dict[PeerId, Any] = {
            p: Matchmaker(self.configs[p], random=Random(seed + i), trace=self.traces[p])
            for i, p in enumerate(everybody)
        }
        self.mute: set[PeerId] = set()
        """Peers that never offer a contribution."""
        self.clients: set[PeerId] = set()
        """Peers that want no share."""
        self.epoch = 1
        self.pump = TwistedPump(self.machines, self.random, on_event=self._on_event, speaks=GROUP_MESSAGES, **pump)
        self.twists: dict[PeerId, Twist] = {}
        self.pump.twists = self.twists  # type: ignore[attr-defined]

    @staticmethod
    def _knowledge(peer: PeerId, lines: dict[PeerId, Rates] | None, picky: Sequence[PeerId]) -> LineBook:
        if lines is None:
            return LineBook(peer)
        return Told(peer, lines, Rates(1, 1) if peer in picky else lines[peer])

    def _on_event(self, pump: Pump, peer: PeerId, event: Any) -> list[Any]:
        return self.offer(peer, event.round) if isinstance(event, ContributionWanted) and peer not in self.mute else []

    def offer(self, peer: PeerId, round_: bytes) -> list[Any]:
        helps = peer in self.helpers
        mine = Member(peer, 0 if helps else 10, 0.0 if helps else 1.5, peer not in self.clients, not helps)
        return self.machines[peer].offer(round_, mine, self.pump.now)

    def place(self, *peers: PeerId, full: bool = False, epoch: int | None = None) -> list[Any]:
        """These peers, or all, stand at the state of an epoch; what they say at once."""
        state, said = (self.epoch if epoch is None else epoch, LINEAGE), []
        for peer in peers or (*self.peers, *self.helpers):
            outputs = self.machines[peer].stand(state, self.peers, helpers=self.helpers, full=full, now=self.pump.now)
            self.pump.say(peer, outputs)
            said += outputs
        return said

    def look(self, *peers: PeerId) -> list[Any]:
        """These peers, or all that train, see the target reached."""
        return self.place(*(peers or self.peers), full=True)

    def tell(self, to: PeerId, sender: PeerId, message: Any) -> list[Any]:
        """One message, and what its receiver says and reports at once; that goes on its way."""
        outputs = self.machines[to].handle(Received(sender, message), self.pump.now)
        self.pump.say(to, outputs)
        return list(outputs)

    def run(self, seconds: float = 60.0) -> None:
        self.pump.run(until=self.pump.now + seconds)

    @property
    def elapsed_s(self) -> float:
        return self.pump.now - 1000.0

    def events(self, peer: PeerId, *kinds: type) -> list[Any]:
        return [event for event in self.pump.events[peer] if isinstance(event, kinds)]

    def plans(self, peer: PeerId) -> list[Plan]:
        return [event.plan for event in self.events(peer, GroupFormed)]

    def in_round(self, peer: PeerId) -> bool:
        """Whether the last plan of this peer was neither refused nor given up."""
        ends = [e for e in self.pump.events[peer] if type(e).__name__ in {"GroupFormed", "PlanRefused", "GroupFailed"}]
        return bool(ends) and isinstance(ends[-1], GroupFormed)

    def leader(self, attempt: int = 0, epoch: int | None = None) -> PeerId:
        return leader_of(self.peers, attempt, self.epoch if epoch is None else epoch)

    def others(self, *but: PeerId) -> list[PeerId]:
        """All that train except these, or except the leader."""
        return [peer for peer in self.peers if peer not in (but or (self.leader(),))]

    def one_plan(self, members: Sequence[PeerId]) -> Plan:
        """The only plan of these, which has nobody else in it."""
        found = {plan.round: plan for peer in members for plan in self.plans(peer)}
        assert len(found) == 1
        assert all(len(self.plans(peer)) == 1 for peer in members)
        [plan] = found.values()
        assert set(plan.peers) == set(members)
        return plan


def knowing(count: int, *, picky: Sequence[PeerId] = (), **options: Any) -> Group:
    """A group that knows its lines, and stands at a state."""
    lines = {peer: Rates(MEGA * (1 + i), 4 * MEGA) for i, peer in enumerate(peer_ids(count))}
    group = Group(count, lines=lines, picky=picky, **options)
    group.place()
    return group


def messages(outputs: Sequence[Any], kind: type) -> list[Any]:
    """The messages of a kind among outputs."""
    return [output.message for output in outputs if isinstance(output, Send) and isinstance(output.message, kind)]


def recipients(outputs: Sequence[Any], kind: type) -> set[PeerId]:
    """To whom they go."""
    return {output.to for output in outputs if isinstance(output, Send) and isinstance(output.message, kind)}


class EagerLeader:
    """A villain that follows nobody, and calls for the first attempt whenever it is in no round; its plans are good."""

    def __init__(self, group: Group, me: PeerId) -> None:
        self._group = group
        self._me = me
        self.round = self
        self._led: LedCall | None = None
        self._plan: Plan | None = None
        self._nonce = 0
        self._state: Any = None

    @property
    def deadline(self) -> float | None:
        return None if self._led is None else self._led.deadline

    def stand(self, state: Any, candidates: Sequence[PeerId], *, now: float, **_: Any) -> list[Any]:
        self._state, self._plan, self._led = state, None, None
        return [] if self._group.leader() != self._me else self._call(now)

    def over(self, failed: Plan | None = None) -> None:
        self._plan = None

    def offer(self, round_: bytes, mine: Member, now: float) -> list[Any]:
        return []

    def handle(self, event: Received[Any] | Tick | Lost, now: float) -> list[Any]:
        outputs: list[Any] = []
        match event:
            case Received(sender=sender, message=Call() as call):
                outputs.append(Send(sender, Declined(call.epoch, call.lineage, call.attempt, "busy")))
            case Received(sender=sender, message=Ready() as ready) if self._led is not None:
                self._led.answer(sender, ready)
            case Received(sender=sender, message=Declined() as declined) if self._led is not None:
                self._led.answer(sender, msgspec.structs.replace(declined, reason="busy"))
        if self._led is not None and now >= self._led.deadline:
            said, formed = self._led.close(now, plain=False)
            self._led = None
            self._plan = formed.plan if isinstance(formed, GroupFormed) else None
            outputs += [*said, formed] if self._plan is not None else said
        return [*outputs, *self._call(now)]

    def _call(self, now: float) -> list[Any]:
        if self._led is not None or self._plan is not None or self._state is None:
            return []
        self._nonce += 1
        config = self._group.configs[self._me]
        call = Call(*self._state, 0, self._nonce, NUMEL)
        self._led = LedCall(config, call, candidates=self._group.peers, helpers=(), unavailable=(), now=now)
        self._led.offer(Member(self._me, 10, 1.5))
        return [*self._led.open()]
