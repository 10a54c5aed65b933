"""Rounds on a grid beside rounds in one group, with members that die at random moments: who ends with what, and when.

`python -m tests.sim.rounds.grid_rounds --peers 16 --rounds 100` prints one line of JSON for each number of stages.
"""

import argparse
import json
import sys
from dataclasses import dataclass, field
from random import Random
from typing import Any

import numpy as np
from numpy.typing import NDArray

from core.averaging.butterfly import Butterfly, RoundInput
from core.averaging.grid.grid import Grid
from core.averaging.grid.plans import GRID_MESSAGES
from core.averaging.matchmaking.attempts import by_distance
from core.averaging.matchmaking.plans import PlanRequest, make_plan
from core.averaging.messages import ROUND_MESSAGES
from core.averaging.outcome import Outcome, RoundFailed, RoundFinished
from core.averaging.plan import Member, Plan
from core.base.ids import Key, PeerId
from core.base.machine import Trace
from core.base.manifest import AveragingNumbers
from core.base.wire import MessageCodec
from core.codecs.registry import codec_of
from tests.sim.world.links import LinkSettings
from tests.sim.world.node import End
from tests.sim.world.signing import SimSigner
from tests.sim.world.world import World

NUMBERS = AveragingNumbers(chunk_numel=4096)
LINES = LinkSettings(uplink_bytes_per_s=(2e5, 2e5), downlink_bytes_per_s=(1e6, 1e6))
NUMEL = 100_000
PATIENCE_S = 150.0
TOLERANCE = 2e-5


def a_plan(seed: int, peers: int, *, stages: int, numel: int = NUMEL) -> Plan:
    """The plan of a round of `peers` with different numbers of samples."""
    ids = [SimSigner.numbered(seed, number).peer_id for number in range(peers)]
    request = PlanRequest(round=seed.to_bytes(32, "big"), epoch=3, lineage=bytes(32), numel=numel, numbers=NUMBERS)
    members = [Member(peer, 10 + number, 1.0) for number, peer in enumerate(ids)]
    return make_plan(request, members, [ids[0], *by_distance(ids[1:], Key(bytes(32)))], stages=stages)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deaths:
    """The members that die, when and how."""

    moments_s: dict[int, float] = field(default_factory=dict)
    how: dict[int, End] = field(default_factory=dict)

    @classmethod
    def drawn(cls, random: Random, peers: int, *, share: float, within_s: float) -> "Deaths":
        """Each with this probability, at any moment."""
        dying = [member for member in range(peers) if random.random() < share]
        ways = (End.CRASH, End.POWER_CUT, End.LEAVE)
        return cls(
            moments_s={member: random.uniform(0.0, within_s) for member in dying},
            how={member: random.choice(ways) for member in dying},
        )


class GridRound:
    """A round of one plan in the simulated world."""

    def __init__(self, plan: Plan, seed: int) -> None:
        self.plan = plan
        self.world = World(seed, MessageCodec((*ROUND_MESSAGES, *GRID_MESSAGES)), links=LINES)
        peers = len(plan.members)
        self.given = np.random.default_rng(seed).standard_normal((peers, plan.numel), dtype=np.float32)
        self.means: NDArray[np.float32] = np.zeros((peers, plan.numel), dtype=np.float32)
        self.outcomes: dict[int, Outcome] = {}
        self.failed: dict[int, str] = {}
        self.ended_s: dict[int, float] = {}
        self.dead: set[int] = set()
        self.machines: list[Butterfly | Grid] = []
        self.traces: list[Trace] = []
        for index, peer in enumerate(plan.peers):
            self._add(index, peer)

    def _add(self, index: int, peer: PeerId) -> None:
        work = RoundInput(self.given[index], self.means[index], codec_of(self.plan.codec))
        self.traces.append(Trace())
        kind = Butterfly if self.plan.stages == 1 else Grid
        machine = kind(peer, self.plan, work, trace=self.traces[index])

        def on_event(event: Any, now: float) -> tuple[()]:
            del now
            if isinstance(event, RoundFinished):
                self.outcomes[index] = event.outcome
            elif isinstance(event, RoundFailed):
                self.failed[index] = event.reason
            self.ended_s[index] = self.world.elapsed_s
            return ()

        self.machines.append(machine)
        node = self.world.add(peer, machine, on_event=on_event)
        self.world.driver.perform(node, machine.start(self.world.now))

    def run(self, deaths: Deaths | None = None) -> None:
        """Until everybody who lives has ended, or for a very long time."""
        coming = sorted((at, member) for member, at in (deaths.moments_s if deaths else {}).items())
        while self.world.elapsed_s < PATIENCE_S:
            while coming and coming[0][0] <= self.world.elapsed_s:
                _, member = coming.pop(0)
                assert deaths is not None
                self.dead.add(member)
                self.world.stop(self.plan.peers[member], deaths.how[member])
            if not coming and all(index in self.ended_s for index in self.alive):
                return
            self.world.run(min(0.25, max(1e-3, coming[0][0] - self.world.elapsed_s)) if coming else 0.25)

    @property
    def alive(self) -> list[int]:
        """Numbers of the members that did not die."""
        return [index for index in range(len(self.machines)) if index not in self.dead]

    @property
    def repeats(self) -> int:
        """How many members repeated a stage, each time counted."""
        return sum(trace["averaging.stage_repeated"] for trace in self.traces)

    def problem(self) -> str:
        """The first violated rule; empty when all is well."""
        holders = [index for index in self.alive if index in self.outcomes]
        if any(index not in self.ended_s for index in self.alive):
            return "a member never ended"
        if len({self.outcomes[index].fingerprint for index in holders}) > 1:
            return "the means have different names"
        if len({self.means[index].tobytes() for index in holders}) > 1:
            return "different means under one name"
        return self._wrong(holders[0]) if holders else ""

    def _wrong(self, holder: int) -> str:
        outcome = self.outcomes[holder]
        if any(chunks < outcome.chunk_total for _, chunks in outcome.missing):
            return ""  # where only parts are missing there is no single mean to compare with
        members = [self.plan.peers.index(peer) for peer, _ in outcome.contributors]
        weights = [self.plan.members[member].samples for member in members]
        exact = np.average(self.given[members].astype(np.float64), axis=0, weights=weights)
        return "" if np.abs(self.means[holder] - exact).max() < TOLERANCE else "the mean is wrong"


