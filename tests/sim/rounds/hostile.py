"""Members that do all that a round asks of them except for one thing; each by a member's machine and its series."""

from collections.abc import Callable, Iterable
from random import Random
from typing import Any, Protocol

import msgspec

from core.averaging.butterfly import Butterfly
from core.averaging.messages import Commit, Mean, Members, Order, Part, Reducers, Status, Versions, to_bits
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, earliest

Alter = Callable[[Send[Any], float], Iterable[Send[Any]]]
Hears = Callable[[Received[Any]], Received[Any]]


class KnownGroup(Protocol):
    """What a hostile member knows of its group."""

    peers: tuple[PeerId, ...]
    place: int
    """Its own."""


class Hostile:
    """A machine whose messages are altered on their way out, or in.

    Args:
        machine: An honest one.
        alter: What leaves in place of each message.
        hears: What arrives in place of each message.
    """

    def __init__(self, machine: Butterfly, alter: Alter | None = None, *, hears: Hears | None = None) -> None:
        self.machine = machine
        self._alter = alter
        self._hears = hears

    def __getattr__(self, name: str) -> Any:
        return getattr(self.machine, name)

    def start(self, now: float) -> list[Any]:
        """Starts the honest machine, and alters what leaves it first."""
        return self._altered(self.machine.start(now), now)

    def handle(self, event: Received[Any] | Tick | Lost, now: float) -> list[Any]:
        """Passes an event, altered where need be, to the honest machine, and alters what leaves it."""
        if self._hears is not None and isinstance(event, Received):
            event = self._hears(event)
        return self._altered(self.machine.handle(event, now), now)

    def _altered(self, outputs: Iterable[Any], now: float) -> list[Any]:
        if self._alter is None:
            return [*outputs]
        said: list[Any] = []
        for output in outputs:
            said += self._alter(output, now) if isinstance(output, Send) else [output]
        return said


class Trickle(Hostile):
    """Some messages leave one by one.

    Args:
        machine: An honest one.
        held: Whether a message is one of these.
        each_s: The time between two of them, in seconds.
    """

    def __init__(self, machine: Butterfly, held: Callable[[Send[Any]], bool], *, each_s: float) -> None:
        super().__init__(machine)
        self._held = held
        self._each_s = each_s
        self._kept: list[Send[Any]] = []
        self._next_at = 0.0

    @property
    def deadline(self) -> float | None:
        """When the next one leaves, or the machine's own."""
        return earliest(self.machine.deadline, self._next_at if self._kept else None)

    def _altered(self, outputs: Iterable[Any], now: float) -> list[Any]:
        said: list[Any] = []
        for output in outputs:
            kept = isinstance(output, Send) and self._held(output)
            (self._kept if kept else said).append(output)
        while self._kept and now >= self._next_at:
            said.append(self._kept.pop(0))
            self._next_at = max(self._next_at, now - self._each_s) + self._each_s
        return said


Kind = Callable[[Butterfly, KnownGroup], Hostile]


def slow_parts(seconds: float) -> Kind:
    """Its parts leave one by one, evenly spread over `seconds`."""

    def kind(machine: Butterfly, group: KnownGroup) -> Hostile:
        parts = machine.plan.chunk_total - machine.plan.chunks[group.place]
        return Trickle(machine, lambda send: isinstance(send.message, Part), each_s=seconds / max(1, parts))

    return kind


def slow_means(seconds: float) -> Kind:
    """Its means leave one by one, evenly spread over `seconds`."""

    def kind(machine: Butterfly, group: KnownGroup) -> Hostile:
        means = machine.plan.chunks[group.place] * (len(group.peers) - 1)
        return Trickle(machine, lambda send: isinstance(send.message, Mean), each_s=seconds / max(1, means))

    return kind


def mute(machine: Butterfly, _: KnownGroup) -> Hostile:
    """Says that it is there, and gives no part and no mean."""
    return Hostile(machine, lambda send, _: [] if isinstance(send.message, Part | Mean) else [send])


def starves(victim: int, *, seconds: float, last: float) -> Kind:
    """To one member the last part of its means takes so long; requests of others it serves."""

    def kind(machine: Butterfly, group: KnownGroup) -> Hostile:
        own = machine.plan.chunks[group.place]

        def held(send: Send[Any]) -> bool:
            mean = send.message
            its = isinstance(mean, Mean) and mean.share == group.place and send.to == group.peers[victim]
            return its and mean.chunk >= int(own * (1 - last))

        return Trickle(machine, held, each_s=seconds / max(1, own))

    return kind


