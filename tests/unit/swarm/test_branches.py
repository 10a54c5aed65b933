"""Which branch is followed: as a plain recursion over the whole tree says, and whatever some of the voters say."""

from collections import OrderedDict
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.averaging.receipts.receipt import Deed
from core.base.ids import hashed_key
from core.swarm.presence import ancestry
from core.swarm.presence.ancestry import OWN_MAX, Stand
from core.swarm.presence.branches import PEERS_MAX, Branches
from core.swarm.words.orders import RoundRecord
from core.swarm.words.states import State, StateName
from tests.unit.swarm.histories import FIRST, MINE, OURS, THEIRS, after, chain, member, peer, stand, way


def test_nobody_says_anything_so_it_stays() -> None:
    assert member(*OURS).head(MINE, []) is None
    assert Branches().head(None, []) is None


def test_a_stranger_with_a_great_number_is_not_followed() -> None:
    stranger = stand(1, StateName(1_000_000, b"\xff" * 32))
    assert member(*OURS).head(MINE, [stranger]) is None
    pretends = stand(1, StateName(1_000_000, b"\xff" * 32), MINE)
    assert member(*OURS).head(MINE, [pretends]) is None
    assert member(*OURS, met=[1]).head(MINE, [pretends, stand(2, MINE)]) is None


def test_who_missed_a_round_follows_who_was_in_it() -> None:
    ahead = after(MINE)
    assert member(*OURS, met=[1]).head(MINE, [stand(1, ahead, MINE)]) == ahead
    assert member(*OURS).head(MINE, [stand(1, ahead, MINE), stand(2, ahead, MINE)]) == ahead
    assert member(*OURS, met=[1, 2]).head(MINE, [stand(1, ahead, MINE), stand(2, MINE)]) is None


def test_a_backbone_holds_nobody_back_from_a_step() -> None:
    """It comes after those who train; it only keeps itself from following a stranger."""
    ahead, here = after(MINE), stand(2, MINE, trains=False)
    assert member(*OURS, met=[1]).head(MINE, [stand(1, ahead, MINE), here]) == ahead
    assert member(*OURS).head(MINE, [stand(1, ahead, MINE), here]) is None
    assert member(*OURS).head(MINE, [stand(1, ahead, MINE), stand(3, MINE)], trains=False) is None


def test_a_backbone_goes_with_whom_it_was_in_rounds_with() -> None:
    """It has missed some of its steps, and a stranger says that it has gone on from where the backbone stands."""
    false = StateName(OURS[2].epoch + 1, b"\xff" * 32)
    heard = [stand(1, MINE, OURS[-2]), stand(2, false, OURS[2])]
    backbone = member(*OURS[:3], met=[1])
    assert backbone.head(OURS[2], heard, trains=False, loyal=True) == MINE
    stands = [stand(2, false, OURS[2]), stand(3, MINE, OURS[-2], trains=False)]
    assert member(*OURS).head(MINE, stands) is None


def test_more_peers_win_over_more_epochs() -> None:
    longer = [stand(1, THEIRS[-1], THEIRS[-2]), stand(2, THEIRS[-2], THEIRS[-3])]
    assert member(*OURS).head(MINE, longer) == THEIRS[-1]
    assert member(*OURS).head(MINE, [*longer, stand(3, OURS[-2], OURS[-3]), stand(4, MINE, OURS[-2])]) is None
    shorter = [stand(number, OURS[3], OURS[2]) for number in (1, 2)]
    assert member(*OURS[:3], *THEIRS[1:], met=[1, 2]).head(THEIRS[-1], shorter) == OURS[3]


def test_what_is_given_up_on_the_way_is_known() -> None:
    both = member(*OURS)
    for before, name in pairwise(THEIRS):
        both.led(before, name)
    assert both.abandons(MINE, THEIRS[-1])
    assert both.abandons(THEIRS[-1], MINE)
    assert not both.abandons(OURS[2], THEIRS[-1])
    assert not member(*OURS).abandons(MINE, StateName(100, bytes(32))), "it may have come from ours"
    assert member(*OURS).abandons(MINE, StateName(MINE.epoch, bytes(32)))


