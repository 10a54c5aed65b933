"""Targets that one peer fills in less than the time between two reports: the others are waited for, nobody forks."""

from collections import defaultdict
from dataclasses import replace
from typing import Any

import pytest

from tests.sim.checkers import Checker
from tests.sim.churn import ChurnSettings
from tests.sim.swarm.swarm import SwarmSettings
from tests.sim.swarm.trial import Trial
from tests.sim.swarm.worker import Absorbed
from tests.sim.world.links import LinkSettings
from tests.sim.world.node import Node

EPOCHS = 40
NEAR = LinkSettings(loss=0.0, duplicate=0.0, access_s=(0.0002, 0.0002), around_s=0.0, jitter_s=0.0002)


class Forks(Checker):
    """All states to which each epoch led."""

    def __init__(self) -> None:
        self.states: defaultdict[int, set[bytes]] = defaultdict(set)

    def said(self, node: Node, output: Any, now: float) -> None:
        if isinstance(output, Absorbed):
            self.states[output.name.epoch].add(output.name.lineage)

    @property
    def forked(self) -> list[int]:
        return [epoch for epoch, names in self.states.items() if len(names) > 1]


def run(seed: int, *, peers: int, epoch_s: float, epochs: int = EPOCHS, **more: Any) -> Forks:
    settings = SwarmSettings(
        peers=peers,
        epochs=epochs,
        churn=ChurnSettings(live=(peers, peers), up_s=1e9, first_s=1.0),
        links=LinkSettings(loss=0.0, duplicate=0.0),
        parameters=64,
        chunk_numel=16,
        blank=0.0,
        epoch_s=epoch_s,
        step_s=(0.05, 0.4),
    )
    settings = replace(settings, **more)
    trial = Trial(seed, peers=peers, epochs=epochs, settings=settings)
    forks = Forks()
    trial.swarm.world.checkers.append(forks)
    verdict = trial.run()
    assert verdict.ok, f"at {verdict.at_s} s: {verdict.problem}"
    return forks


@pytest.mark.parametrize(
    ("peers", "epoch_s", "averaging"),
    [
        (2, 0.02, "standing still"),
        pytest.param(2, 0.3, "standing still", marks=pytest.mark.long),
        (2, 0.3, "computing on"),
        pytest.param(3, 1.5, "standing still", marks=pytest.mark.long),
    ],
)
def test_no_epoch_has_two_states(peers: int, epoch_s: float, averaging: str) -> None:
    forks = run(1, peers=peers, epoch_s=epoch_s, delayed=averaging == "computing on")
    assert len(forks.states) >= EPOCHS
    assert forks.forked == []


@pytest.mark.parametrize(("seed", "epoch_s", "delayed"), [(2, 0.5, False), (11, 0.3, True)])
def test_two_quick_peers_that_began_apart_join(seed: int, epoch_s: float, *, delayed: bool) -> None:
    """Each takes a step a second of its own: the backbone decides between them, and who has followed follows again."""
    forks = run(seed, peers=2, epoch_s=epoch_s, epochs=40, delayed=delayed, speeds=(200.0, 260.0), links=NEAR)
    assert max(forks.forked, default=0) <= 10