def always_lacks(machine: Butterfly, group: KnownGroup) -> Hostile:
    """Says from the beginning to the end that no member gives it means."""
    return _lacks(machine, frozenset(range(len(group.peers))))


def complains_of(victim: int) -> Kind:
    """Says from the beginning to the end that one member gives it no means."""
    return lambda machine, _: _lacks(machine, frozenset({victim}))


def _lacks(machine: Butterfly, stalled: Members) -> Hostile:
    def alter(send: Send[Any], _: float) -> list[Send[Any]]:
        status = send.message
        if not isinstance(status, Status):
            return [send]
        silent = msgspec.structs.replace(status, nonce=b"", nonces=(), fingerprints=())
        return [Send(send.to, msgspec.structs.replace(silent, stalled=to_bits(stalled)))]

    return Hostile(machine, alter)


class Complains(Hostile):
    """Says of all others that they give it no means: at once, and whenever a share is made anew.

    Args:
        machine: An honest one.
        group: Its group.
    """

    def __init__(self, machine: Butterfly, group: KnownGroup) -> None:
        super().__init__(machine, self._alter_status)
        self._members = range(len(group.peers))
        self._stalled = to_bits(frozenset(self._members) - {group.place})
        self._said: Versions = ()

    def start(self, now: float) -> list[Any]:
        """Starts the honest machine, and complains."""
        plan, members = self.machine.plan, tuple(self._members)
        said = super().start(now)
        return [*said, self._complaint(plan.peers[plan.leaders[0]], (0,) * len(members), members)]

    def handle(self, event: Received[Any] | Tick | Lost, now: float) -> list[Any]:
        """Complains where an order has it that a share is made anew."""
        said = super().handle(event, now)
        if not (isinstance(event, Received) and isinstance(event.message, Order)):
            return said
        order = event.message
        anew = order.versions != self._said
        return [*said, self._complaint(event.sender, order.versions, order.reducers)] if anew else said

    def _complaint(self, to: PeerId, versions: Versions, reducers: Reducers) -> Send[Any]:
        self._said = versions
        return Send(to, Status(self.machine.plan.round, versions, reducers, self._stalled))

    def _alter_status(self, send: Send[Any], _: float) -> list[Send[Any]]:
        status = send.message
        if not isinstance(status, Status):
            return [send]
        return [Send(send.to, msgspec.structs.replace(status, stalled=self._stalled))]


def slanders(random: Random) -> Kind:
    """Votes as if the means of one member, each round another's, were other ones."""

    def kind(machine: Butterfly, group: KnownGroup) -> Hostile:
        of = random.choice([m for m, count in enumerate(machine.plan.chunks) if count and m != group.place])

        def alter(send: Send[Any], _: float) -> list[Send[Any]]:
            status = send.message
            if not isinstance(status, Status) or not status.fingerprints:
                return [send]
            votes = tuple(b"x" * 16 if share == of else vote for share, vote in enumerate(status.fingerprints))
            return [Send(send.to, msgspec.structs.replace(status, fingerprints=votes))]

        return Hostile(machine, alter)

    return kind


def cheats(random: Random) -> Kind:
    """Gives one of the others, each round another one, another mean of a chunk."""

    def kind(machine: Butterfly, group: KnownGroup) -> Hostile:
        victim = random.choice([peer for place, peer in enumerate(group.peers) if place != group.place])

        def alter(send: Send[Any], _: float) -> list[Send[Any]]:
            split = isinstance(send.message, Mean) and send.to == victim and send.message.chunk == CHEATED_CHUNK
            return [Send(send.to, other_mean(send.message)) if split else send]

        return Hostile(machine, alter)

    return kind


CHEATED_CHUNK = 2
"""Place in its share of the chunk of which `cheats` gives two means."""


def other_mean(mean: Mean) -> Mean:
    """The same with one bit of its payload turned over."""
    payload = bytearray(mean.payload)
    if payload:
        payload[min(3, len(payload) - 1)] ^= 1
    return msgspec.structs.replace(mean, payload=memoryview(payload))


def never_commits(machine: Butterfly, _: KnownGroup) -> Hostile:
    """Coordinates a round up to the votes, and never sends a Commit."""
    return Hostile(machine, lambda send, _now: [] if isinstance(send.message, Commit) else [send])
