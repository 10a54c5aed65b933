"""Local steps: how many a peer takes, and what two rules have in common."""

import msgspec
import pytest
import torch

from core.base.problems import BadInput
from core.training.optimizers import optimizer_of
from core.training.rules import rule_of
from core.training.vectors.flat import FlatParameters
from tests.contracts.test_rules import SAMPLES, STEPS, a_peer, mean_of
from tests.unit.training.small import MANIFEST, SmallTask

PLAIN = {"name": "sgd", "momentum": 0.0, "warmup_epochs": 0, "total_epochs": 10**9, "max_grad_norm": 1e9}


def ways(count: int, **changes: object) -> list[float]:
    """How far the parameters went with each batch, and at the end with the contribution."""
    peer = a_peer("local", **changes)
    found = []
    for _ in range(count):
        before = peer.values()
        peer.add(1)
        found.append(float(torch.dist(before, peer.values())))
    before = peer.values()
    peer.rule.hand_over()
    return [*found, float(torch.dist(before, peer.values()))]


def test_a_fast_peer_takes_no_more_local_steps() -> None:
    moved = [way > 0 for way in ways(40)]
    assert sum(moved) == STEPS
    assert moved[-1]


def test_a_slow_peer_takes_a_step_with_what_it_has() -> None:
    assert [way > 0 for way in ways(1, samples=1000)] == [False, True]


def test_one_step_of_plain_descent_equals_gradients() -> None:
    """One local step at rate r, and an outer one at rate 1, is one step with the mean gradient at rate r."""
    outer = {"optimizer": PLAIN | {"learning_rate": 0.05}, "steps": 1}
    local, gradients = ([a_peer(name, seed=seed) for seed in range(2)] for name in ("local", "gradients"))
    local = [a_peer("local", seed=seed, **outer) for seed in range(2)]
    for peers in (local, gradients):
        peers[0].add(2)
        peers[1].add(5)
    torch.testing.assert_close(mean_of(local), 0.05 * mean_of(gradients), rtol=1e-4, atol=1e-7)


def test_the_local_optimizer_s_memory_outlives_a_round() -> None:
    """The second round's first step is not the first step of a new AdamW, which goes as far in each direction."""
    peer = a_peer("local", steps=1, samples=10**6)
    lengths = []
    for _ in range(2):
        peer.add(3)
        contribution = peer.rule.hand_over()
        lengths.append(contribution.abs())
        peer.rule.absorb(contribution)
    assert torch.allclose(lengths[0], torch.full_like(lengths[0], 0.01), rtol=1e-2)
    assert lengths[1].std() > 10 * lengths[0].std()


@pytest.mark.parametrize("change", [{"steps": 0}, {"samples": 0}, {"steps": 10**6}, {"optimizer": 3}])
def test_numbers_of_local_steps_out_of_bounds_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(BadInput, match="do not fit the rule"):
        a_peer("local", **change)


def test_a_local_optimizer_that_nobody_knows_is_refused() -> None:
    with pytest.raises(BadInput, match="does not know the optimiser"):
        a_peer("local", optimizer={"name": "magic"})
    flat = FlatParameters(SmallTask().model(1))
    manifest = msgspec.structs.replace(MANIFEST, rule={"name": "local", "steps": 1, "samples": SAMPLES})
    with pytest.raises(BadInput, match="optimizer"):
        rule_of(manifest, flat, optimizer_of(manifest.optimizer, flat))
