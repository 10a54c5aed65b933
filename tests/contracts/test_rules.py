"""What every rule must do.  A new rule: one line in `RULES`, one in `EXAMPLES`, and one in `REFERENCES`."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import msgspec
import pytest
import torch

from core.base.content import digest
from core.base.manifest import AveragingNumbers, Manifest
from core.base.problems import BadInput, WorkerProblem
from core.training.optimizers import Optimizer, optimizer_of
from core.training.rules import RULES, Rule, rule_of
from core.training.vectors.flat import FlatParameters
from tests.contracts.bounds import unbounded
from tests.unit.training.small import MANIFEST, Points, SmallTask, learner

NAMES = tuple(RULES)
SCHEDULE = {"warmup_epochs": 0, "total_epochs": 10**9, "max_grad_norm": 1e9}
OUTER = {"name": "sgd", "learning_rate": 0.4, "momentum": 0.6, **SCHEDULE}
ADAMW = {"name": "adamw", "learning_rate": 0.01, "weight_decay": 0.0, **SCHEDULE}
STEPS, SAMPLES = 3, 12
EXAMPLES: dict[str, dict[str, object]] = {
    "gradients": {},
    "local": {"steps": STEPS, "samples": SAMPLES, "optimizer": ADAMW},
}
STANDS_STILL = frozenset({"local"})
"""Rules that cannot go on while a round is averaged."""
LINEAGE = digest(b"one")
Vector = torch.Tensor


def manifest_of(name: str, *, delayed: bool = False, outer: dict = OUTER, **changes: object) -> Manifest:
    averaging = AveragingNumbers(delayed=True) if delayed else AveragingNumbers()
    rule = {"name": name, **EXAMPLES[name], **changes}
    return msgspec.structs.replace(MANIFEST, optimizer=outer, rule=rule, averaging=averaging)


def batches(seed: int) -> Iterator[Points]:
    return SmallTask().batches(seed)


@dataclass
class Peer:
    """A rule with its model, and batches of its own."""

    model: torch.nn.Module
    flat: FlatParameters
    optimizer: Optimizer
    rule: Rule
    batches: Iterator[Points]

    def add(self, count: int, *, factor: float = 1.0) -> None:
        for batch in islice(self.batches, count):
            self.take(batch, factor=factor)

    def take(self, batch: Points, *, factor: float = 1.0) -> bool:
        loss = SmallTask().loss(self.model, batch).objective
        (factor * loss).backward()
        return self.rule.add(samples=batch.samples, loss=loss.item())

    def values(self) -> Vector:
        return self.flat.values_N.clone()


def a_peer(name: str, *, seed: int = 0, **changes: object) -> Peer:
    manifest = manifest_of(name, **changes)
    model = SmallTask().model(1)
    flat = FlatParameters(model)
    optimizer = optimizer_of(manifest.optimizer, flat)
    rule = rule_of(manifest, flat, optimizer)
    rule.begin(0)
    return Peer(model, flat, optimizer, rule, batches(seed))


def mean_of(peers: list[Peer]) -> Vector:
    contributions = [peer.rule.hand_over() for peer in peers]
    samples = [peer.rule.samples for peer in peers]
    return sum(n / sum(samples) * c.double() for n, c in zip(samples, contributions, strict=True)).float()


# --- independent references: what a round makes of the batches of each peer -----------------------------------------


def flattened(model: torch.nn.Module) -> Vector:
    return torch.cat([parameter.detach().flatten() for parameter in model.parameters()])


def put(model: torch.nn.Module, values: Vector) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            taken, values = values[: parameter.numel()], values[parameter.numel() :]
            parameter.copy_(taken.view(parameter.shape))


def union(parts: list[Points]) -> Points:
    return Points(torch.cat([part.x for part in parts]), torch.cat([part.y for part in parts]))


def gradient(model: torch.nn.Module, parts: list[Points]) -> Vector:
    found = torch.autograd.grad(SmallTask().loss(model, union(parts)).objective, list(model.parameters()))
    return torch.cat([each.flatten() for each in found])


def one_batch(model: torch.nn.Module, taken: list[list[Points]]) -> Vector:
    """The gradient of all batches of all peers as one."""
    return gradient(model, [batch for parts in taken for batch in parts])


def local_training(model: torch.nn.Module, taken: list[list[Points]]) -> Vector:
    """Each peer trains with torch's own AdamW; where they arrive is averaged, weighted by samples."""
    shared = flattened(model)
    ends, weights = [], []
    for parts in taken:
        own = SmallTask().model(1)
        put(own, shared)
        inner = torch.optim.AdamW(own.parameters(), lr=0.01, betas=(0.9, 0.999), eps=1e-8, weight_decay=0.0)
        steps: list[list[Points]] = [[]]
        for batch in parts:
            if sum(each.samples for each in steps[-1]) >= SAMPLES and len(steps) < STEPS:
                steps.append([])
            steps[-1].append(batch)
        for step in steps:
            inner.zero_grad()
            SmallTask().loss(own, union(step)).objective.backward()
            inner.step()
        ends.append(flattened(own))
        weights.append(sum(batch.samples for batch in parts))
    mean = sum(n / sum(weights) * end.double() for n, end in zip(weights, ends, strict=True))
    return (shared - mean).float()


