from pathlib import Path

import numpy as np
import pytest
import torch
from msgspec.structs import replace

from core.api.score import Score
from core.base.content import digest
from core.base.manifest import AveragingNumbers
from core.base.problems import Damaged, WorkerProblem
from core.base.state_header import MARK_BYTES
from core.tasks.task import Losses
from core.training.learner import TrainerState
from tests.unit.training.small import MANIFEST, PlainLamb, Points, SmallTask, learner

LINEAGES = [digest(bytes([n])) for n in range(6)]


def test_three_unequal_peers_equal_one_process_on_all_batches(tmp_path: Path) -> None:
    """Five steps of LAMB, relative 1e-5 in float32 (S000, appendix G)."""
    taken: dict[int, list[Points]] = {0: [], 1: [], 2: []}

    class Recorded(SmallTask):
        def __init__(self, peer: int) -> None:
            self.peer = peer

        def loss(self, model: torch.nn.Module, batch: Points) -> Losses:
            taken[self.peer].append(batch)
            return super().loss(model, batch)

    peers = [learner(tmp_path / str(peer), seed=peer, task=Recorded(peer)) for peer in taken]
    alone = SmallTask().model(int.from_bytes(MANIFEST.id[:8], "big"))
    parameters = list(alone.parameters())
    lamb = PlainLamb(parameters)
    for epoch in range(1, 6):
        for peer, batches in zip(peers, (1, 4, 9), strict=True):
            for _ in range(batches):
                assert peer.accumulate()
        samples = [peer.samples for peer in peers]
        mean = sum(n * peer.hand_over().astype(np.float64) for n, peer in zip(samples, peers, strict=True))
        mean_N = (mean / sum(samples)).astype(np.float32)
        for peer in peers:
            peer.absorb(mean_N, epoch=epoch, lineage=LINEAGES[epoch])

        union = Points(*(torch.cat([getattr(b, name) for bs in taken.values() for b in bs]) for name in ("x", "y")))
        assert union.samples == sum(samples)
        lamb.step(list(torch.autograd.grad(SmallTask().loss(alone, union).objective, parameters)))
        for batches in taken.values():
            batches.clear()
    expected = torch.cat([p.detach().flatten() for p in parameters])
    for peer in peers:
        assert torch.linalg.vector_norm(peer.parameters.values_N - expected) <= 1e-5 * expected.norm()
        assert peer.state.saved.digest == peers[0].state.saved.digest


def test_the_start_is_the_same_for_all_and_saved(tmp_path: Path) -> None:
    one, two = learner(tmp_path / "a", seed=1), learner(tmp_path / "b", seed=2)
    assert one.state.epoch == 0
    assert one.state.lineage == MANIFEST.id
    assert one.state.saved.path.read_bytes() == two.state.saved.path.read_bytes()


def test_nothing_accumulated_is_a_contribution_of_zeros(tmp_path: Path) -> None:
    peer = learner(tmp_path)
    assert (peer.samples, peer.loss) == (0, 0.0)
    assert not peer.hand_over().any()
    assert peer.hand_over().shape == (peer.numel,)


def test_gradients_that_are_not_finite_never_count(tmp_path: Path) -> None:
    counts: list[int] = []

    class Sometimes(SmallTask):
        def loss(self, model: torch.nn.Module, batch: Points) -> Losses:
            losses = super().loss(model, batch)
            counts.append(batch.samples)
            factor = float("nan") if len(counts) % 2 else 1.0
            return Losses(objective=losses.objective * factor, reported=losses.reported)

    peer = learner(tmp_path, task=Sometimes())
    assert [peer.accumulate() for _ in range(4)] == [False, True, False, True]
    assert peer.rule.dropped == 2
    assert np.isfinite(peer.hand_over()).all()
    assert peer.samples == sum(counts[1::2])


@pytest.mark.parametrize("delayed", [False, True])
def test_step_to_numbers_that_are_not_finite_is_undone(tmp_path: Path, *, delayed: bool) -> None:
    """A decay of 100 at a rate of 10 multiplies every matrix by -999, step after step."""
    growing = {"name": "adamw", "learning_rate": 10.0, "weight_decay": 100.0, "warmup_epochs": 0, "total_epochs": 10**9}
    averaging = AveragingNumbers(delayed=True) if delayed else AveragingNumbers()
    peer = learner(tmp_path, manifest=replace(MANIFEST, optimizer=growing, averaging=averaging))
    values_N = peer.parameters.values_N
    held: list[tuple[TrainerState, torch.Tensor]] = []

    def grow() -> None:
        for epoch in range(1, 30):
            peer.accumulate()
            peer.hand_over()
            peer.absorb(np.zeros(peer.numel, np.float32), epoch=epoch, lineage=digest(bytes([epoch])))
            held.append((peer.state, values_N.clone()))

    with pytest.raises(WorkerProblem, match=r"not finite, so it was undone\."):
        grow()
    assert 5 < len(held) < 20
    assert peer.state == held[-1][0]
    assert torch.equal(values_N, held[-1][1])
    assert peer.samples == 0
    assert max(tmp_path.glob("state-*")) == peer.state.saved.path
    assert learner(tmp_path, manifest=replace(MANIFEST, optimizer=growing, averaging=averaging)).state == peer.state


