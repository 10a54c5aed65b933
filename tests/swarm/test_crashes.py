"""Workers that crash and come back: nobody's steps are thrown away, and nobody moves to an earlier epoch.

The timing is that of two real computers: steps of 0.3 to 2 s, a worker that is back after 8 to 12 s, and meanwhile an
engine that reads every 6 s.
"""

from typing import Any

import pytest

from core.base.ids import PeerId
from core.swarm.words.orders import RoundRecord
from core.swarm.words.states import StateName
from tests.sim.checkers import Checker
from tests.sim.churn import ChurnSettings
from tests.sim.swarm.swarm import Swarm, SwarmSettings
from tests.sim.swarm.trial import Trial
from tests.sim.swarm.worker import Absorbed, Holds
from tests.sim.world.links import LinkSettings
from tests.sim.world.node import Node

NEAR = LinkSettings(loss=0.0, duplicate=0.0, access_s=(0.0002, 0.0002), around_s=0.0, jitter_s=0.0002)
AWAY_S = (6.0, 10.0)
"""From a worker's end until the next one begins, which has its model after up to 4 s."""
KILL_EACH_S = 25.0


class Kept(Checker):
    """What each step was made of, and which steps are in the history of the last state."""

    def __init__(self) -> None:
        self.counts = False
        """Whether the first crash is over: two that begin apart are another matter (`test_small_targets`)."""
        self.before: dict[StateName, StateName] = {}
        self.samples: dict[StateName, int] = {}
        self.held: dict[PeerId, StateName] = {}
        self.back: list[tuple[StateName, StateName]] = []
        """Loads of a state with an epoch before the own, from and to."""

    def said(self, node: Node, output: Any, now: float) -> None:
        if isinstance(output, Absorbed):
            self.before[output.name] = output.before
        if isinstance(output, RoundRecord) and self.counts:
            self.samples[output.name] = sum(samples for _, samples in output.members)
        if isinstance(output, Holds):
            name, mine = output.state.name, self.held.get(node.peer)
            if self.counts and output.how == "loaded" and mine is not None and name.epoch < mine.epoch:
                self.back.append((mine, name))
            self.held[node.peer] = name

    def share_lost(self) -> float:
        """Share of all samples in steps that are in none that led to the last state."""
        name: StateName | None = max(self.held.values())
        final = 0
        while name is not None:
            final += self.samples.get(name, 0)
            name = self.before.get(name)
        return 1 - final / sum(self.samples.values())


class Crashes:
    """Has one worker after the other crash, and come back."""

    def __init__(self, swarm: Swarm, kept: Kept) -> None:
        self._swarm, self._kept = swarm, kept
        self._random = swarm.world.chance("crashes")
        self.number = 0
        swarm.world.agenda.after(15.0, self._crash)

    def _crash(self) -> None:
        if self._swarm.calm:
            return
        self._kept.counts = True
        victim = self._random.choice(list(self._swarm.volunteers.values()))
        world, node = self._swarm.world, victim.node
        if victim.training and node is not None:
            self.number += 1
            away_s = self._random.uniform(*AWAY_S)
            world.driver.perform(node, victim.lose_worker(node.local(world.now), back_s=away_s))
        world.agenda.after(self._random.uniform(0.6, 1.4) * KILL_EACH_S, self._crash)


def run(seed: int, *, peers: int = 2, epoch_s: float = 0.7, epochs: int = 70) -> tuple[Kept, Crashes]:
    settings = SwarmSettings(
        peers=peers,
        epochs=epochs,
        churn=ChurnSettings(live=(peers, peers), up_s=1e9, first_s=1.0),
        links=NEAR,
        parameters=64,
        chunk_numel=16,
        blank=0.0,
        epoch_s=epoch_s,
        step_s=(0.02, 0.1),
        speeds=(400.0, 440.0),
        copies=True,
    )
    trial = Trial(seed, peers=peers, epochs=epochs, settings=settings)
    kept = Kept()
    trial.swarm.world.checkers.append(kept)
    crashes = Crashes(trial.swarm, kept)
    verdict = trial.run()
    assert verdict.ok, f"at {verdict.at_s} s: {verdict.problem}"
    return kept, crashes


@pytest.mark.parametrize(("seed", "epoch_s"), [(2, 0.7), (3, 0.7)])
def test_crash_throws_no_steps_away(seed: int, epoch_s: float) -> None:
    """Without the ways in reports, or the question before the first step, up to a twelfth of all samples went."""
    kept, crashes = run(seed, epoch_s=epoch_s)
    assert crashes.number >= 2
    assert kept.back == []
    assert kept.share_lost() <= 0.02
