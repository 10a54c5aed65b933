"""The coordinator dies at any moment of a round that a helper is in: the others need not wait for its whole time."""

import msgspec
import pytest

from core.averaging.butterfly import Butterfly, RoundInput
from core.codecs.registry import codec_of
from tests.unit.averaging.pump import Round, make_plan

DEATHS = 40
"""The coordinator dies after each number of events up to this one."""


@pytest.mark.parametrize("samples", [[10, 20, 0], [10, 20, 30, 0]])
@pytest.mark.parametrize("death", range(DEATHS))
def test_round_ends_soon_after_its_coordinator_dies(samples: list[int], death: int) -> None:
    plan = make_plan(samples, 160)
    helper = len(samples) - 1
    members = list(plan.members)
    members[helper] = msgspec.structs.replace(members[helper], receives=False)
    plan = msgspec.structs.replace(plan, members=tuple(members), leaders=tuple(range(len(samples))))
    round_ = Round(plan, seed=death, ordered=True)
    peer = plan.peers[helper]
    work = RoundInput(None, None, codec_of(plan.codec, (plan.numel,)))
    round_.machines[peer] = Butterfly(peer, plan, work, trace=round_.traces[helper])
    for _ in range(death):
        round_.pump.step()
    round_.pump.kill(plan.peers[0])
    died_at = round_.pump.now
    left = plan.peers[1:]
    while not all(round_.pump.events[peer] for peer in left):
        assert round_.pump.step()
    assert round_.pump.now - died_at < plan.stall_timeout_s