def measure(peers: int, *, stages: int, rounds: int, share: float, seed: int = 0) -> dict[str, object]:
    """Rounds with deaths: how many finish, what is repeated, and how long it takes (simulated seconds).

    `repeats` counts members that repeat a stage; `repeats_of_all` how many would repeat if all began anew at a death.
    """
    totals = {"died": 0, "finished": 0, "sent_home": 0, "contributions_lost": 0, "repeats": 0, "repeats_of_all": 0}
    problems, seconds = [], []
    for number in range(seed, seed + rounds):
        plan = a_plan(number, peers, stages=stages)
        calm = GridRound(plan, number)
        calm.run()
        within_s = max(calm.ended_s.values())
        round_ = GridRound(plan, number)
        deaths = Deaths.drawn(Random(f"deaths {number} {peers}"), peers, share=share, within_s=within_s)
        round_.run(deaths)
        problems += [f"{number}: {text}" for text in (calm.problem(), round_.problem()) if text]
        holders = [index for index in round_.alive if index in round_.outcomes]
        totals["died"] += len(round_.dead)
        totals["finished"] += len(holders)
        totals["sent_home"] += len(round_.alive) - len(holders)
        totals["contributions_lost"] += len(round_.outcomes[holders[0]].missing) if holders else 0
        totals["repeats"] += round_.repeats
        totals["repeats_of_all"] += len(round_.alive) if round_.dead else 0
        seconds.append((within_s, max(round_.ended_s[index] for index in round_.alive)))
    return {
        "peers": peers,
        "stages": stages,
        "rounds": rounds,
        **totals,
        "problems": problems,
        "calm_s": round(float(np.median([calm for calm, _ in seconds])), 2),
        "seconds_p50": round(float(np.median([took for _, took in seconds])), 2),
        "seconds_p95": round(float(np.quantile([took for _, took in seconds], 0.95)), 2),
    }


def main(arguments: list[str] | None = None) -> int:
    """Run it from the command line; 1 if anything was wrong."""
    parser = argparse.ArgumentParser(prog="python -m tests.sim.rounds.grid_rounds", description=__doc__)
    parser.add_argument("--peers", type=int, default=16, metavar="N", help="(default: 16)")
    parser.add_argument("--rounds", type=int, default=20, metavar="N", help="of each kind (default: 20)")
    parser.add_argument("--stages", type=int, nargs="+", default=[1, 2], metavar="N", help="(default: 1 2)")
    parser.add_argument("--share", type=float, default=0.1, metavar="P", help="of the members that die (default: 0.1)")
    parser.add_argument("--seed", type=int, default=0, metavar="N", help="of the first round (default: 0)")
    options = parser.parse_args(arguments)
    wrong = False
    for stages in options.stages:
        figures = measure(options.peers, stages=stages, rounds=options.rounds, share=options.share, seed=options.seed)
        sys.stdout.write(json.dumps(figures) + "\n")
        wrong = wrong or bool(figures["problems"])
    return int(wrong)


if __name__ == "__main__":
    raise SystemExit(main())
