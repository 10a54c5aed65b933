"""What goes wrong for honest members: lines, processes, sleep, and processors that round otherwise."""

from collections.abc import Iterable, Sequence
from random import Random
from typing import Any

import numpy as np

from core.averaging.aggregators import NO_FACTS, Aggregator, CenteredClip, PartFacts
from tests.sim.rounds.run import Cut, Death, DeathWay, Freeze, Mishap

ROUNDED = 2e-6
"""Relative error of another processor's clipped means and radii."""


class Luck:
    """Nothing goes wrong."""

    def mishaps(self, number: int, honest: Sequence[int]) -> Sequence[Mishap]:
        """What happens to members in the round of this number.

        Args:
            number: Of the round.
            honest: Places of honest members.
        """
        del number, honest
        return ()

    def late_s(self) -> float:
        """How late the next message is."""
        return 0.0

    def aggregator(self, place: int) -> Aggregator:
        """With what a member makes means."""
        del place
        return CenteredClip()


class Rounding(CenteredClip):
    """Clipped means of a processor that rounds otherwise."""

    def __init__(self, random: Random) -> None:
        super().__init__()
        self._random = random

    def aggregate(self, weights: Any, parts: Any, out: Any, facts: PartFacts = NO_FACTS) -> float:
        """Write what the parts become, a little off."""
        radius = super().aggregate(weights, parts, out, facts)
        noise = np.random.default_rng(self._random.getrandbits(32)).standard_normal(out.size, dtype=np.float32)
        out += np.float32(ROUNDED * np.linalg.norm(out) / out.size**0.5) * noise
        return radius * (1 + self._random.uniform(-ROUNDED, ROUNDED))


class BadLuck(Luck):
    """In three of four rounds something happens to honest members, and each message may be late.

    Args:
        seed: Decides all.
        late: Part of the messages that come 0.05 to 1 s late.
    """

    def __init__(self, seed: int, *, late: float = 0.005) -> None:
        self._random = Random(seed)
        self._late = late

    def mishaps(self, number: int, honest: Sequence[int]) -> Sequence[Mishap]:
        """One or two honest members die, sleep, or lose the link between them."""
        random, found = self._random, list[Mishap]()
        drawn = iter(random.sample(honest, 4))  # nothing happens to anybody twice
        for first, second in zip(drawn, drawn, strict=True):
            if random.random() < 0.5:
                continue
            at_s = random.uniform(0.0, 0.3)
            way = random.choice([DeathWay.CRASH, DeathWay.POWER_CUT, DeathWay.LEAVE])
            kinds: list[Mishap] = [
                Death(member=first, at_s=at_s, way=way),
                Freeze(member=first, at_s=at_s, seconds=random.choice([1.0, 5.0, 20.0])),
                Cut(first=first, second=second, at_s=at_s),
            ]
            found.append(random.choice(kinds))
        return found

    def late_s(self) -> float:
        """How late the next message is."""
        return self._random.uniform(0.05, 1.0) if self._random.random() < self._late else 0.0

    def aggregator(self, place: int) -> Aggregator:
        """Every other member has another processor."""
        return Rounding(self._random) if place % 2 else CenteredClip()


def struck_by(mishaps: Iterable[Mishap]) -> frozenset[int]:
    """Members to which any of these happens."""
    found: set[int] = set()
    for mishap in mishaps:
        found |= {mishap.first, mishap.second} if isinstance(mishap, Cut) else {mishap.member}
    return frozenset(found)