REFERENCES: dict[str, Callable[[torch.nn.Module, list[list[Points]]], Vector]] = {
    "gradients": one_batch,
    "local": local_training,
}


def test_every_rule_has_an_example_and_a_reference() -> None:
    assert tuple(EXAMPLES) == tuple(REFERENCES) == NAMES


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("counts", [(1, 4, 30), (2, 2, 2)])
def test_a_round_equals_the_reference(name: str, counts: tuple[int, ...]) -> None:
    peers = [a_peer(name, seed=seed) for seed in range(len(counts))]
    taken = [list(islice(batches(seed), count)) for seed, count in enumerate(counts)]
    for peer, parts in zip(peers, taken, strict=True):
        for batch in parts:
            peer.take(batch)
    assert [peer.rule.samples for peer in peers] == [sum(batch.samples for batch in parts) for parts in taken]
    theirs = SmallTask().model(1)
    expected = REFERENCES[name](theirs, taken)
    mean = mean_of(peers)
    assert torch.dist(mean, expected) <= 1e-4 * expected.norm()

    outer = torch.optim.SGD(theirs.parameters(), lr=OUTER["learning_rate"], momentum=OUTER["momentum"], nesterov=True)
    for parameter, span in zip(theirs.parameters(), peers[0].flat.spans, strict=True):
        parameter.grad = span.of(expected)
    outer.step()
    peers[0].rule.absorb(mean.clone())
    assert torch.dist(peers[0].values(), flattened(theirs)) <= 1e-4 * flattened(theirs).norm()


@pytest.mark.parametrize("name", NAMES)
def test_equal_means_give_equal_bits(name: str) -> None:
    peers = [a_peer(name, seed=seed) for seed in range(3)]
    for _ in range(3):
        for peer, count in zip(peers, (1, 5, 9), strict=True):
            peer.add(count)
        mean = mean_of(peers)
        for peer in peers:
            peer.rule.absorb(mean.clone())
    first, *others = peers
    for other in others:
        assert torch.equal(first.values(), other.values())
        assert all(torch.equal(first.optimizer.state[key], other.optimizer.state[key]) for key in first.optimizer.state)


@pytest.mark.parametrize("name", NAMES)
def test_rounds_bring_the_loss_down(name: str) -> None:
    peers = [a_peer(name, seed=seed, outer=ADAMW | {"learning_rate": 0.03}) for seed in range(2)]
    probe = union(list(islice(batches(99), 50)))
    before = SmallTask().loss(peers[0].model, probe).objective.item()
    for _ in range(20):
        for peer in peers:
            peer.add(6)
        mean = mean_of(peers)
        for peer in peers:
            peer.rule.absorb(mean.clone())
    assert SmallTask().loss(peers[0].model, probe).objective.item() < 0.8 * before