def test_nobody_goes_back_after_a_restart_either() -> None:
    """All that it knows then is what its own file tells."""
    behind = [stand(number, OURS[-2], OURS[-3]) for number in (1, 2, 3)]
    restarted = Branches(peer(number) for number in (1, 2, 3))
    assert restarted.head(MINE, behind) == OURS[-2]
    restarted.loaded(State(MINE, bytes(32), "file", ancestors=(OURS[-2].mark, OURS[-3].mark)))
    further = [stand(number, OURS[-3], OURS[-4]) for number in (1, 2, 3)]
    liar = stand(4, MINE, StateName(3, b"another" * 4 + bytes(4)))
    for stands in (behind, further, [*behind, liar]):
        assert restarted.head(MINE, stands) is None
        assert restarted.ancestors(MINE)[0] == OURS[-2].mark


def test_a_guest_follows_strangers_until_its_own_round() -> None:
    further = after(MINE)
    guest = Branches()
    guest.loaded(State(MINE, bytes(32), "file"))
    assert guest.head(MINE, [stand(1, further, MINE)]) is None, "from its own disk: one stranger leads it nowhere"
    guest.loaded(State(MINE, bytes(32), "file"), guest=True)
    assert guest.head(MINE, [stand(1, further, MINE)]) == further
    assert guest.head(MINE, [stand(1, OURS[-2]), stand(1, THEIRS[-1])]) is None, "not to where it did not go on from"
    own = after(MINE, "own")
    guest.led(MINE, own)
    assert guest.head(own, [stand(1, after(own), own)]) is None


def test_a_file_says_nothing_against_what_is_known() -> None:
    known = member(*OURS)
    for parent in (THEIRS[-1].mark, b"short", b""):
        known.loaded(State(MINE, bytes(32), "file", ancestors=(parent, b"other!!!")))
        assert known.ancestors(MINE)[0] == OURS[-2].mark


def test_ledger_of_a_copy_pushes_out_no_member() -> None:
    one = member(*OURS, met=[1])
    one.led(MINE, after(MINE), members=[peer(2)])
    one.earned(map(peer, range(10, 20 + PEERS_MAX)))
    assert one.known[-3:] == (peer(19 + PEERS_MAX), peer(1), peer(2))
    assert len(one.known) == PEERS_MAX + 2
    assert one.head(after(MINE), [stand(1, after(after(MINE)), after(MINE))]) == after(after(MINE))


def test_nobody_goes_back_to_where_it_came_from() -> None:
    behind = [stand(number, OURS[-2], OURS[-3]) for number in (1, 2, 3)]
    assert member(*OURS).head(MINE, behind) is None
    assert member(*OURS).head(MINE, behind, trains=False, back=True) == OURS[-2]


def test_newcomers_lead_nobody_back_to_the_first_state() -> None:
    newcomers = [stand(number, FIRST) for number in range(1, 5)]
    again = member(met=[5])
    again.loaded(State(MINE, b"", "", ()))
    assert again.head(MINE, newcomers) is None, "its file tells less than how it came there"
    two = [stand(5, THEIRS[-1]), stand(6, THEIRS[-1])]
    assert again.head(MINE, two) == THEIRS[-1]
    assert again.head(MINE, [*newcomers, *two]) is None, "the first state led to its own"
    assert again.head(MINE, [*newcomers, stand(5, after(MINE), MINE)]) == after(MINE), "nobody is held back by them"
    assert Branches().head(FIRST, [*newcomers, stand(5, MINE)]) is None, "which is theirs to begin with"


def test_state_is_called_as_most_call_it_that_stand_there() -> None:
    """A liar takes the mark of their state, which all can read, and another name."""
    honest = [stand(number, MINE, OURS[-2]) for number in range(1, 4)]
    liar = stand(9, StateName(10**6, MINE.mark + b"\xff" * 24))
    assert Branches().head(None, [*honest, liar]) == MINE
    assert member(*OURS[:3], met=[1]).head(OURS[2], [*honest, liar]) == MINE
    assert member(*OURS[:3], met=[1]).head(OURS[2], [liar, *honest], trains=False) == MINE
    assert member(*OURS).head(MINE, [honest[0], liar, stand(8, liar.state)]) is None, "its own name it knows"


def test_strangers_rename_no_state_of_known_ones() -> None:
    """Five passes take the mark of two members' state, and call it otherwise."""
    honest = [stand(number, MINE, OURS[-2]) for number in (1, 2)]
    false = StateName(10**6, MINE.mark + b"\xff" * 24)
    passes = [stand(number, false, OURS[-2]) for number in range(10, 15)]
    missed, backbone = member(*OURS[:3], met=[1, 2]), Branches([peer(1), peer(2)], backbone=peer(20))
    assert missed.head(OURS[2], [*passes, *honest]) == MINE
    assert missed.head(OURS[2], [*passes, *honest], trains=False, loyal=True) == MINE, "a backbone, too"
    there = stand(20, MINE, OURS[-2], trains=False)
    assert backbone.head(None, [*passes, *honest, there]) == MINE
    assert Branches(backbone=peer(20)).head(None, [*passes, *honest, there]) == MINE, "its backbone knows how"


