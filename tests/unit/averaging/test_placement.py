"""The grid: everybody in one group a stage, and the exact mean for every number of peers."""

from random import Random

import numpy as np
import pytest

from core.averaging.grid.layout import Group, group_of, lay_out
from tests.bench.averaging.groups import stages_for

CASES = [(peers, stages) for stages in (1, 2, 3, 4) for peers in range(max(2, 1 << stages), 71)]


def averaged(grid: list[list[Group]], values: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Stage after stage, in float64: what each peer holds, and its weight."""
    held, weight = values.astype(np.float64), weights.astype(np.float64)
    for stage in grid:
        after, heavier = np.full_like(held, np.nan), np.full_like(weight, np.nan)
        for group in stage:
            givers = list(group.members[: len(group.blocks)])
            total = weight[givers].sum()
            mean = (held[givers] * weight[givers, None]).sum(axis=0) / total
            for member in group.members:
                after[member], heavier[member] = mean, total
        held, weight = after, heavier
    return held, weight


@pytest.mark.parametrize(("peers", "stages"), CASES)
def test_everybody_gets_the_mean_of_all(peers: int, stages: int) -> None:
    random = np.random.default_rng(peers * 10 + stages)
    values = random.standard_normal((peers, 5))
    weights = random.integers(1, 1000, peers)
    order = list(range(peers))
    Random(peers).shuffle(order)
    held, total = averaged(lay_out(order, stages), values, weights)
    np.testing.assert_allclose(
        held, np.broadcast_to(np.average(values, axis=0, weights=weights), held.shape), atol=1e-12
    )
    np.testing.assert_allclose(total, weights.sum())


@pytest.mark.parametrize(("peers", "stages"), CASES)
def test_everybody_is_in_one_group_a_stage(peers: int, stages: int) -> None:
    grid = lay_out(range(peers), stages)
    assert len(grid) == stages
    for stage in grid:
        members = [member for group in stage for member in group.members]
        assert sorted(members) == list(range(peers))
        assert min(len(group.members) for group in stage) >= 2
        assert all(group.members == group_of(stage, m).members for group in stage for m in group.members)
        for group in stage:
            assert [group.block_of(member) for member in group.members][: len(group.blocks)] == list(group.blocks)
            assert all(group.block_of(member) for member in group.members)


@pytest.mark.parametrize("peers", range(4, 257))
def test_groups_are_about_as_small_as_can_be(peers: int) -> None:
    for stages in (2, 3, 4):
        if peers >= 1 << stages:
            least = next(size for size in range(2, peers + 1) if stages_for(peers, size) <= stages)
            assert max(len(g.members) for stage in lay_out(range(peers), stages) for g in stage) <= least + 1


@pytest.mark.parametrize(
    ("group", "stages"), [(2, 2), (2, 3), (2, 4), (3, 2), (3, 3), (4, 2), (4, 3), (5, 2), (8, 2), (16, 2)]
)
def test_a_full_grid_has_groups_of_one_size(group: int, stages: int) -> None:
    grid = lay_out(range(group**stages), stages)
    assert {len(g.members) for stage in grid for g in stage} == {group}
    assert all(len(g.members) == len(g.blocks) for stage in grid for g in stage)


def test_no_two_peers_meet_twice_in_a_full_grid() -> None:
    grid = lay_out(range(64), 3)
    met = [{frozenset((a, b)) for g in stage for a in g.members for b in g.members if a < b} for stage in grid]
    assert not met[0] & met[1]
    assert not met[0] & met[2]


@pytest.mark.parametrize(("peers", "stages"), [(3, 2), (7, 3), (1, 0), (15, 4)])
def test_too_few_peers(peers: int, stages: int) -> None:
    with pytest.raises(ValueError, match="stages"):
        lay_out(range(peers), stages)
