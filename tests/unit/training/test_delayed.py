"""Delayed parameter updates: gradients are one step stale at most, and none is lost or counted twice."""

import gc
from pathlib import Path

import msgspec
import numpy as np
import pytest
import torch

from core.base.content import digest
from core.base.manifest import AveragingNumbers
from core.tasks.task import Losses
from core.training.learner import Learner
from core.workers import frames
from tests.unit.training.small import MANIFEST, PlainLamb, Points, SmallTask, learner
from tests.unit.training.test_conversation import LINEAGE, Talk, talk

DELAYED = msgspec.structs.replace(MANIFEST, averaging=AveragingNumbers(delayed=True))
LINEAGES = [digest(bytes([n])) for n in range(9)]


class Recorded(SmallTask):
    """Writes down the batches, each with the step at whose parameters its gradient was computed."""

    def __init__(self) -> None:
        self.taken: list[tuple[int, Points]] = []
        self.step = 0

    def loss(self, model: torch.nn.Module, batch: Points) -> Losses:
        self.taken.append((self.step, batch))
        return super().loss(model, batch)


class Reference:
    """One process that holds the parameters of every step, and LAMB in double precision."""

    def __init__(self) -> None:
        self._model = SmallTask().model(int.from_bytes(DELAYED.id[:8], "big"))
        self._lamb = PlainLamb(list(self._model.parameters()))
        self.states = [self._now()]

    def _now(self) -> list[torch.Tensor]:
        return [parameter.detach().clone() for parameter in self._lamb.parameters]

    def gradient(self, step: int, batches: list[Points]) -> list[torch.Tensor]:
        """The mean gradient over the batches' samples at the parameters of a step."""
        model = SmallTask().model(0)
        with torch.no_grad():
            for parameter, value in zip(model.parameters(), self.states[step], strict=True):
                parameter.copy_(value)
        union = Points(*(torch.cat([getattr(batch, name) for batch in batches]) for name in ("x", "y")))
        return list(torch.autograd.grad(SmallTask().loss(model, union).objective, list(model.parameters())))

    def take(self, parts: list[tuple[int, list[Points]]]) -> None:
        """One step with the mean over all samples of (step whose parameters were used, batches)."""
        parts = [(step, batches) for step, batches in parts if batches]
        counts = [sum(batch.samples for batch in batches) for _, batches in parts]
        gradients = [self.gradient(step, batches) for step, batches in parts]
        total = sum(counts)
        mean = [
            sum(n / total * g.double() for n, g in zip(counts, tensors, strict=True))
            for tensors in zip(*gradients, strict=True)
        ]
        self._lamb.step(mean)
        self.states.append(self._now())

    def distance(self, peer: Learner) -> float:
        """Between its newest parameters and a peer's, relative."""
        expected = torch.cat([value.flatten() for value in self.states[-1]])
        return float(torch.linalg.vector_norm(peer.parameters.values_N - expected) / expected.norm())


def delayed(folder: Path, **more: object) -> Learner:
    return learner(folder, manifest=DELAYED, **more)


def compute(peer: Learner, batches: int) -> None:
    for _ in range(batches):
        assert peer.accumulate()


# Batches of each of two peers before a round begins, and while it is averaged.
MIXED = [((3, 1), (2, 4)), ((1, 2), (0, 3)), ((2, 5), (1, 1)), ((4, 0), (2, 2)), ((1, 1), (3, 0))]
SATURATED = [((3, 1), (2, 4)), ((0, 0), (3, 3)), ((0, 0), (1, 2)), ((0, 0), (2, 2)), ((0, 0), (5, 1))]
"""Averaging takes longer than computing: from the second on all gradients are computed at the step before."""


@pytest.mark.parametrize("rounds", [MIXED, SATURATED], ids=["mixed", "saturated"])
def test_step_takes_gradients_of_its_state_and_the_previous_one(tmp_path: Path, rounds: list) -> None:
    tasks = [Recorded(), Recorded()]
    peers = [delayed(tmp_path / str(n), seed=n, task=task) for n, task in enumerate(tasks)]
    reference, undelayed = Reference(), Reference()
    for step, (before, meanwhile) in enumerate(rounds):
        for peer, count in zip(peers, before, strict=True):
            compute(peer, count)
        parts = [(at, [batch for task in tasks for made, batch in task.taken if made == at]) for at in range(step + 1)]
        assert not any(batches for at, batches in parts if at < step - 1)
        samples = [peer.samples for peer in peers]
        assert sum(samples) == sum(batch.samples for _, batches in parts for batch in batches)
        handed = [peer.hand_over().astype(np.float64) for peer in peers]
        for task in tasks:
            task.taken.clear()
        for peer, count in zip(peers, meanwhile, strict=True):
            compute(peer, count)
        mean_N = sum(n * gradient for n, gradient in zip(samples, handed, strict=True)) / sum(samples)
        for peer, task in zip(peers, tasks, strict=True):
            peer.absorb(mean_N.astype(np.float32), epoch=step + 1, lineage=LINEAGES[step])
            task.step = step + 1
            assert peer.samples == sum(batch.samples for _, batch in task.taken)
        reference.take(parts)
        undelayed.take([(step, [batch for _, batches in parts for batch in batches])])
        assert reference.distance(peers[0]) <= 1e-5
    assert peers[0].state.saved.digest == peers[1].state.saved.digest
    assert undelayed.distance(peers[0]) > 1e-3  # gradients at the newest parameters lead elsewhere