def test_whom_a_round_has_led_on_stands_there() -> None:
    """Its report may come a moment later, and a liar says meanwhile that its own state came from the same."""
    liar = stand(9, StateName(MINE.epoch + 50, b"\xff" * 32), MINE)
    led = member(*OURS, met=[1, 9])
    deeds = (Deed(peer(1), 4, 1, 0), Deed(peer(2), 0, 0, 16))
    record = RoundRecord(after(MINE), ((peer(1), 4),), 1.0, (), 1.0, deeds=deeds)
    led.committed(MINE, record)
    assert led.head(after(MINE), [stand(1, MINE, OURS[-2]), liar]) is None
    assert led.head(after(MINE), [stand(2, MINE, OURS[-2]), liar]) == liar.state, "who gave nothing was not led"
    assert led.head(after(MINE), [stand(1, liar.state, MINE), liar]) == liar.state, "its newest word counts"


def test_a_backbone_decides_between_equals() -> None:
    stranger, backbone = stand(1, THEIRS[-1]), stand(2, THEIRS[-1], trains=False)
    assert member(*OURS).head(MINE, [stranger]) is None
    assert member(*OURS).head(MINE, [stranger, backbone]) == THEIRS[-1]
    assert member(*OURS).head(MINE, [stranger, stand(2, MINE, trains=False)]) is None
    assert member(*OURS).head(MINE, [backbone, stand(3, THEIRS[-1], trains=False)]) is None


def test_a_newcomer_goes_to_where_most_are() -> None:
    stands = [stand(1, MINE), stand(2, MINE), stand(3, StateName(10**6, b"\xff" * 32))]
    assert Branches().head(FIRST, stands) == MINE
    assert Branches().head(FIRST, stands[:1]) == MINE


def test_report_tells_the_way_that_was_missed() -> None:
    """One alone has taken ten steps between two readings; it was read where this peer stands."""
    further = chain(MINE, 10, "alone")
    branches = member(*OURS)
    assert branches.head(MINE, [way(1, *OURS)]) is None
    assert branches.head(MINE, [way(1, *further)], trains=False) == further[-1]
    assert branches.ancestors(further[-1])[9:11] == [MINE.mark, OURS[-2].mark]
    assert branches.abandons(MINE, further[-1]) is False


def test_state_that_was_left_behind_leads_nobody_back() -> None:
    """It steps once from where it came back, while the other has gone on: both know where their ways have parted."""
    further, returned = chain(MINE, 10, "alone"), after(MINE, "returned")
    ahead = member(*OURS, *further[1:], met=[2])
    assert ahead.head(further[-1], [way(2, *OURS, returned)]) is None
    late = member(*OURS, returned, met=[1])
    assert late.head(returned, [way(1, *further)]) == further[-1]


def test_number_of_told_ways_pushes_out_no_own_step() -> None:
    branches = member(*OURS)
    for number in range(300):
        branches.head(MINE, [way(9, *chain(StateName(7, hashed_key(b"%d" % number)), 16))])
    assert branches.ancestors(MINE) == [name.mark for name in reversed(OURS[:-1])]


def test_way_is_not_told_by_others_than_stood_there() -> None:
    """A liar says that theirs came from elsewhere; it is asked only for what nobody has told."""
    false = StateName(9, b"\xee" * 32)
    branches = Branches()
    branches.head(None, [way(1, *OURS)])
    liars = [way(number, false, MINE, after(MINE, str(number))) for number in (7, 8, 9)]
    branches.head(None, [way(1, *OURS, after(MINE)), *liars])
    assert branches.ancestors(after(MINE))[:2] == [MINE.mark, OURS[-2].mark]


def test_liars_move_nobody_elses_stand() -> None:
    false = StateName(9, b"\xee" * 32)
    honest = [stand(number, MINE, OURS[-2]) for number in (1, 2)]
    graft = stand(3, MINE, false), stand(4, false)
    assert Branches().head(None, [*honest, *graft]) == MINE
    behind = [stand(number, OURS[-2], OURS[-3]) for number in range(5, 11)]
    hides = stand(3, MINE, StateName(9, b"\xff" * 32))
    assert Branches().head(MINE, [*honest, hides, *behind]) is None, "it was started anew, and asks nobody back"
    circle = stand(3, OURS[-2], MINE), stand(4, OURS[-3], OURS[-2])
    assert member(*OURS).head(MINE, [*honest, *circle]) is None
    assert Branches().head(None, [stand(1, false, MINE), stand(2, MINE, false)]) in {false, MINE}