def test_mean_that_is_not_finite_is_refused_without_change(tmp_path: Path) -> None:
    peer = learner(tmp_path)
    peer.accumulate()
    before, samples = peer.parameters.values_N.clone(), peer.samples
    mean = peer.hand_over()
    mean[3] = np.inf
    with pytest.raises(WorkerProblem, match="not finite"):
        peer.absorb(mean, epoch=1, lineage=LINEAGES[1])
    assert torch.equal(peer.parameters.values_N, before)
    assert (peer.state.epoch, peer.samples) == (0, samples)


def test_a_latecomer_with_the_file_goes_on_like_the_others(tmp_path: Path) -> None:
    """Parameters and statistics come along: the step after loading is the same step."""
    old, new = learner(tmp_path / "old"), learner(tmp_path / "new", seed=5)
    for epoch in (1, 2, 3):
        old.accumulate()
        old.absorb(old.hand_over(), epoch=epoch, lineage=LINEAGES[epoch])
    new.accumulate()
    state = new.load(old.state.saved.path, epoch=3, lineage=LINEAGES[3])
    assert (state.epoch, state.lineage, state.saved.digest) == (3, LINEAGES[3], old.state.saved.digest)
    assert new.samples == 0
    old.accumulate()
    mean = old.hand_over()
    marks = [LINEAGES[epoch][:MARK_BYTES] for epoch in (2, 1)]
    assert new.state.ancestors == old.state.ancestors == b"".join(marks) + MANIFEST.id[:MARK_BYTES]
    states = [peer.absorb(mean, epoch=4, lineage=LINEAGES[4]) for peer in (old, new)]
    assert states[0].saved.digest == states[1].saved.digest


def test_a_restart_goes_on_where_it_was(tmp_path: Path) -> None:
    first = learner(tmp_path)
    first.accumulate()
    saved = first.absorb(first.hand_over(), epoch=1, lineage=LINEAGES[1]).saved
    again = learner(tmp_path)
    assert again.state == first.state
    assert again.state.saved == saved
    assert len(again.state.ancestors) == MARK_BYTES
    assert torch.equal(again.parameters.values_N, first.parameters.values_N)


def test_damaged_state_is_set_aside_and_previous_one_used(tmp_path: Path) -> None:
    first = learner(tmp_path)
    first.accumulate()
    newest = first.absorb(first.hand_over(), epoch=1, lineage=LINEAGES[1]).saved.path
    data = newest.read_bytes()
    newest.write_bytes(data[: len(data) // 2])
    again = learner(tmp_path)
    assert again.state.epoch == 0
    assert [path.name.rpartition("-")[0] for path in again.damaged] == [f"{newest.name}.damaged"]
    assert again.damaged[0].read_bytes() == data[: len(data) // 2]


def test_loading_what_is_no_state_changes_nothing(tmp_path: Path) -> None:
    peer = learner(tmp_path / "a")
    before = peer.parameters.values_N.clone()
    (tmp_path / "x.safetensors").write_bytes(b"\0" * 100)
    with pytest.raises(Damaged):
        peer.load(tmp_path / "x.safetensors", epoch=1, lineage=LINEAGES[1])
    assert torch.equal(peer.parameters.values_N, before)


def test_speed_and_evaluation(tmp_path: Path) -> None:
    peer = learner(tmp_path)
    peer.accumulate()
    assert peer.replicas.samples_per_s == pytest.approx(peer.samples / 0.1)  # one tick of the clock
    assert peer.evaluate().baselines == {"zeros": Score(1.5)}


def test_first_weights_follow_from_the_seed(tmp_path: Path) -> None:
    def weights(name: str, **changes: object) -> np.ndarray:
        manifest = replace(MANIFEST, name=name, **changes)
        return learner(tmp_path / manifest.id.hex(), manifest=manifest).parameters.values_N.numpy()

    np.testing.assert_array_equal(weights("a", seed=1), weights("b", seed=1))
    assert (weights("a", seed=1) != weights("a", seed=2)).any()
    assert (weights("a") != weights("b")).any()
