"""A round over lines of unequal speed, with members that go in the middle of it."""

from typing import Any

import numpy as np
import pytest

from core.averaging.butterfly import Butterfly, RoundInput
from core.averaging.matchmaking.plans import PlanRequest, make_plan
from core.averaging.messages import ROUND_MESSAGES
from core.averaging.outcome import Outcome, RoundFinished
from core.averaging.plan import Member, Plan
from core.base.machine import Trace
from core.base.manifest import AveragingNumbers
from core.base.wire import MessageCodec
from core.codecs.registry import codec_of
from tests.sim.world.links import LinkSettings
from tests.sim.world.node import End
from tests.sim.world.signing import SimSigner
from tests.sim.world.world import World

NUMEL = 250_000
NUMBERS = AveragingNumbers(chunk_numel=8192)
LINES = LinkSettings(uplink_bytes_per_s=(0.5e6, 4e6), downlink_bytes_per_s=(2e6, 20e6))


def a_plan(seed: int, members: int) -> Plan:
    peers = [SimSigner.numbered(seed, number).peer_id for number in range(members)]
    request = PlanRequest(round=bytes([seed]) * 32, epoch=3, lineage=bytes(32), numel=NUMEL, numbers=NUMBERS)
    return make_plan(request, [Member(peer, 10 + number, 1.0) for number, peer in enumerate(peers)], peers)


class Round:
    def __init__(self, seed: int, members: int) -> None:
        self.plan = a_plan(seed, members)
        self.world = World(seed, MessageCodec(ROUND_MESSAGES), links=LINES)
        generator = np.random.default_rng(seed)
        self.given = generator.standard_normal((members, NUMEL), dtype=np.float32)
        self.means = np.zeros((members, NUMEL), dtype=np.float32)
        self.outcomes: dict[int, Outcome] = {}
        self.ended_s: dict[int, float] = {}
        for index, peer in enumerate(self.plan.peers):
            machine = Butterfly(
                peer,
                self.plan,
                RoundInput(self.given[index], self.means[index], codec_of(self.plan.codec)),
                trace=Trace(),
            )

            def on_event(event: Any, now: float, index: int = index) -> tuple[()]:
                if isinstance(event, RoundFinished):
                    self.outcomes[index] = event.outcome
                self.ended_s[index] = self.world.elapsed_s
                return ()

            node = self.world.add(peer, machine, on_event=on_event)
            self.world.driver.perform(node, machine.start(self.world.now))

    def weighted(self, members: list[int]) -> np.ndarray[Any, Any]:
        weights = np.array([self.plan.members[m].samples for m in members], dtype=np.float64)
        return np.average(self.given[members].astype(np.float64), axis=0, weights=weights)


def test_a_round_takes_what_the_lines_take() -> None:
    round_ = Round(1, 6)
    round_.world.run(60)
    assert len(round_.outcomes) == 6
    expected = round_.weighted(list(range(6)))
    assert np.abs(round_.means - expected).max() < 1e-5
    slowest = min(round_.world.links.place(peer).uplink_bytes_per_s for peer in round_.plan.peers)
    least_s = 2 * NUMEL * 4 * 5 / 6 / slowest
    assert least_s < max(round_.ended_s.values()) < 2.5 * least_s + 2


@pytest.mark.parametrize("how", list(End))
@pytest.mark.parametrize("seed", range(2, 6))
def test_the_others_finish_together_when_one_goes(seed: int, how: End) -> None:
    round_ = Round(seed, 7)
    gone = seed % 7
    round_.world.run(0.3 * seed)
    round_.world.stop(round_.plan.peers[gone], how)
    round_.world.run(60)
    rest = [index for index in range(7) if index != gone]
    assert sorted(index for index in round_.outcomes if index != gone) == rest
    assert max(round_.ended_s[index] for index in rest) <= NUMBERS.round_timeout_s
    assert len({round_.outcomes[index].fingerprint for index in rest}) == 1
    assert len({round_.means[index].tobytes() for index in rest}) == 1
    outcome = round_.outcomes[rest[0]]
    whole = np.abs(round_.means[rest[0]] - round_.weighted(list(range(7)))).max() < 1e-5
    assert whole == (not outcome.missing)
