"""Peers that say in the DHT that they are here, and answer no call."""

from core.averaging.matchmaking import HELPERS_MAX
from tests.unit.averaging.matchmakers import LINEAGE, NUMBERS, Group
from tests.unit.averaging.test_group_helpers import HelpedGroup


def test_candidate_that_never_answers_is_waited_for_once() -> None:
    """It reports anew after each call that it has not answered."""
    group = Group(4)
    leader = group.leader()
    silent = group.others()[0]
    group.pump.frozen.add(silent)
    waited = []
    for epoch in [epoch for epoch in range(1, 99) if group.leader(epoch=epoch) == leader][:4]:
        began, group.epoch = group.pump.now, epoch
        for peer in group.others(silent):
            group.machines[peer].stand((epoch, LINEAGE), group.others(silent), now=group.pump.now)  # it was lost
        group.place(*group.others(silent))
        group.look(leader)
        group.pump.run()
        waited.append(group.pump.now - began)
        assert silent not in group.plans(leader)[-1].peers
    assert waited[0] >= NUMBERS.gather_timeout_s
    assert max(waited[1:]) < 1.0


def test_silent_helpers_keep_no_other_from_being_called() -> None:
    """They are as many as a leader calls, and their keys come first; they say again that they are here."""
    group = HelpedGroup(2, helpers=HELPERS_MAX + 1)
    last = max(group.helpers)
    group.helpers = sorted(group.helpers)
    group.mute = {*group.helpers} - {last}
    leader = group.gather().leader
    group.epoch = next(epoch for epoch in range(2, 99) if group.leader(epoch=epoch) == leader)
    group.machines[leader].stand((group.epoch, LINEAGE), group.peers, now=group.pump.now)
    assert last in group.gather().peers
