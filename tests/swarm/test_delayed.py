"""Swarms whose members compute on while a round is averaged: what they lose, how stale they are, how fast."""

import itertools
import statistics
from typing import Any

import pytest

from core.swarm.words.orders import RoundRecord
from tests.sim.checkers import Checker
from tests.sim.churn import ChurnSettings
from tests.sim.swarm.sample_checkers import EachSampleOnce
from tests.sim.swarm.settings import SwarmSettings
from tests.sim.swarm.trial import Trial
from tests.sim.swarm.worker import Absorbed
from tests.sim.world.links import LinkSettings
from tests.sim.world.node import Node
from tests.swarm.test_swarm import WORLDS

PEERS = 4
COMPUTE_S = 6.0
EPOCHS = 6
NOTICE_S = 1.6
"""From a full batch to the round, and the step: reports once a second, a call, 0.2 s for the optimiser."""
LINE_BYTES_PER_S = 64e3


@pytest.mark.parametrize("seed", range(WORLDS))
def test_small_worlds(seed: int) -> None:
    verdict = Trial(seed, peers=6, epochs=4, delayed=True).run()
    assert verdict.ok, f"seed {seed} at {verdict.at_s} s: {verdict.problem}"


def test_only_the_contribution_that_never_arrived_is_lost() -> None:
    """Its peer was cut off before it had sent a chunk, and yet got the mean."""
    verdict = Trial(242, peers=6, epochs=6, delayed=True).run()
    assert verdict.ok, verdict.problem


class Steps(Checker):
    """When the steps were taken, and how long their rounds took."""

    def __init__(self) -> None:
        self.at_s: dict[int, float] = {}
        self.averaging_s: list[float] = []
        self.samples: list[int] = []

    def said(self, node: Node, output: Any, now: float) -> None:
        match output:
            case Absorbed():
                self.at_s.setdefault(output.name.epoch, now)
            case RoundRecord() if output.name.epoch not in self.at_s:
                self.averaging_s.append(output.seconds)
                self.samples.append(sum(samples for _, samples in output.members))

    @property
    def cycle_s(self) -> float:
        """From one step to the next, median; the first two are not counted."""
        times = [self.at_s[epoch] for epoch in sorted(self.at_s)][1:]
        return statistics.median(later - earlier for earlier, later in itertools.pairwise(times))


def calm(parameters: int, *, delayed: bool) -> tuple[Steps, EachSampleOnce]:
    """Epochs of 6 s of computing, on lines of 64 KB/s; peers neither come nor go."""
    links = LinkSettings(
        access_s=(0.005, 0.005),
        around_s=0.0,
        jitter_s=0.0005,
        loss=0.0,
        duplicate=0.0,
        uplink_bytes_per_s=(LINE_BYTES_PER_S, LINE_BYTES_PER_S),
        downlink_bytes_per_s=(LINE_BYTES_PER_S, LINE_BYTES_PER_S),
    )
    settings = SwarmSettings(
        peers=PEERS,
        epochs=EPOCHS,
        churn=ChurnSettings(live=(PEERS, PEERS), up_s=1e9, first_s=1.0),
        links=links,
        parameters=parameters,
        chunk_numel=2048,
        blank=0.0,
        delayed=delayed,
        epoch_s=COMPUTE_S,
        step_s=(0.2, 0.2),
    )
    trial = Trial(4, peers=PEERS, epochs=EPOCHS, settings=settings)
    steps = Steps()
    trial.swarm.world.checkers.append(steps)
    verdict = trial.run()
    assert verdict.ok, verdict.problem
    [samples] = [checker for checker in trial.swarm.world.checkers if isinstance(checker, EachSampleOnce)]
    return steps, samples


@pytest.mark.long
@pytest.mark.parametrize(("up_s", "delayed"), [(1e9, True), (60.0, False)], ids=["nobody goes", "in turn, peers go"])
def test_a_swarm_whose_plans_ask_slow_members_for_parts(up_s: float, *, delayed: bool) -> None:
    """Lines so different that steps follow faster with less of the slow ones' gradients; under all checkers."""
    settings = SwarmSettings(
        peers=5,
        epochs=6,
        churn=ChurnSettings(live=(3, 5), up_s=up_s, down_s=20.0, first_s=1.0),
        links=LinkSettings(loss=0.0, duplicate=0.0, uplink_bytes_per_s=(20e3, 320e3)),
        parameters=65_536,
        chunk_numel=2048,
        delayed=delayed,
        partial=True,
        epoch_s=3.0,
        measured=True,
    )
    trial = Trial(5, peers=5, epochs=6, settings=settings)
    verdict = trial.run()
    assert verdict.ok, f"at {verdict.at_s} s: {verdict.problem}"
    assert verdict.rounds["partial"] >= 1, "there were such rounds"


@pytest.mark.long
@pytest.mark.parametrize("parameters", [30_000, 80_000], ids=["averaging is shorter", "averaging is longer"])
def test_throughput_is_that_of_the_slower_phase_alone(parameters: int) -> None:
    """S000 3.2: min(F_compute, F_aggregate) batches a second with delayed updates, 1 / (T_c + T_a) without."""
    alone, _ = calm(parameters, delayed=False)
    both, samples = calm(parameters, delayed=True)
    averaging_s = statistics.median(both.averaging_s)
    assert (averaging_s < COMPUTE_S) == (parameters == 30_000)
    expected_s = COMPUTE_S + statistics.median(alone.averaging_s) + NOTICE_S
    assert expected_s - NOTICE_S <= alone.cycle_s <= 1.05 * expected_s
    slower_s = max(COMPUTE_S, averaging_s)
    assert slower_s * 0.95 <= both.cycle_s <= slower_s + NOTICE_S
    share = samples.stale / samples.samples
    after_the_first = (EPOCHS - 1) / EPOCHS
    assert share == pytest.approx(after_the_first * min(1.0, averaging_s / COMPUTE_S), abs=0.07)
