"""The gate of a mixture against a literal reading of its formulas."""

import numpy as np
import pytest
import torch

from core.experts.grid import ExpertGrid
from core.tasks.experts.gate import MEMORY, Gate, PlaceScores, mixed

GRIDS = [((5,), 5), ((4, 3), 12), ((4, 3), 7), ((2, 3, 4), 24), ((2, 3, 4), 13), ((8, 8), 2)]


@pytest.mark.parametrize(("sizes", "live"), GRIDS)
def test_a_place_scores_the_sum_of_its_heads(sizes: tuple[int, ...], live: int) -> None:
    grid = ExpertGrid(sizes, live)
    scores = torch.randn(6, sum(sizes), generator=torch.Generator().manual_seed(1))
    found = PlaceScores(grid).of_all(scores)
    assert found.shape == (6, live)
    starts = [sum(sizes[:dimension]) for dimension in range(len(sizes))]
    for row in range(6):
        for number in range(live):
            heads = [scores[row, start + at] for start, at in zip(starts, grid.place(number), strict=True)]
            assert found[row, number].item() == pytest.approx(sum(head.item() for head in heads), abs=1e-6)
    places = torch.randint(0, live, (6, 3), generator=torch.Generator().manual_seed(2))
    assert torch.equal(PlaceScores(grid).of(scores, places), found.gather(1, places))


@pytest.mark.parametrize(("sizes", "live"), GRIDS)
def test_imbalance_is_the_squared_coefficient_of_variation(sizes: tuple[int, ...], live: int) -> None:
    grid, random = ExpertGrid(sizes, live), np.random.default_rng(3)
    choices, before, known = PlaceScores(grid), None, None
    for _ in range(3):
        scores = random.normal(size=(9, sum(sizes)))
        literal, shares, start = 0.0, [], 0
        for dimension, size in enumerate(sizes):
            living = sorted({grid.place(number)[dimension] for number in range(live)})
            powers = np.exp(scores[:, start : start + size][:, living])
            share = (powers / powers.sum(1, keepdims=True)).mean(0)
            share = share if known is None else MEMORY * known[dimension] + (1 - MEMORY) * share
            literal += share.var() / share.mean() ** 2
            shares.append(share)
            start += size
        known = shares
        found, before = choices.imbalance(torch.from_numpy(scores), before)
        assert found.item() == pytest.approx(literal, rel=1e-9)
        assert not before.requires_grad


def test_imbalance_is_nothing_where_all_are_chosen_alike() -> None:
    found, _ = PlaceScores(ExpertGrid((4, 4), 16)).imbalance(torch.zeros(5, 8), None)
    assert found.item() == 0


def test_steps_against_the_imbalance_make_a_gate_even() -> None:
    choices, scores = (
        PlaceScores(ExpertGrid((4, 4), 16)),
        torch.randn(32, 8, generator=torch.Generator().manual_seed(4)),
    )
    scores = (3 * scores).requires_grad_()
    first = choices.imbalance(scores, None)[0].item()
    for _ in range(200):
        found, _ = choices.imbalance(scores, None)
        (gradient,) = torch.autograd.grad(found, scores)
        scores = (scores - 5 * gradient).detach().requires_grad_()
    assert found.item() < first / 10


def test_answers_are_weighted_among_those_that_answered() -> None:
    generator = torch.Generator().manual_seed(5)
    scores, answers = torch.randn(7, 3, generator=generator), torch.randn(7, 3, 4, generator=generator)
    answered = torch.tensor([[True, False, True], [False, False, True], *[[True] * 3] * 5])
    found = mixed(scores, answered, answers).numpy()
    for row in range(7):
        powers = [np.exp(scores[row, k].item()) if answered[row, k] else 0.0 for k in range(3)]
        wanted = sum(power / sum(powers) * answers[row, k].numpy() for k, power in enumerate(powers))
        assert np.allclose(found[row], wanted, atol=1e-6)


def test_a_gate_gives_normalised_rows_and_scores() -> None:
    rows, scores = Gate(16, (3, 4))(torch.randn(5, 16) * 9 + 2)
    assert scores.shape == (5, 7)
    assert torch.allclose(rows.mean(1), torch.zeros(5), atol=1e-5)
