"""Rounds in which reducers and senders lie, one after the other: what honest members come to, with and without proof.

`python -m tests.attacks.means` has 1,000 rounds of each kind, `python -m tests.attacks.means.accusers` 10,000.
"""

from random import Random

import pytest

from tests.attacks.means.accusers import MEMBERS, other_means
from tests.attacks.means.accusers import played as accused
from tests.attacks.means.lies import FRAMES, REDUCERS, SENDERS, Lie
from tests.attacks.means.luck import BadLuck
from tests.attacks.means.problem import Noise, Problem
from tests.attacks.means.projections import Along
from tests.attacks.means.series import Group, Series

ROUNDS = 4
NUMEL = 8 * 512
TO_ALL = [lie for lie in REDUCERS if lie.change is not None]
TO_SOME = [lie for lie in REDUCERS if lie.name.endswith("to every other")]


def named(lie: Lie) -> str:
    return lie.name


@pytest.mark.parametrize(
    ("lie", "members", "liars"), [*((lie, 3, 1) for lie in TO_ALL), (TO_ALL[1], 8, 3), (TO_ALL[4], 8, 1)]
)
def test_false_mean_is_committed_only_without_the_proof(lie: Lie, members: int, liars: int) -> None:
    counts = Series(Group(members=members, liars=liars, lie=lie), problem=Noise(1, NUMEL)).run(ROUNDS).counts
    assert counts.committed
    assert not counts.false
    assert counts.furthest < 1e-5
    assert counts.named
    assert not counts.wronged
    assert not counts.lacking
    bare = Series(Group(members=members, liars=liars, lie=lie, proven=False), problem=Noise(1, NUMEL)).run(ROUNDS)
    assert bare.counts.false == bare.counts.committed == ROUNDS
    assert not bare.counts.named


@pytest.mark.parametrize("lie", TO_SOME, ids=named)
def test_members_that_are_told_different_means_commit_one_of_them(lie: Lie) -> None:
    counts = Series(Group(members=8, liars=1, lie=lie), problem=Noise(1, NUMEL)).run(ROUNDS).counts
    assert counts.committed >= ROUNDS - 1, "but for the one that the liar leads"
    assert not counts.false
    assert not counts.split
    assert counts.named["doubted"] or counts.named["late"]
    assert not counts.wronged


def test_false_votes_name_no_honest_reducer() -> None:
    """Seven of sixteen vote, in each round, as if others had given them other means."""
    lie = Lie(name="votes", kind=other_means(Random(1)))
    group = Group(members=16, liars=7, lie=lie, chunks=1)
    counts = Series(group, luck=BadLuck(1), problem=Noise(1, 16 * 256)).run(3 * ROUNDS).counts
    assert counts.named["differed"], "those that were given the means, and vote otherwise all the same"
    assert not counts.wronged.keys() & {"differed", "doubted", "late"}
    assert not counts.false
    assert not counts.split


def test_reducers_that_frame_a_member_are_named_alone() -> None:
    """Two of them had that member excluded, and its silence hid the lie of the third: false means were committed."""
    counts = Series(Group(members=8, liars=3, lie=FRAMES), problem=Noise(1, NUMEL)).run(6 * ROUNDS).counts
    assert counts.named["doubted"]
    assert not counts.wronged
    assert not counts.stayed["all"]
    assert not counts.lacking
    assert not counts.false


def test_reducer_that_leaves_all_others_out_loses_its_share() -> None:
    [lie] = [lie for lie in REDUCERS if lie.name == "leaves all others out"]
    proven = Series(Group(members=8, liars=1, lie=lie), problem=Noise(1, NUMEL)).run(ROUNDS).counts
    bare = Series(Group(members=8, liars=1, lie=lie, proven=False), problem=Noise(1, NUMEL)).run(ROUNDS).counts
    assert not proven.lacking
    assert proven.named["doubted"]
    assert bare.lacking == ROUNDS * 7 * 2, "each honest member's part in both chunks of its share"


def test_reducer_that_withholds_its_means_costs_no_round() -> None:
    [lie] = [lie for lie in REDUCERS if lie.name == "withholds its means"]
    counts = Series(Group(members=8, liars=1, lie=lie), problem=Noise(1, NUMEL)).run(ROUNDS).counts
    assert counts.committed == ROUNDS
    assert not counts.lacking
    assert counts.named["late"]
    assert not counts.wronged
    assert counts.shares < ROUNDS


@pytest.mark.parametrize("lie", SENDERS[1:4], ids=named)
def test_sender_turns_no_step_around_that_is_clipped(lie: Lie) -> None:
    """What is not a number at all is left out either way."""
    clipped, plain = Along(1, NUMEL), Along(1, NUMEL)
    Series(Group(members=8, liars=1, lie=lie), problem=clipped).run(ROUNDS)
    Series(Group(members=8, liars=1, lie=lie, clipped=False, proven=False), problem=plain).run(ROUNDS)
    assert min(clipped.along) > 0.8
    assert lie.name == "gives 1e30" or max(plain.noise) > 3 * max(clipped.noise)


def test_small_text_model_learns_by_means_of_rounds() -> None:
    problem = Problem(1)
    before = problem.held_out_loss()
    Series(Group(members=3), problem=problem).run(15)
    assert problem.held_out_loss() < before - 1


def test_accusers_exclude_nobody_that_is_honest() -> None:
    counts = accused(2, 7, 5)
    assert counts.committed
    assert counts.named["differed"]
    assert not counts.false
    assert not counts.split
    assert not counts.stayed["well"]
    assert set(counts.wronged) <= {"doubted"}


def test_bad_luck_makes_nobody_a_liar() -> None:
    group = Group(members=MEMBERS, chunks=1, seed=3)
    counts = Series(group, luck=BadLuck(3), problem=Noise(3, MEMBERS * 64)).run(5).counts
    assert not counts.wronged
    assert set(counts.unlucky) <= {"late", "made it fail"}