class Looks(OrderedDict[bytes, bytes]):
    """A table that is looked into only so often: a way without end would take all memory."""

    left = 10**6

    def get(self, *asked: Any) -> Any:
        self.left -= 1
        assert self.left, "the way has no end"
        return super().get(*asked)


def test_false_parent_closes_no_circle_under_own_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """A liar reports the next state before this peer has stepped there, and then that its made-up parent came of it."""
    made_up, steps = StateName(3, b"\xff" * 32), chain(MINE, OWN_MAX + 5)
    monkeypatch.setattr(ancestry, "OrderedDict", Looks)
    one = member(*OURS)
    one.head(MINE, [stand(9, steps[1], made_up)])
    one.led(MINE, steps[1])
    one.head(steps[1], [stand(9, made_up, steps[1])])
    for before, name in pairwise(steps[1:]):
        one.led(before, name)
    assert made_up.mark not in one.ancestors(steps[5])
    assert one.head(steps[-1], [stand(1, steps[1], MINE), stand(2, steps[-1], steps[-2])]) is None


@given(st.data())
def test_after_a_partition_all_stand_together(data: st.DataObject) -> None:
    """Both sides see all; each moves once, those that have moved vote anew, and then nobody moves any more."""
    fork = data.draw(st.integers(0, 5))
    sides = [chain(OURS[fork], data.draw(st.integers(1, 8)), letters) for letters in "ab"]
    among = range(data.draw(st.integers(2, 7)))
    peers = [member(*OURS[: fork + 1], met=[n for n in among if n != number]) for number in among]
    paths = [sides[data.draw(st.integers(0, 1))] for _ in among]
    at = [data.draw(st.integers(max(1, len(path) - 3), len(path) - 1)) for path in paths]
    for number, path in enumerate(paths):
        for before, name in pairwise(path[: at[number] + 1]):
            peers[number].led(before, name)
    stands = [(path[place], path[place - 1]) for path, place in zip(paths, at, strict=True)]
    for _ in range(3 * len(peers)):
        for number, branches in enumerate(peers):
            others = [stand(n, *stands[n]) for n in among if n != number]
            found = branches.head(stands[number][0], others)
            if found is not None:
                parent = next(parent for name, parent in stands if name == found)
                stands[number] = found, parent
    held = {name for path, (name, _) in zip(paths, stands, strict=True) for _ in path}
    assert any(held <= set(OURS) | set(side) for side in sides)


def recursion(parents: Mapping[StateName, StateName], stands: Sequence[Stand]) -> StateName | None:
    """GHOST as it is defined, with the whole tree in view: count all below each child, go to the greatest, again."""

    def under(node: StateName) -> list[Stand]:
        children = [child for child, parent in parents.items() if parent == node]
        return [v for v in stands if v.state == node] + [v for child in children for v in under(child)]

    def rank(found: Sequence[Stand]) -> tuple[int, int]:
        return sum(v.trains for v in found), sum(not v.trains for v in found)

    def greatest(node: StateName) -> StateName:
        return max(v.state for v in under(node))

    node = FIRST
    if not stands:
        return None
    while True:
        children = [child for child, parent in parents.items() if parent == node and under(child)]
        if not children:
            return node
        best = max(children, key=lambda child: (rank(under(child)), greatest(child)))
        if rank(under(best)) < rank([v for v in stands if v.state == node and v.trains]):
            return node
        node = best


@given(st.lists(st.integers(0, 10**6), min_size=1, max_size=12), st.data())
def test_it_is_the_heaviest_subtree_by_definition(shape: list[int], data: st.DataObject) -> None:
    names, parents = [FIRST], dict[StateName, StateName]()
    branches = Branches()
    for number, drawn in enumerate(shape):
        before = names[drawn % len(names)]
        name = after(before, str(number))
        parents[name] = before
        branches.led(before, name)
        names.append(name)
    drawn_stands = data.draw(st.lists(st.tuples(st.sampled_from(names), st.booleans()), max_size=10))
    stands = [
        stand(number, name, parents.get(name), trains=trains) for number, (name, trains) in enumerate(drawn_stands)
    ]
    assert branches.head(None, stands) == recursion(parents, stands)
