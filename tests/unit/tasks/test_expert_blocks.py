"""Blocks of experts: each row alone, numbers by the seed alone, and the paper's size."""

import pytest
import torch

from core.base.mixture import ExpertNumbers
from core.tasks.experts.blocks import BLOCKS, new_expert


def made(seed=1, block="ffn", width=16, factor=4):
    return new_expert(block, width=width, factor=factor, seed=seed)


@pytest.mark.parametrize("block", BLOCKS)
def test_block_gives_each_row_alone(block):
    expert, rows = made(block=block), torch.randn(7, 16, generator=torch.Generator().manual_seed(1))
    together = expert(rows)
    assert together.shape == rows.shape
    alone = torch.cat([expert(row[None]) for row in rows])
    torch.testing.assert_close(alone, together, rtol=1e-5, atol=1e-6)
    assert list(expert.buffers()) == [], "nothing stays from one call to the next"


def test_numbers_of_a_new_expert_follow_from_its_seed():
    before = torch.random.get_rng_state()
    first, again, other = (made(seed).state_dict() for seed in (1, 1, 2))
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not torch.equal(first["0.weight"], other["0.weight"])
    assert torch.equal(torch.random.get_rng_state(), before)


def test_feed_forward_block_has_the_size_of_the_paper():
    with torch.device("meta"):
        block = BLOCKS["ffn"](1024, 4)
    matrices = [parameter.numel() for parameter in block.parameters() if parameter.dim() > 1]
    assert matrices == [1024 * 4096, 4096 * 4096, 4096 * 1024]


@pytest.mark.parametrize("block", BLOCKS)
def test_manifest_counts_the_parameters_that_a_block_has(block):
    numbers = ExpertNumbers(live=16, block=block, width=24, factor=3)
    parameters = made(block=block, width=24, factor=3).parameters()
    assert numbers.expert_numel == sum(parameter.numel() for parameter in parameters)