def test_a_round_that_comes_to_nothing_gives_all_back(tmp_path: Path) -> None:
    task, plain = Recorded(), Recorded()
    peer, other = delayed(tmp_path / "a", task=task), learner(tmp_path / "b", task=plain, manifest=DELAYED)
    compute(peer, 3)
    peer.hand_over()
    compute(peer, 2)
    assert peer.rule.ahead == sum(batch.samples for _, batch in task.taken[3:])
    peer.take_back()
    compute(other, 5)
    assert (peer.samples, peer.rule.ahead) == (other.samples, 0)
    assert peer.loss == pytest.approx(other.loss)
    np.testing.assert_allclose(peer.hand_over(), other.hand_over(), rtol=1e-5, atol=1e-8)


def test_whoever_loads_another_state_forgets_both(tmp_path: Path) -> None:
    """They were computed at parameters of an unknown age, and what was handed over may be in that state already."""
    ahead, peer = delayed(tmp_path / "ahead", seed=1), delayed(tmp_path / "peer", seed=2)
    compute(ahead, 1)
    state = ahead.absorb(ahead.hand_over(), epoch=1, lineage=LINEAGES[1])
    compute(peer, 2)
    peer.hand_over()
    compute(peer, 2)
    peer.load(state.saved.path, epoch=1, lineage=LINEAGES[1])
    assert (peer.samples, peer.rule.ahead, peer.loss) == (0, 0, 0.0)
    assert not peer.hand_over().any()


def vectors(peer: Learner) -> int:
    """How many tensors of the length of all parameters there are in this process."""
    gc.collect()
    return sum(type(kept) is torch.Tensor and kept.numel() == peer.numel for kept in gc.get_objects())


def test_rounds_that_overlap_take_one_more_vector(tmp_path: Path) -> None:
    peer = delayed(tmp_path)
    before = vectors(peer)
    for epoch in range(1, 6):
        compute(peer, 1)
        mean = peer.hand_over().copy()
        compute(peer, 1)
        if epoch % 2:
            peer.take_back()
            mean = peer.hand_over().copy()
        peer.absorb(mean, epoch=epoch, lineage=LINEAGES[epoch])
    assert vectors(peer) == before + 1


def test_a_step_that_is_refused_loses_nothing(tmp_path: Path) -> None:
    peer = delayed(tmp_path)
    compute(peer, 2)
    mean = peer.hand_over()
    compute(peer, 1)
    samples, ahead = peer.samples, peer.rule.ahead
    mean[0] = np.nan
    with pytest.raises(Exception, match="not finite"):
        peer.absorb(mean, epoch=1, lineage=LINEAGES[1])
    assert (peer.samples, peer.rule.ahead) == (samples, ahead)


# --- the talk with the engine ----------------------------------------------------------------------------------------


def told(t: Talk) -> frames.Progress:
    progress = t.said[-1]
    assert isinstance(progress, frames.Progress)
    return progress


def test_it_computes_on_while_a_round_is_averaged(tmp_path: Path) -> None:
    t = talk(tmp_path, manifest=DELAYED)
    t.train(3)
    (collected,) = t.hear(frames.Collect(round=b"r"))
    assert isinstance(collected, frames.Collected)
    assert collected.samples == t.peer.samples
    out = t.arena.slot("contribution").copy()
    t.train(8)
    assert np.array_equal(t.arena.slot("contribution"), out)
    assert told(t).epoch == 0
    assert 0 < told(t).ahead < told(t).samples
    t.arena.slot("mean")[:] = out
    (stepped,) = t.hear(frames.Absorb(round=b"r", epoch=1, lineage=LINEAGE))
    assert isinstance(stepped, frames.Stepped)
    assert 0 < stepped.samples == t.peer.samples
    assert stepped.loss == t.peer.loss
    t.train(1)
    assert (told(t).epoch, told(t).ahead) == (1, 0)
    assert told(t).samples == t.peer.samples > stepped.samples


def test_a_released_contribution_counts_with_what_came_meanwhile(tmp_path: Path) -> None:
    t = talk(tmp_path, manifest=DELAYED)
    t.train(2)
    (first,) = t.hear(frames.Collect(round=b"r"))
    t.train(4)
    t.hear(frames.Release(round=b"another"))
    assert t.peer.rule.ahead
    t.hear(frames.Release(round=b"r"))
    (second,) = t.hear(frames.Collect(round=b"s"))
    assert isinstance(first, frames.Collected)
    assert isinstance(second, frames.Collected)
    assert second.samples == t.peer.samples > first.samples


def test_nothing_is_computed_for_an_epoch_that_will_not_come(tmp_path: Path) -> None:
    t = talk(tmp_path, manifest=DELAYED, hold_at_epoch=1)
    t.train(1)
    t.hear(frames.Collect(round=b"r"))
    assert not t.conversation.training
    t.hear(frames.Release(round=b"r"))
    assert t.conversation.training
