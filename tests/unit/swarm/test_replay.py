"""Which means lead from the own state to another, how they are fetched, and what follows where they cannot be had."""

import json
from random import Random
from typing import Any

import msgspec
import numpy as np
import pytest

from core.base.content import digest
from core.base.ids import PeerId
from core.base.machine import Received, Send, Trace
from core.base.problems import WireProblem
from core.base.state_header import ANCESTORS_MAX, METADATA, StateHeader, header_of
from core.swarm.catching_up.catch_up import CatchUp
from core.swarm.catching_up.donor import PastMembers
from core.swarm.catching_up.fetch import Sinks
from core.swarm.catching_up.replay import way
from core.swarm.catching_up.state_choice import NewerState
from core.swarm.catching_up.state_donor import StateDonor
from core.swarm.presence.membership import Membership
from core.swarm.words.messages import ChunkGive, StateAsk, StateDenied
from core.swarm.words.outputs import MeansFetched, StateFetched
from core.swarm.words.states import StateName
from tests.sim.swarm.disk import MemoryFile, ModelState
from tests.sim.swarm.worker_settings import WorkerSettings
from tests.unit.swarm.stage import peer
from tests.unit.swarm.test_fetch import MemorySink

FIRST = StateName(0, b"f" * 32)
SETTINGS = WorkerSettings(parameters=600_000, seed=1, first=FIRST, chunk_numel=65_536)
MEAN_BYTES = SETTINGS.mean_form.bytes_max
STEPS = 2
PADDING = 10 * MEAN_BYTES


def name_of(epoch: int) -> StateName:
    return StateName(epoch, digest(bytes([epoch]))) if epoch else FIRST


def header(epochs: int, *, means: int = ANCESTORS_MAX, to: StateName | None = None) -> StateHeader:
    """Header of the state `epochs` steps after the first one; mean k leads to state k, and its digest is 32 times k."""
    marks = [name_of(epoch).lineage[:8].hex() for epoch in reversed(range(epochs))][:ANCESTORS_MAX]
    digests = [bytes([epoch] * 32).hex() for epoch in range(epochs, 0, -1)][:means]
    name = to or name_of(epochs)
    lineage = name.lineage.hex()
    return StateHeader(epoch=name.epoch, lineage=lineage, manifest="", ancestors="".join(marks), means="".join(digests))


@pytest.mark.parametrize(
    "wrong", [{"lineage": "zz"}, {"lineage": "abc"}, {"manifest": "é"}, {"format": 2**64}, {"means": "0"}]
)
def test_header_that_is_no_name_is_refused(wrong: dict[str, object]) -> None:
    plain = msgspec.to_builtins(header(2))
    text = json.dumps({"__metadata__": {METADATA: json.dumps({**plain, **wrong})}}).encode()
    with pytest.raises(WireProblem):
        header_of(len(text).to_bytes(8, "little") + text)


@pytest.mark.parametrize("to", [1, 2, 16, 17, 19])
def test_way_names_the_mean_of_each_step(to: int) -> None:
    for mine in range(20):
        found = way(header(to), mine=name_of(mine), to=name_of(to))
        reached = 0 < to - mine <= ANCESTORS_MAX
        assert found == ([bytes([step] * 32) for step in range(mine + 1, to + 1)] if reached else None)


@pytest.mark.parametrize(
    ("mine", "named", "told"),
    [
        (StateName(3, b"another branch".ljust(32)), header(5), name_of(5)),
        (name_of(3), header(5, means=1), name_of(5)),
        (name_of(3), header(5, means=0), name_of(5)),
        (name_of(3), header(5), name_of(6)),
        (name_of(3), header(5, to=StateName(5, b"x" * 32)), name_of(5)),
    ],
)
def test_way_is_none_where_means_lead_elsewhere(mine: StateName, named: StateHeader, told: StateName) -> None:
    assert way(named, mine=mine, to=told) is None


