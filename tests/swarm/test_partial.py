"""Swarms whose members stand still while a round is averaged, with a few slow uploads among them."""

import statistics
from typing import Any

import pytest

from core.averaging.allreduce.share_map import untaken_of
from core.swarm.participant import Participant
from core.swarm.words.orders import Absorb
from tests.sim.checkers import Checker
from tests.sim.churn import ChurnSettings
from tests.sim.swarm.settings import SwarmSettings
from tests.sim.swarm.trial import Trial
from tests.sim.world.links import LinkSettings
from tests.sim.world.node import Node
from tests.swarm.test_delayed import Steps

PEERS, EPOCHS = 6, 8
SEED = 5
"""Seed of a world with uploads of 20 to 320 KB/s."""


class Carried(Checker):
    """Counts the steps whose trainer was told of chunks that its round did not take; by the plan, each time."""

    def __init__(self) -> None:
        self.steps = 0

    def said(self, node: Node, output: Any, now: float) -> None:
        del now
        machine = node.machine
        if not isinstance(output, Absorb) or not isinstance(machine, Participant):
            return
        plan = machine.rounds.plan
        assert plan is not None
        assert output.untaken == untaken_of(plan, plan.peers.index(node.peer))
        self.steps += output.untaken is not None


def synchronous(seed: int, *, partial: bool) -> tuple[Steps, Carried]:
    """A batch takes 6 s to compute; nobody comes or goes, and lines are measured in passing."""
    settings = SwarmSettings(
        peers=PEERS,
        epochs=EPOCHS,
        churn=ChurnSettings(live=(PEERS, PEERS), up_s=1e9, first_s=1.0),
        links=LinkSettings(loss=0.0, duplicate=0.0, uplink_bytes_per_s=(20e3, 320e3)),
        parameters=65_536,
        chunk_numel=2048,
        partial=partial,
        epoch_s=6.0,
        measured=True,
        blank=0.0,
    )
    trial = Trial(seed, peers=PEERS, epochs=EPOCHS, settings=settings)
    steps, carried = Steps(), Carried()
    trial.swarm.world.checkers += [steps, carried]
    verdict = trial.run()
    assert verdict.ok, f"at {verdict.at_s} s: {verdict.problem}"
    assert bool(verdict.rounds.get("partial")) == partial
    return steps, carried


@pytest.mark.long
def test_synchronous_steps_come_sooner_with_partial_contributions() -> None:
    """Who leads follows from the bits of the last mean, so one swarm's pace is chance: the middle one of three."""
    ratios = []
    for seed in (SEED, 3, 7):
        whole, none = synchronous(seed, partial=False)
        parts, some = synchronous(seed, partial=True)
        ratios.append(parts.cycle_s / whole.cycle_s)
        assert none.steps == 0
        assert some.steps >= EPOCHS / 2
    assert statistics.median(ratios) <= 0.85
