"""What it costs honest members that they are waited for as long as they have earned, and what it saves them.

    python -m tests.ablations.patience [--seeds 10] [--rounds 200]

Simulated rounds of five honest members, one after the other, in which everything goes wrong now and then: a computer
sleeps, crashes or loses power, a link breaks, a line carries a fifth of what the plan counts on, messages come late.
The same with one member that gives nothing, and with new keys for it.  Each with the mechanism and without it.
The figures stand in docs/decisions/0010-stragglers.md.
"""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from random import Random
from statistics import mean
from typing import Final

from tests.sim.rounds import hostile, stragglers
from tests.sim.rounds.run import Cut, Death, DeathWay, Freeze, Mishap
from tests.sim.rounds.stragglers import MEMBERS, PAUSE_S, Mechanism, Scenario, Series, line

TASK: Final = replace(stragglers.TASK, numel=8000, chunk_numel=256)
"""A round takes about a second."""
OFTEN: Final = 0.3
"""Share of the rounds in which something goes wrong for some member."""
SLEEPS_S: Final = (1.0, 4.0, 10.0, 40.0)


def mishaps(random: Random) -> Sequence[Mishap]:
    """What goes wrong in a round."""
    if random.random() >= OFTEN:
        return []
    member, other = random.sample(range(MEMBERS), 2)
    at_s = random.uniform(0.05, 1.2)
    return [
        random.choice(
            [
                Freeze(member=member, at_s=at_s, seconds=random.choice(SLEEPS_S)),
                Death(member=member, at_s=at_s, way=random.choice([DeathWay.CRASH, DeathWay.POWER_CUT])),
                Cut(first=member, second=other, at_s=at_s),
            ]
        )
    ]


@dataclass
class Luck:
    """What became of honest members in the rounds of one series."""

    seconds: list[float] = field(default_factory=list)
    without: int = 0
    """Parts of members that were well, of which a committed round has nothing, or without which it was committed."""
    longest: int = 0
    """Rounds in a row in which that befell one member that was well in each of them."""
    parts: int = 0
    failed: int = 0
    """Rounds that no honest member finished."""


def play(seed: int, rounds: int, *, without: frozenset[Mechanism], mute: bool) -> Luck:
    """One series; a member is well in a round in which nothing befalls it, nor in the round before."""
    series = Series(MEMBERS, hostile.mute if mute else None, place=MEMBERS - 1, seed=seed, without=without, task=TASK)
    random, luck = Random(seed), Luck()
    row, ill = dict.fromkeys(series.peers, 0), set[int]()
    for number in range(rounds):
        struck = [one for one in mishaps(random) if not mute or MEMBERS - 1 not in touched(one)]
        slow = random.randrange(MEMBERS) if random.random() < 0.05 else None
        lines = [line(0.2 if member == slow else 1.0) for member in range(MEMBERS)]
        now_ill = {member for one in struck for member in touched(one)} | ({slow} - {None})
        scenario = Scenario(
            name="unlucky",
            lines=lambda _, lines=lines: lines,  # type: ignore[misc]
            mishaps=lambda _, struck=struck: struck,  # type: ignore[misc]
            late_part=random.choice([0.0, 0.0, 0.02]),
        )
        result = series.round(series.honest[number % len(series.honest)], scenario)
        luck.seconds.append(result.seconds)
        luck.failed += not result.outcomes
        if result.outcomes:
            outcome = result.outcomes[0]
            present = {peer for peer, _ in outcome.contributors}
            for member in series.honest:
                peer = series.peers[member]
                well = member not in now_ill
                luck.parts += well
                gone = well and (peer not in present or peer in outcome.left_out)
                luck.without += gone and member not in ill
                row[peer] = row[peer] + 1 if gone else 0
                luck.longest = max(luck.longest, row[peer])
        ill = now_ill
    return luck


def touched(mishap: Mishap) -> set[int]:
    """The members that a mishap befalls."""
    return {mishap.first, mishap.second} if isinstance(mishap, Cut) else {mishap.member}


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--rounds", type=int, default=200)
    args = parser.parse_args()
    names = ("members", "patience", "seconds a round", "with the pause", "failed", "left out while well", "in a row")
    sys.stdout.write(f"| {' | '.join(names)} |\n|{'---|' * len(names)}\n")
    for mute in (False, True):
        for without in (frozenset[Mechanism](), frozenset({Mechanism.PATIENCE})):
            lucks = [play(seed, args.rounds, without=without, mute=mute) for seed in range(args.seeds)]
            seconds = mean(one for luck in lucks for one in luck.seconds)
            who = "honest and unlucky, one silent" if mute else "honest and unlucky"
            sys.stdout.write(
                f"| {who} | {'without' if without else 'with'} | {seconds:.2f} | {PAUSE_S + seconds:.2f} "
                f"| {sum(luck.failed for luck in lucks)} of {args.rounds * args.seeds} "
                f"| {sum(luck.without for luck in lucks)} of {sum(luck.parts for luck in lucks)} "
                f"| {max(luck.longest for luck in lucks)} |\n"
            )
            sys.stdout.flush()


if __name__ == "__main__":
    main()