@pytest.mark.parametrize("name", NAMES)
def test_set_aside_failed_taken_back_loses_nothing(name: str) -> None:
    peer, other = a_peer(name), a_peer(name)
    peer.add(4)
    other.add(4)
    first = peer.rule.hand_over()
    samples, loss = peer.rule.samples, peer.rule.loss
    for _ in range(3):
        peer.rule.take_back()
        assert torch.equal(peer.rule.hand_over(), first)
    peer.rule.take_back()
    assert (peer.rule.samples, peer.rule.loss) == (samples, loss) == (other.rule.samples, other.rule.loss)
    assert torch.equal(other.rule.hand_over(), first)
    peer.add(5)
    other.add(5)
    assert peer.rule.samples == other.rule.samples > samples
    assert peer.rule.loss == pytest.approx(other.rule.loss)
    torch.testing.assert_close(peer.rule.hand_over(), other.rule.hand_over(), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("name", NAMES)
def test_nothing_added_is_a_contribution_of_zeros(name: str) -> None:
    peer = a_peer(name)
    assert (peer.rule.samples, peer.rule.ahead, peer.rule.loss) == (0, 0, 0.0)
    contribution = peer.rule.hand_over()
    assert contribution.shape == (peer.flat.numel,)
    assert contribution.dtype == torch.float32
    assert not contribution.any()


@pytest.mark.parametrize("name", NAMES)
def test_a_contribution_is_a_vector_of_its_own(name: str) -> None:
    peer = a_peer(name)
    peer.add(3)
    contribution = peer.rule.hand_over()
    kept = contribution.clone()
    peer.rule.take_back()
    peer.add(9)
    assert torch.equal(contribution, kept)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("worst", [float("nan"), float("inf")])
def test_gradients_that_are_not_finite_never_count(name: str, worst: float) -> None:
    peer, other = a_peer(name), a_peer(name)
    good = list(islice(batches(5), 6))
    for batch in good:
        assert not peer.take(batch, factor=worst)
        assert peer.take(batch)
        assert other.take(batch)
    assert (peer.rule.dropped, other.rule.dropped) == (len(good), 0)
    assert (peer.rule.samples, peer.rule.loss) == (other.rule.samples, other.rule.loss)
    assert torch.equal(peer.rule.hand_over(), other.rule.hand_over())


@pytest.mark.parametrize("name", NAMES)
def test_a_mean_that_is_not_finite_changes_nothing(name: str) -> None:
    peer = a_peer(name)
    peer.add(4)
    mean = peer.rule.hand_over()
    before, samples = peer.values(), peer.rule.samples
    mean[3] = float("inf")
    with pytest.raises(WorkerProblem, match="not finite"):
        peer.rule.absorb(mean)
    assert torch.equal(peer.values(), before)
    assert peer.rule.samples == samples
    assert not any(tensor.any() for tensor in peer.optimizer.state.values())


@pytest.mark.parametrize("name", NAMES)
def test_absorb_and_begin_forget_what_was_added(name: str) -> None:
    peer = a_peer(name)
    peer.add(4)
    peer.rule.absorb(peer.rule.hand_over())
    assert (peer.rule.samples, peer.rule.ahead, peer.rule.loss) == (0, 0, 0.0)
    assert not peer.rule.hand_over().any()
    peer.add(4)
    peer.rule.begin(7)
    assert (peer.rule.samples, peer.rule.loss) == (0, 0.0)
    assert not peer.rule.hand_over().any()


@pytest.mark.parametrize("name", NAMES)
def test_the_shared_state_can_be_looked_at_meanwhile(name: str) -> None:
    peer = a_peer(name)
    before = peer.values()
    peer.add(7)
    now, samples = peer.values(), peer.rule.samples
    with peer.rule.shared():
        assert torch.equal(peer.values(), before)
    assert torch.equal(peer.values(), now)
    assert peer.rule.samples == samples


@pytest.mark.parametrize("name", NAMES)
def test_overlap_is_refused_or_keeps_what_came_meanwhile(name: str) -> None:
    if name in STANDS_STILL:
        with pytest.raises(BadInput, match=r"cannot go on while a round is averaged.*Ask the organiser"):
            a_peer(name, delayed=True)
        return
    peer = a_peer(name, delayed=True)
    peer.add(3)
    contribution = peer.rule.hand_over()
    out = peer.rule.samples
    peer.add(2)
    assert peer.rule.samples == out + peer.rule.ahead
    ahead = peer.rule.ahead
    peer.rule.absorb(contribution)
    assert (peer.rule.samples, peer.rule.ahead) == (ahead, 0)


@pytest.mark.parametrize("name", NAMES)
def test_a_latecomer_with_the_file_goes_on_like_the_others(name: str, tmp_path: Path) -> None:
    manifest = manifest_of(name)
    old, new = (learner(tmp_path / str(seed), seed=seed, manifest=manifest) for seed in (1, 2))
    for epoch in (1, 2, 3):
        old.accumulate()
        old.absorb(old.hand_over(), epoch=epoch, lineage=LINEAGE)
    for _ in range(20):
        new.accumulate()
    assert new.load(old.state.saved.path, epoch=3, lineage=LINEAGE).saved.digest == old.state.saved.digest
    for _ in range(5):
        old.accumulate()
    assert old.evaluate() == new.evaluate()
    mean = old.hand_over()
    states = [peer.absorb(mean, epoch=4, lineage=LINEAGE) for peer in (old, new)]
    assert states[0].saved.digest == states[1].saved.digest


@pytest.mark.parametrize("name", NAMES)
def test_every_number_has_both_bounds(name: str) -> None:
    assert not unbounded(RULES[name].Numbers)


@pytest.mark.parametrize("name", NAMES)
def test_numbers_that_a_rule_does_not_have_are_refused(name: str) -> None:
    with pytest.raises(BadInput, match="do not fit the rule"):
        a_peer(name, trick=1)


@pytest.mark.parametrize("rule", [{"name": "magic"}, {"name": 3}, {}])
def test_names_that_no_rule_has_are_refused(rule: dict[str, object]) -> None:
    flat = FlatParameters(SmallTask().model(1))
    with pytest.raises(BadInput, match="does not know the rule"):
        rule_of(msgspec.structs.replace(MANIFEST, rule=rule), flat, optimizer_of(OUTER, flat))
