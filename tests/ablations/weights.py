"""What each number of `core.averaging.weights` is worth: rounds of honest members and liars, with it and without.

    python -m tests.ablations.weights [--seeds 20]

The rounds are computed, not simulated: everybody trains at its own speed, and a round begins when what is believed
reaches the target.  The table stands in docs/decisions/0012-earned-weights.md.
"""

import argparse
import math
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from statistics import mean
from typing import Final
from unittest.mock import patch

from core.averaging import weights
from core.averaging.plan import leveled
from core.averaging.weights import EarnedSpeeds
from core.base.ids import PeerId

TARGET: Final = 4096
ROUNDS: Final = 60
SHARE: Final = 0.25
CLAIM: Final = 1e12
FAILED: Final = 2.0
"""After a round that failed members have the samples of two."""
SPEEDS: Final = (3.0, 100.0)
"""Samples a second of honest computers, log-uniform."""
UNEVEN: Final = 0.2
"""By so much a computer's speed differs from round to round, either way."""
AWAY: Final = 0.15
"""Share of the rounds in which a computer trains only for a part."""
LATE: Final = 0.1
"""By so much of a round two members differ over when it began."""
VARIANTS: Final[list[tuple[str, Mapping[str, float]]]] = [
    ("as it is", {}),
    ("GROWTH 1.5", {"GROWTH": 1.5}),
    ("GROWTH 30", {"GROWTH": 30.0}),
    ("LEAD 2", {"LEAD": 2.0}),
    ("without LEAD", {"LEAD": 1e15}),
    ("NEWCOMER 0.01", {"NEWCOMER": 0.01}),
    ("NEWCOMER 1", {"NEWCOMER": 1.0}),
    ("TOLERANCE 1", {"TOLERANCE": 1.0}),
    ("JUDGES_AFTER 0", {"JUDGES_AFTER": 0}),
]


@dataclass
class Member:
    """A computer: how fast it is, whether it is here, and what it claims."""

    peer: PeerId
    speed: float
    lies: bool = False
    here: bool = True


