"""A peer that holds no state reads who gave what from the head of a state file, and asks for no more of it."""

import json
from base64 import b64encode
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import save

from core.base.content import CHUNK_BYTES
from core.base.ids import PeerId
from core.base.machine import Received, Send, Trace
from core.swarm.catching_up.donor import PastMembers
from core.swarm.catching_up.ledger_reader import READ_INTERVAL_S, LedgerReader
from core.swarm.catching_up.state_donor import StateDonor
from core.swarm.words.answers import TrainerGone
from core.swarm.words.messages import ChunkAsk, StateAsk
from core.swarm.words.orders import LedgerRead
from core.swarm.words.states import StateName
from tests.sim.swarm.disk import MemoryFile
from tests.unit.swarm.stage import Stage, report_of

ME, DONOR = PeerId(b"m" * 32), PeerId(b"d" * 32)
NAME = StateName(7, b"l" * 32)


def state_file(ledger: bytes) -> MemoryFile:
    name = {"epoch": 7, "lineage": "", "manifest": "", "ledger": b64encode(ledger).decode()}
    tensors = {"parameters/x": np.zeros(3 * CHUNK_BYTES // 4, dtype=np.float32)}
    return MemoryFile(save(tensors, metadata={"potluck": json.dumps(name)}))


class Talk:
    """A reader and a donor that hear each other at once."""

    def __init__(self, file: MemoryFile) -> None:
        self.trace = Trace()
        self.reader, self.donor = LedgerReader(trace=self.trace), StateDonor(trace=Trace(), members=PastMembers())
        self.file = file
        self.donor.offer(file)
        self.asked: list[int] = []

    def read(self, now: float) -> list[LedgerRead]:
        assert self.reader.due(now)
        found: list[LedgerRead] = []
        said: list[Any] = list(self.reader.read(NAME, self.file.digest, [DONOR], now))
        while said:
            output = said.pop(0)
            if isinstance(output, LedgerRead):
                found.append(output)
                continue
            assert isinstance(output, Send)
            self.asked += [output.message.index] if isinstance(output.message, ChunkAsk) else []
            for answer in self.donor.handle(Received(ME, output.message), now):
                said += self.reader.handle(Received(DONOR, answer.message), now)
        return found


def test_only_the_head_is_asked_for() -> None:
    talk = Talk(state_file(b"who gave what"))
    assert talk.read(0.0) == [LedgerRead(b"who gave what", 7)]
    assert talk.asked == [0]
    assert not talk.reader.due(READ_INTERVAL_S - 1)
    assert talk.read(READ_INTERVAL_S) == [], "this one is known"
    talk.reader.stop()
    assert talk.read(3 * READ_INTERVAL_S) == [LedgerRead(b"who gave what", 7)]


def test_head_of_several_chunks_is_read_at_the_second_look() -> None:
    ledger = bytes(CHUNK_BYTES)
    talk = Talk(state_file(ledger))
    assert talk.read(0.0) == []
    assert not talk.reader.due(READ_INTERVAL_S - 1)
    assert talk.read(READ_INTERVAL_S) == [LedgerRead(ledger, 7)]
    assert talk.asked[0] == 0
    assert sorted(talk.asked[1:]) == [0, 1]


@pytest.mark.parametrize(
    "data", [b"", b"short", b"\xff" * 200, (2**63).to_bytes(8, "little") + b"{}", b"\2" + bytes(7) + b"[]"]
)
def test_what_is_no_state_file_is_dropped(data: bytes) -> None:
    talk = Talk(MemoryFile(data or b"\0"))
    assert talk.read(0.0) == []
    assert talk.trace["ledger.drop"] == 1
    assert not talk.reader.due(READ_INTERVAL_S - 1)


def test_paused_volunteer_reads_who_gave_what() -> None:
    stage = Stage()
    stage.ready()
    stage.answer(TrainerGone(paused=True))
    stage.read(p1=report_of(StateName(1, b"\x01" * 32), time=stage.now, digest=b"d" * 32))
    assert [ask.digest for ask in stage.heard_by(1, StateAsk)] == [b"d" * 32]


def test_paused_volunteer_is_shown_no_board_of_those_behind() -> None:
    """It is further, so its own samples would vanish from the board until it goes on."""
    stage = Stage()
    stage.ready(StateName(5, b"\x05" * 32))
    stage.answer(TrainerGone(paused=True))
    for _ in range(20):
        stage.read(p20=report_of(StateName(1, b"\x01" * 32), time=stage.now, digest=b"d" * 32))
        stage.wait(1.0)
    assert not stage.heard_by(20, StateAsk)
