"""What a peer's word weighs: who was in rounds, the backbone, and any number of strangers."""

from collections.abc import Sequence
from itertools import pairwise

from core.base.ids import account_of
from core.swarm.presence.branches import Branches
from core.swarm.words.states import StateName
from tests.unit.swarm.histories import MINE, OURS, THEIRS, after, chain, member, peer, stand


def test_strangers_lead_nobody_away_who_has_company() -> None:
    """However many they are, and wherever they say that their state came from."""
    friend, false = stand(1, MINE, OURS[-2]), StateName(10**6, b"\xff" * 32)
    for parent in (None, MINE, OURS[2], OURS[-2]):
        passes = [stand(number, false, parent) for number in range(100, 140)]
        assert member(*OURS, met=[1]).head(MINE, [friend, *passes]) is None
        assert member(*OURS).head(MINE, [friend, *passes]) == false, "it was in no round with the other"


def judged(*steps: StateName, met: Sequence[int] = ()) -> Branches:
    """The same that was let in by the backbone with the number 0."""
    branches = Branches((peer(number) for number in met), backbone=peer(0))
    for before, name in pairwise(steps):
        branches.led(before, name)
    return branches


def test_one_alone_stays_with_its_backbone() -> None:
    false, backbone = StateName(10**6, b"\xff" * 32), stand(0, MINE, OURS[-2], trains=False)
    for parent in (None, MINE, OURS[2]):
        passes = [stand(number, false, parent) for number in range(100, 140)]
        assert judged(*OURS).head(MINE, [backbone, *passes]) is None
        assert judged().head(None, [stand(1, MINE, OURS[-2]), backbone, *passes]) == MINE, "a newcomer"
        assert judged(*OURS).head(MINE, passes) == false, "it is not heard"


def test_strangers_just_ahead_of_the_backbone_wait_for_it() -> None:
    """It reads a moment later than those who step, and strangers say that they came from the newest state."""
    false, newest = StateName(10**6, b"\xff" * 32), after(MINE)
    lags = stand(0, OURS[3], OURS[2], trains=False)
    passes = [stand(number, false, MINE) for number in range(100, 140)]
    assert judged(*OURS, newest).head(newest, [lags, *passes]) is None
    assert judged(*OURS).head(MINE, [lags, *passes]) is None
    assert judged(*OURS).head(MINE, [stand(0, false, MINE, trains=False), *passes]) == false
    assert judged(*OURS, met=[1]).head(MINE, [lags, stand(1, newest, MINE)]) == newest


def test_backbone_decides_between_groups_that_never_met() -> None:
    """One of them went on while the other slept, for longer than the way is remembered."""
    strangers = [stand(number, THEIRS[-1]) for number in (5, 6)]
    friends = [stand(number, MINE) for number in (1, 2, 3)]
    there, here = stand(0, THEIRS[-1], trains=False), stand(0, MINE, trains=False)
    assert judged(*OURS, met=[1, 2, 3]).head(MINE, [*friends, *strangers, there]) == THEIRS[-1]
    assert judged(*OURS, met=[1, 2, 3]).head(MINE, [*friends, *strangers, here]) is None
    assert judged(*OURS, met=[1, 2, 3]).head(MINE, [*friends, *strangers]) is None
    assert judged(*OURS, met=[1, 2, 3]).head(OURS[-2], [*friends, here]) == MINE
    lags = [stand(0, OURS[-2], trains=False), stand(4, OURS[-2])]
    assert judged(*OURS, met=[1, 2, 3]).head(OURS[-2], [*friends, *lags]) == MINE, "it keeps nobody from those it knows"


def test_both_sides_of_a_partition_count_alike() -> None:
    """Peers 1 and 2 are parted from 3, 4 and 5; with 1 and 2 three newcomers take steps meanwhile."""
    left, right = chain(OURS[2], 5, "l"), chain(OURS[2], 5, "r")
    sides = dict.fromkeys((1, 2, 6, 7, 8), left) | dict.fromkeys((3, 4, 5), right)
    for number, side in sides.items():
        branches = Branches(backbone=peer(0))
        for before, name in pairwise(OURS[:3]):
            branches.led(before, name, members=map(peer, range(1, 6) if number < 6 else ()))
        for before, name in pairwise(side):
            branches.led(before, name, members=[peer(other) for other in sides if sides[other] is side])
        others = [stand(other, sides[other][-1], sides[other][-2]) for other in sides if other != number]
        backbone = stand(0, right[-1], right[-2], trains=False)
        assert branches.head(side[-1], [*others, backbone]) == (None if side is right else right[-1]), number


def test_backbone_follows_no_strangers_while_it_has_company() -> None:
    false = StateName(10**6, b"\xff" * 32)
    for parent in (None, MINE):
        passes = [stand(number, false, parent) for number in range(100, 140)]
        assert member(*OURS, met=[1]).head(MINE, passes, trains=False, loyal=True, back=True) is None
        assert member(*OURS, met=[1]).head(MINE, passes, trains=False, back=True) == false
        ahead = [*passes, stand(1, after(MINE), MINE)]
        assert member(*OURS, met=[1]).head(MINE, ahead, trains=False, loyal=True) == after(MINE)
        assert member(*OURS, met=[1]).head(false, [*passes, stand(1, MINE)], trains=False, back=True) == MINE


def test_computers_of_one_person_have_one_voice() -> None:
    """Ten of them lead nobody away from two people, whether or not one of theirs was in a round."""
    false = after(MINE, "another")
    for met in ([], [1, 2], [1, 2, 10]):
        branches = Branches(map(peer, met), account=lambda one: account_of(min(one, peer(10))))
        for before, name in pairwise(OURS):
            branches.led(before, name)
        friends, many = [stand(number, MINE, OURS[-2]) for number in (1, 2)], range(10, 20)
        newest = after(MINE)
        ahead = [stand(number, newest, MINE) for number in (1, 2)]
        assert branches.head(MINE, [*ahead, *(stand(number, false, MINE) for number in many)]) == newest
        assert branches.head(MINE, [*friends, *(stand(number, false, MINE) for number in many)]) is None


def test_person_counts_where_most_of_their_computers_stand() -> None:
    newest, other = after(MINE), after(MINE, "another")
    branches = Branches(account=lambda one: account_of(max(one, peer(3))) if one > peer(1) else account_of(one))
    for before, name in pairwise(OURS):
        branches.led(before, name)
    mine = [stand(1, newest, MINE), stand(2, other, MINE), stand(3, newest, MINE)]
    assert branches.head(MINE, mine) is None, "two people go two ways"
    branches.earned([peer(2)])
    assert branches.head(MINE, mine) == other, "who was in a round speaks for the person"
