"""Spikes against the norms before them, an independent reading of the rule, and whole learners."""

import statistics
from itertools import islice
from pathlib import Path
from random import Random

import msgspec
import numpy as np
import pytest
import torch

from core.api.score import Score
from core.base.content import digest
from core.tasks.task import Evaluation
from core.training.learner import Learner
from core.training.optimizers.clipping import LEAST, WINDOW, Clipping
from tests.unit.training.small import MANIFEST, SmallTask, learner

ADAMW = {"name": "adamw", "learning_rate": 0.02, "max_grad_norm": 1e9, "warmup_epochs": 0, "total_epochs": 10**6}
GUARDED = ADAMW | {"spike_guard": 6.0}
SPIKE = 1000.0


def of_norm(norm: float) -> np.ndarray:
    return np.array([0.6 * norm, -0.8 * norm], np.float32)


def test_gradient_is_clipped_only_above_the_limit() -> None:
    gradient = np.array([3.0, -4.0], np.float32)
    assert [Clipping(limit).factor(gradient, taken=0) for limit in (6.0, 5.0, 1.0)] == [1.0, 1.0, 0.2]
    assert Clipping(1.0).factor(np.zeros(3, np.float32), taken=0) == 1.0
    assert not Clipping(1.0).state


@pytest.mark.parametrize("seed", range(5))
def test_factors_are_those_of_the_written_rule(seed: int) -> None:
    random, clipping, past = Random(seed), Clipping(3.0, deviations=4.0), []
    found = set()
    for taken in range(300):
        norm = float(np.float32(random.lognormvariate(0, 0.3) * random.choice([1] * 9 + [4])))
        expected = 3.0
        if len(past) >= LEAST:
            usual = statistics.median_high(past[-WINDOW:])
            spread = 1.4826 * statistics.median_high([abs(one - usual) for one in past[-WINDOW:]])
            if norm > usual + 4 * spread and norm > 2 * usual:
                expected = min(expected, usual)
        factor = clipping.factor(np.array([norm], np.float32), taken=taken)
        assert factor == pytest.approx(min(1.0, expected / norm), rel=1e-6)
        assert clipping.clipped == 1 - factor
        found.add(expected == 3.0)
        past.append(norm)
    assert found == {True, False}


def test_guard_follows_norms_that_rise_for_good() -> None:
    clipping = Clipping(1e9, deviations=6.0)
    factors = [clipping.factor(of_norm(50.0 if taken >= 100 else 1.0), taken=taken) for taken in range(200)]
    held = [taken for taken, factor in enumerate(factors) if factor < 1]
    assert held == list(range(100, 100 + WINDOW // 2))
    assert all(factors[taken] == pytest.approx(1 / 50) for taken in held)


def test_gradients_of_no_length_are_no_usual_ones() -> None:
    clipping = Clipping(1e9, deviations=6.0)
    for taken in range(WINDOW):
        clipping.factor(of_norm(0.0 if taken % 2 else 1.0), taken=taken)
    assert clipping.factor(of_norm(1.5), taken=WINDOW) == 1.0
    assert clipping.factor(of_norm(10.0), taken=WINDOW + 1) == pytest.approx(0.1)


def test_longest_possible_gradient_leaves_a_state_that_loads() -> None:
    clipping = Clipping(1e12, deviations=6.0)
    clipping.factor(np.full(100, 3e38, np.float32), taken=0)
    assert torch.isfinite(clipping.state["norms"]).all()


class LongLook(SmallTask):
    """Is evaluated on enough points."""

    def evaluate(self, model: torch.nn.Module) -> Evaluation:
        with torch.no_grad():
            losses = [self.loss(model, batch).reported.item() for batch in islice(self.batches(99), 200)]
        return Evaluation(Score(sum(losses) / len(losses)), {})


def a_learner(states: Path, optimizer: dict[str, object]) -> Learner:
    return learner(states, task=LongLook(), manifest=msgspec.structs.replace(MANIFEST, optimizer=optimizer))


def mean_of(peer: Learner, *, factor: float = 1.0) -> np.ndarray:
    for _ in range(4):
        peer.accumulate()
    return np.float32(factor) * peer.hand_over()


def loss_after(states: Path, optimizer: dict[str, object], *, spikes: tuple[int, ...]) -> float:
    """After 400 steps, some of them with a mean of a thousand times the length."""
    peer = a_learner(states, optimizer)
    for epoch in range(400):
        peer.rule.absorb(torch.from_numpy(mean_of(peer, factor=SPIKE if epoch in spikes else 1.0)))
    return peer.evaluate().score.loss


def test_spikes_do_lasting_harm_only_without_the_guard(tmp_path: Path) -> None:
    spikes = (40, 41, 60)
    plain = loss_after(tmp_path / "plain", ADAMW, spikes=())
    spoilt = loss_after(tmp_path / "spoilt", ADAMW, spikes=spikes)
    guarded = loss_after(tmp_path / "guarded", GUARDED, spikes=spikes)
    without = loss_after(tmp_path / "without", GUARDED, spikes=())
    assert spoilt > 2 * plain
    assert guarded < 1.1 * plain
    assert without < 1.1 * plain


def test_peers_of_other_histories_decide_alike(tmp_path: Path) -> None:
    """One goes on, one is started again, one has a stranger's file: a spike leads all to one state, bit for bit."""
    means = [(1 + epoch % 5) * mean_of(a_learner(tmp_path / "means", ADAMW)) for epoch in range(30)]
    steady = a_learner(tmp_path / "steady", GUARDED)
    for epoch, mean in enumerate(means, 1):
        steady.absorb(mean, epoch=epoch, lineage=digest(bytes([epoch])))
    path = steady.state.saved.path
    restarted, late = a_learner(tmp_path / "steady", GUARDED), a_learner(tmp_path / "late", GUARDED)
    late.load(path, epoch=30, lineage=digest(bytes([30])))
    found = set()
    for peer in (steady, restarted, late):
        for epoch, mean in ((31, SPIKE * means[0]), (32, means[1])):
            found.add((epoch, peer.absorb(mean, epoch=epoch, lineage=digest(bytes([epoch]))).saved.digest))
    assert len(found) == 2
    assert restarted.state.saved.digest == late.state.saved.digest
