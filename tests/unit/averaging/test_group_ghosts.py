"""Candidates that nobody has seen: anybody can make keys, and sign reports with them."""

from core.averaging.matchmaking import Call, Wanted
from core.base.ids import PeerId
from tests.unit.averaging.matchmakers import LINEAGE, Group, recipients


def test_unseen_candidates_are_called_and_not_asked_to_lead() -> None:
    group = Group(2)
    ghosts = [PeerId(bytes([7, number]) * 16) for number in range(100)]
    said = []
    for peer in group.peers:
        group.held[peer].seen = group.peers.__contains__
        said += group.machines[peer].stand((1, LINEAGE), [*group.peers, *ghosts], full=True, now=group.pump.now)
    assert recipients(said, Wanted) == {group.leader()}
    assert recipients(said, Call) == {*group.others(), *ghosts}