class Catching:
    """A peer at the first state, and three that have taken two steps from there."""

    def __init__(self, *, mean_bytes: int = MEAN_BYTES, gives: bool = True) -> None:
        self.model = SETTINGS.first_state()
        own = MemoryFile(self.model.to_bytes(PADDING))
        self.means: list[MemoryFile] = []
        for epoch in range(1, STEPS + 1):
            mean = self.model.parameters / epoch
            self.means.append(MemoryFile(b"".join(SETTINGS.mean_form.pieces(mean))))
            self.model = self.model.stepped(name_of(epoch), mean, digest=self.means[-1].digest)
        self.state = MemoryFile(self.model.to_bytes(PADDING))
        self.files = {file.digest: file for file in (self.state, *self.means)}
        self.trace, donor = Trace(), StateDonor(trace=Trace(), members=PastMembers())
        donor.offer(own)
        self.machine = CatchUp(
            membership=Membership(),
            donor=donor,
            sinks=Sinks(MemorySink(), MemorySink()),
            random=Random(1),
            trace=self.trace,
        )
        self.machine.means.mean_bytes = mean_bytes
        self.donors: dict[PeerId, StateDonor] = {}
        for number in range(1, 4):
            giver = self.donors[peer(number)] = StateDonor(trace=Trace(), members=PastMembers())
            giver.offer(self.state)
            for file in self.means if gives else ():
                giver.offer(file, mean=True)
        self.given_bytes = 0
        self.asked: list[PeerId] = []

    def run(self) -> list[Any]:
        """Begin, and carry messages until none is left; returns the events that came out."""
        offer = NewerState(name_of(STEPS), self.state.digest, tuple(self.donors))
        queue, events = self.machine.begin(offer, 0.0, mine=FIRST), []
        while queue:
            output = queue.pop(0)
            if not isinstance(output, Send):
                events.append(output)
                continue
            self.asked.append(output.to)
            for answer in self.donors[output.to].handle(Received(peer(99), output.message), 0.0):
                if isinstance(answer.message, ChunkGive):
                    self.given_bytes += len(answer.message.data)
                queue += self.machine.handle(Received(output.to, answer.message), 0.0)
        return [event for event in events if isinstance(event, MeansFetched | StateFetched)]


def test_means_are_fetched_in_the_order_of_their_steps() -> None:
    catching = Catching()
    (fetched,) = catching.run()
    assert isinstance(fetched, MeansFetched)
    assert (fetched.name, fetched.digest) == (name_of(STEPS), catching.state.digest)
    assert ModelState.named(fetched.header, catching.model.parameters, catching.model.momentum).means == b"".join(
        file.digest for file in reversed(catching.means)
    )
    assert len(fetched.locations) == STEPS
    assert catching.given_bytes <= STEPS * MEAN_BYTES + 2**18
    assert catching.machine.arrived(name_of(STEPS))
    assert catching.trace["state.replayed"] == 1


@pytest.mark.parametrize("mean_bytes", [0, 6 * MEAN_BYTES, 20 * MEAN_BYTES])
def test_state_is_loaded_whole_where_means_are_no_fewer_bytes(mean_bytes: int) -> None:
    (fetched,) = Catching(mean_bytes=mean_bytes).run()
    assert isinstance(fetched, StateFetched)


def test_mean_with_more_numbers_than_the_model_is_refused() -> None:
    largest = sum(map(len, SETTINGS.mean_form.pieces(np.zeros(SETTINGS.parameters, dtype=np.float32))))
    (fetched,) = Catching(mean_bytes=largest - 1).run()
    assert isinstance(fetched, StateFetched)


def test_donors_without_means_are_left_for_the_state() -> None:
    catching = Catching(gives=False)
    (fetched,) = catching.run()
    assert isinstance(fetched, StateFetched)
    assert catching.trace["state.replay.missing"] == 1


def test_state_is_loaded_whole_after_means_led_elsewhere() -> None:
    catching = Catching()
    assert isinstance(catching.run()[0], MeansFetched)
    catching.machine.refused(0.0)
    assert catching.trace["state.replay.refused"] == 1
    (fetched,) = catching.run()
    assert isinstance(fetched, StateFetched)


def test_donor_keeps_no_more_means_than_a_state() -> None:
    catching = Catching()
    donor = next(iter(catching.donors.values()))
    many = [MemoryFile(bytes([n]) * MEAN_BYTES) for n in range(20)]
    for file in many:
        donor.offer(file, mean=True)
    had = [
        not isinstance(donor.handle(Received(peer(99), ask), 0.0)[0].message, StateDenied)
        for ask in [StateAsk(file.digest) for file in many]
    ]
    room = catching.state.size_bytes // MEAN_BYTES
    assert had == [False] * (20 - room) + [True] * room