@dataclass
class Rounds:
    """Rounds of some members, as the one that leads them all sees them, and as another does."""

    members: list[Member]
    random: Random
    now: float = 0.0
    state: int = 0
    seen: EarnedSpeeds = field(default_factory=EarnedSpeeds)
    others: EarnedSpeeds = field(default_factory=EarnedSpeeds)
    refused: int = 0
    """Members that another would have refused the plan for."""

    def step(self, *, kept: float = 1.0) -> dict[PeerId, tuple[float, int, float]]:
        """One round: of each member that is here its samples, those that counted, and its share of the weight.

        Args:
            kept: So many times what they made in this round the honest have, for a round before it failed.
        """
        here = [member for member in self.members if member.here]
        made = {m.peer: m.speed * self.random.uniform(1 - UNEVEN, 1 + UNEVEN) * self._there() for m in here}
        before, after = (self.state, b""), (self.state + 1, b"")
        until = TARGET / sum(made.values())
        elapsed_s = until
        for _ in range(60):  # it begins as soon as so many samples are believed
            elapsed_s = until / 1.1
            if self._believed(here, made, elapsed_s, before) < TARGET:
                break
            until = elapsed_s
        now = self.now + until
        claims = {m.peer: CLAIM if m.lies else kept * made[m.peer] * until for m in here}
        bounds = self.seen.bounds(before, claims, now)
        counted = {peer: max(1, int(min(claim, bounds[peer]))) for peer, claim in claims.items()}
        judged = self.others.judged(before, claims, now)
        middle = sorted(counted.values())[len(counted) // 2]
        self.refused += sum(
            counted[peer] > max(middle, 1 + weights.TOLERANCE * bound)
            for peer, bound in judged.items()
            if peer in counted and claims[peer] < CLAIM
        )
        shares = leveled(list(counted.values()), SHARE)
        self.seen.committed(before, after, counted, began_at=now)
        late = now + self.random.uniform(-LATE, LATE) * until
        self.others.committed(before, after, counted, began_at=late)
        self.now, self.state = now, self.state + 1
        return {
            peer: (made[peer] * until, counted[peer], share / sum(shares))
            for peer, share in zip(counted, shares, strict=True)
        }

    def _there(self) -> float:
        """The part of a round for which somebody's computer is idle."""
        return self.random.uniform(0.02, 1.0) if self.random.random() < AWAY else 1.0

    def _believed(
        self, here: list[Member], made: dict[PeerId, float], elapsed_s: float, state: tuple[int, bytes]
    ) -> float:
        claims = {m.peer: CLAIM if m.lies else made[m.peer] * elapsed_s for m in here}
        return self.seen.believed(state, claims, self.now + elapsed_s)


def figures(seed: int) -> dict[str, float]:
    """What a world of eight honest members, one of them late, and one liar comes to."""
    random = Random(seed)
    honest = [
        Member(PeerId(bytes([number]) * 32), math.exp(random.uniform(*map(math.log, SPEEDS)))) for number in range(1, 9)
    ]
    liar = Member(PeerId(b"L" * 32), 1.0, lies=True)
    late, faster = honest[:2]
    late.here = liar.here = False
    rounds = Rounds([*honest, liar], random)
    found: dict[str, float] = {}
    counted_of: dict[PeerId, list[float]] = {member.peer: [] for member in honest}
    true: list[float] = []
    liars: list[float] = []
    for number in range(ROUNDS):
        if number == 10:
            late.here = True
        if number == 30:
            rounds.others = EarnedSpeeds()  # a member that has just come
        if number == 20:
            faster.speed *= 6
        liar.here = number >= 40
        done = rounds.step()
        for peer, (samples, counted, share) in done.items():
            if peer == liar.peer:
                liars.append(share)
            else:
                counted_of[peer].append(min(1.0, counted / max(samples, 1)))
        if liar.here:
            true.append(sum(samples for peer, (samples, _, _) in done.items() if peer != liar.peer) / TARGET)
    found["newcomer"] = mean(counted_of[late.peer][:10])
    found["faster"] = mean(counted_of[faster.peer][20:30])
    found["liar's share"] = max(liars)
    found["at first"] = liars[0]
    found["honest samples"] = mean(true)
    found["refused"] = rounds.refused / ROUNDS
    found["later"] = _later(seed)
    return found


def _later(seed: int) -> float:
    """What honest samples are in a round of a target, with a liar, when each tenth of 300 rounds before had failed."""
    random = Random(seed)
    honest = [
        Member(PeerId(bytes([number]) * 32), math.exp(random.uniform(*map(math.log, SPEEDS)))) for number in range(8)
    ]
    liar = Member(PeerId(b"L" * 32), 1.0, lies=True, here=False)
    rounds = Rounds([*honest, liar], random)
    true: list[float] = []
    for number in range(320):
        liar.here = number >= 300
        done = rounds.step(kept=FAILED if number % 10 == 9 else 1.0)
        if liar.here:
            true.append(sum(samples for peer, (samples, _, _) in done.items() if peer != liar.peer) / TARGET)
    return mean(true)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=20)
    seeds = range(parser.parse_args().seeds)
    for place, (name, changed) in enumerate(VARIANTS):
        with patch.multiple(weights, **{"GROWTH": weights.GROWTH, **changed}):
            worlds = [figures(seed) for seed in seeds]
        columns = list(worlds[0])
        if not place:
            sys.stdout.write(f"| | {' | '.join(columns)} |\n|{'---|' * (len(columns) + 1)}\n")
        means = (mean(world[column] for world in worlds) for column in columns)
        sys.stdout.write(f"| {name} | {' | '.join(f'{number:.3f}' for number in means)} |\n")


if __name__ == "__main__":
    main()
