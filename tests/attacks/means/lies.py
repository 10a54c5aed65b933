"""What liars among the members of simulated rounds do: each is the program with one method replaced."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from core.averaging.aggregators import NO_FACTS, CenteredClip, PartFacts
from core.averaging.butterfly import Butterfly
from core.averaging.messages import SUMS, Mean, Part, Status
from core.averaging.weights import LEAD
from core.base.machine import Received, Send
from tests.sim.rounds.hostile import Hostile, Kind, KnownGroup

Vector = NDArray[np.float32]
Change = Callable[[Vector, Vector, int], Vector]
"""Makes something else of a chunk's mean, the own part of it, and the chunk's number in the whole vector."""
Give = Callable[[Vector, np.random.Generator], Vector]
"""Makes something else of a gradient."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lie:
    """One way of lying in rounds."""

    name: str
    change: Change | None = None
    """What a reducer makes of its means, which all members get."""
    kind: Kind | None = None
    """What it changes of what it says, or hears."""
    give: Give | None = None
    """What a sender gives in place of its gradient."""
    claims: float = 1.0
    """Times the samples of the others that a sender is believed."""


class FalseMeans(CenteredClip):
    """A reducer that gives all members something else than the clipped mean.

    Args:
        change: What it gives.
        own: Its contribution.
        result: Where its means lie.
    """

    def __init__(self, change: Change, *, own: Vector, result: Vector) -> None:
        super().__init__()
        self._change = change
        self._own = own
        self._result = result

    def aggregate(
        self, weights: Sequence[float], parts: Iterable[Vector], out: Vector, facts: PartFacts = NO_FACTS
    ) -> float:
        """Write the false mean to `out`; the radius is true."""
        radius = super().aggregate(weights, parts, out, facts)
        start = (out.ctypes.data - self._result.ctypes.data) // out.itemsize
        out[:] = self._change(out.copy(), self._own[start : start + out.size], start // out.size)
        return radius


def noise_like(mean: Vector, number: int) -> Vector:
    """Noise of a mean's norm."""
    random = np.random.default_rng(number).standard_normal(mean.size).astype(np.float32)
    return random * np.float32(np.linalg.norm(mean) / np.linalg.norm(random))


def to_some(change: Callable[[Vector], Vector]) -> Kind:
    """A reducer that gives every other member another mean than the rest; in float32 only."""

    def kind(machine: Butterfly, group: KnownGroup) -> Hostile:
        told = frozenset(peer for place, peer in enumerate(group.peers) if place % 2)

        def alter(send: Send[Any], _: float) -> list[Send[Any]]:
            mean = send.message
            if not isinstance(mean, Mean) or send.to not in told or mean.share != group.place:
                return [send]
            payload = change(np.frombuffer(mean.payload, dtype="<f4")).astype("<f4").tobytes()
            return [Send(send.to, msgspec.structs.replace(mean, payload=memoryview(payload)))]

        return Hostile(machine, alter)

    return kind


def censors(places: Callable[[KnownGroup], frozenset[int]]) -> Kind:
    """A reducer that can read no part of some members."""

    def kind(machine: Butterfly, group: KnownGroup) -> Hostile:
        shut_out = frozenset(group.peers[place] for place in places(group))

        def hears(event: Received[Any]) -> Received[Any]:
            part = event.message
            if not isinstance(part, Part) or not part.payload.nbytes or event.sender not in shut_out:
                return event
            payload = memoryview(np.full(part.payload.nbytes // 4, np.nan, dtype="<f4").tobytes())
            return Received(event.sender, msgspec.structs.replace(part, payload=payload))

        return Hostile(machine, hears=hears)

    return kind


def withholds(part: int) -> Kind:
    """A reducer that gives one of `part` members no means."""

    def kind(machine: Butterfly, group: KnownGroup) -> Hostile:
        starved = frozenset(peer for place, peer in enumerate(group.peers) if place % part == 0)
        return Hostile(machine, lambda send, _: [] if isinstance(send.message, Mean) and send.to in starved else [send])

    return kind


def frames(machine: Butterfly, group: KnownGroup) -> Hostile:
    """A reducer that says the first member's sums are what would make those of its false means add up."""
    del group

    def alter(send: Send[Any], _: float) -> list[Send[Any]]:
        status = send.message
        if not isinstance(status, Status):
            return [send]
        made = []
        for share, told in status.made:
            sums = np.frombuffer(told, dtype="<f4").reshape(-1, SUMS).copy()
            sums[0] -= sums.sum(axis=0)
            made.append((share, sums.tobytes()))
        return [Send(send.to, msgspec.structs.replace(status, made=tuple(made)))]

    return Hostile(machine, alter)


def _everybody(group: KnownGroup) -> frozenset[int]:
    return frozenset(range(len(group.peers))) - {group.place}


def _first(group: KnownGroup) -> frozenset[int]:
    del group
    return frozenset({0})


REDUCERS: Final = (
    Lie(name="x1000", change=lambda mean, _own, _number: mean * np.float32(1000)),
    Lie(name="turned", change=lambda mean, _own, _number: -mean),
    Lie(name="1e38", change=lambda mean, _own, _number: np.full_like(mean, 1e38)),
    Lie(name="zeros", change=lambda mean, _own, _number: np.zeros_like(mean)),
    Lie(name="own part, called everybody's", change=lambda _mean, own, _number: own),
    Lie(name="noise of the right norm", change=lambda mean, _own, number: noise_like(mean, number)),
    Lie(name="turned, one chunk", change=lambda mean, _own, number: mean if number % 2 else -mean),
    Lie(name="a tenth more", change=lambda mean, _own, _number: mean * np.float32(1.1)),
    Lie(name="x1000, to every other", kind=to_some(lambda mean: mean * np.float32(1000))),
    Lie(name="turned, to every other", kind=to_some(lambda mean: -mean)),
    Lie(name="leaves all others out", kind=censors(_everybody)),
    Lie(name="leaves one out", kind=censors(_first)),
    Lie(name="withholds its means", kind=withholds(1)),
    Lie(name="withholds from every other", kind=withholds(2)),
)
"""Reducers that lie."""

FRAMES: Final = Lie(name="frames one", change=lambda mean, _own, _number: mean * np.float32(1.3), kind=frames)
"""A reducer that has another member blamed for its lie."""

SENDERS: Final = (
    Lie(
        name="gives noise x50", give=lambda own, random: 50 * noise_like(own, int(random.integers(2**32))), claims=LEAD
    ),
    Lie(name="gives -8 times its own", give=lambda own, _: np.float32(-8) * own, claims=LEAD),
    Lie(name="gives 1e30", give=lambda own, _: np.full_like(own, 1e30), claims=LEAD),
    Lie(name="gives one direction x1000", give=lambda own, _: 1000 * noise_like(own, 0), claims=LEAD),
    Lie(name="gives -1 times its own", give=lambda own, _: -own, claims=LEAD),
)
"""Senders of what is no gradient."""
