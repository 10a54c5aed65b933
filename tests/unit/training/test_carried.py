"""What a round did not take of a contribution goes out with the next one."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from core.averaging.allreduce.share_map import gives_chunk, untaken_of
from core.base.work import Untaken
from core.training.carried import Carried
from core.workers import frames
from tests.unit.averaging.pump import make_plan
from tests.unit.training.small import learner
from tests.unit.training.test_conversation import LINEAGE, talk

NUMEL, CHUNK = 11, 4


def vector(seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(NUMEL).astype(np.float32)


def untaken(*chunks: bool) -> Untaken:
    return Untaken.of(chunks, chunk_numel=CHUNK)


def test_mask_has_the_numbers_of_untaken_chunks() -> None:
    mask = untaken(True, False, True).mask(NUMEL)
    assert mask.tolist() == [True] * 4 + [False] * 4 + [True] * 3


def test_carried_chunks_become_the_mean_over_all_samples() -> None:
    """By the definition of a mean, with the gradient of each sample written out."""
    chance = np.random.default_rng(3)
    first, second = chance.standard_normal((6, NUMEL)), chance.standard_normal((2, NUMEL))
    carried = Carried()
    carried.keep(first.mean(axis=0).astype(np.float32), samples=6, untaken=untaken(False, True, False))
    out = second.mean(axis=0).astype(np.float32)
    carried.add_to(out, samples=2)
    every = np.concatenate([first, second]).mean(axis=0)
    assert out[4:8] == pytest.approx(every[4:8], rel=1e-5)
    assert out[:4] == pytest.approx(second.mean(axis=0)[:4], rel=1e-6)
    assert out[8:] == pytest.approx(second.mean(axis=0)[8:], rel=1e-6)


def test_chunks_left_again_and_again_fade_by_half() -> None:
    carried, handed_over = Carried(), np.ones(NUMEL, dtype=np.float32)
    for age in range(12):
        assert handed_over == pytest.approx(np.full(NUMEL, 2.0**-age))
        carried.keep(handed_over, samples=5, untaken=untaken(True, True, True))
        handed_over = np.zeros(NUMEL, dtype=np.float32)
        carried.add_to(handed_over, samples=5)


def test_nothing_is_carried_once_a_round_took_all() -> None:
    carried = Carried()
    carried.keep(vector(1), samples=3, untaken=untaken(True, True, True))
    carried.keep(vector(2), samples=3, untaken=None)
    out = vector(3)
    carried.add_to(out, samples=3)
    assert np.array_equal(out, vector(3))


def test_a_contribution_without_samples_is_left_alone() -> None:
    carried = Carried()
    carried.keep(vector(1), samples=0, untaken=untaken(True, True, True))
    out = np.zeros(NUMEL, dtype=np.float32)
    carried.add_to(out, samples=0)
    assert not out.any()


def test_plan_says_which_chunks_a_member_keeps() -> None:
    plan = msgspec.structs.replace(make_plan([3, 4, 5, 6], 16 * 40), portions=(256, 100, 100, 100))
    assert untaken_of(plan, 0) is None
    refused = [msgspec.structs.replace(member, samples=0) for member in plan.members]
    assert untaken_of(msgspec.structs.replace(plan, members=tuple(refused)), 1) is None, "nobody wants it later"
    mask = untaken_of(plan, 1).mask(plan.numel)
    for number in range(plan.chunk_total):
        assert mask[plan.span(number)].all() != gives_chunk(plan.epoch, 1, number, 100)


@pytest.mark.parametrize("released", [False, True], ids=["the next round", "after one that failed"])
def test_worker_carries_what_was_not_taken(tmp_path: Path, *, released: bool) -> None:
    t = talk(tmp_path)
    t.train(3)
    (collected,) = t.hear(frames.Collect(round=b"r"))
    first, samples = t.arena.slot("contribution").copy(), collected.samples
    t.arena.slot("mean")[:] = first
    half = Untaken.of([True, False], chunk_numel=first.size // 2 + 1)
    t.hear(frames.Absorb(round=b"r", epoch=1, lineage=LINEAGE, untaken=half))
    t.train(2)
    if released:
        t.hear(frames.Collect(round=b"s"), frames.Release(round=b"s"))
    fresh, new = t.peer.hand_over(), t.peer.samples
    t.hear(frames.Collect(round=b"t"))
    found, cut = t.arena.slot("contribution"), first.size // 2 + 1
    expected = (new * fresh[:cut] + samples * first[:cut]) / (new + samples)
    assert found[:cut] == pytest.approx(expected, rel=1e-4, abs=1e-6)
    assert np.array_equal(found[cut:], fresh[cut:])


def test_nothing_is_carried_into_a_state_that_was_loaded(tmp_path: Path) -> None:
    other = learner(tmp_path / "other", seed=3)
    other.accumulate()
    path = other.absorb(other.hand_over(), epoch=2, lineage=LINEAGE).saved.path
    t = talk(tmp_path)
    t.train(3)
    t.hear(frames.Collect(round=b"r"))
    t.arena.slot("mean")[:] = t.arena.slot("contribution")
    kept = Untaken.of([True], chunk_numel=t.peer.numel)
    t.hear(frames.Absorb(round=b"r", epoch=1, lineage=LINEAGE, untaken=kept))
    t.hear(frames.Load(path=str(path), epoch=2, lineage=LINEAGE))
    t.train(2)
    fresh = t.peer.hand_over()
    t.hear(frames.Collect(round=b"t"))
    assert np.array_equal(t.arena.slot("contribution"), fresh)
