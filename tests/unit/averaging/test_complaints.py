"""Complaints about reducers: one member alone makes nobody begin a share again and again."""

from typing import Any

import pytest

from core.averaging.messages import Order, Stalled
from core.base.machine import Received
from tests.unit.averaging.liars import finished
from tests.unit.averaging.pump import Pump, Round, make_plan

SAMPLES = [3, 4, 5, 6]


@pytest.mark.parametrize("liar", range(3))
def test_who_complains_of_everybody_again_and_again_holds_up_nobody(liar: int) -> None:
    """It knows the versions from the orders, and says every second that it gets no means of any."""
    plan = make_plan(SAMPLES, 16 * 400, round_timeout_s=20.0)
    liar = [m for m in range(4) if m != plan.leaders[0]][liar]
    round_ = Round(plan, delay_s=(0.3, 0.4), ordered=True)
    leader, name = plan.peers[plan.leaders[0]], plan.peers[liar]
    versions = [0, 0, 0, 0]
    inner = round_.pump.before
    assert inner is not None

    def before(pump: Pump, peer: Any, event: Any) -> None:
        inner(pump, peer, event)
        word = event.message if isinstance(event, Received) else None
        if isinstance(word, Order) and peer == name:
            versions[:] = word.versions
        while times and pump.now >= times[0]:
            del times[0]
            for share, version in enumerate(versions):
                pump.push(pump.now, leader, Received(name, Stalled(plan.round, share, version)))

    round_.pump.before = before
    times = [round_.began + 0.1 + beat for beat in range(15)]
    round_.run()
    outcomes = finished(round_, but=name)
    assert {outcome.versions for outcome in outcomes} == {(0, 0, 0, 0)}
