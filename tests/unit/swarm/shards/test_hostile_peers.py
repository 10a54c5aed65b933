"""Whatever members send: no message ends the exchange, grows it, or has it give what was not asked properly."""

from random import Random

import pytest

from core.base.content import CHUNK_BYTES
from core.base.ids import PeerId
from core.base.machine import Received, Send, Tick
from core.base.problems import WireProblem
from core.base.wire import MessageCodec
from core.dht.messages import Record
from core.swarm.catching_up.donor import GUEST_SILENCE_S
from core.swarm.catching_up.fetch import WINDOW_CHUNKS
from core.swarm.shards.giving import GUESTS_MAX
from core.swarm.shards.holdings import encode_holdings, holdings_key
from core.swarm.shards.news import STRANGERS_MAX
from core.swarm.words.messages import (
    SHARD_MESSAGES,
    ShardAsk,
    ShardChunkAsk,
    ShardChunkGive,
    ShardDenied,
    ShardDone,
    ShardOffer,
)
from tests.hostile_values import encoded
from tests.unit.swarm.shards.parts import Room, Store, peer, shards, wanted

CODEC = MessageCodec(SHARD_MESSAGES)


@pytest.mark.parametrize("seed", range(4))
def test_exchange_outlives_hostile_messages(seed):
    files, room, random = shards(4, 2 * CHUNK_BYTES), Room(seed), Random(seed)
    exchange = room.add(1, Store(files, [0, 1]))
    room.add(2, Store(files, [2, 3]))
    room.run(10)
    room.tell(1, wanted(2, 3))
    known = [file.digest for file in files]
    for _ in range(1500):
        data = encoded(random.choice(SHARD_MESSAGES), random, spoilt=random.choice([0.0, 0.2]), known=known)
        try:
            message = CODEC.decode(data)
        except WireProblem:
            continue
        exchange.handle(Received(PeerId(random.choice([peer(2), peer(7)])), message), room.now)
        room.now += random.choice([0.0, 0.1, 3.0])
        exchange.handle(Tick(), room.now)
    room.add(1, Store(files, [0, 1]))  # whatever was said, honest members go on
    room.run(200)
    room.tell(1, wanted(2, 3))
    room.run(200)
    assert set(room.here(1)) >= {2, 3}


def test_flood_of_questions_waits_within_a_window():
    files, room = shards(1, 40 * CHUNK_BYTES), Room()
    exchange = room.add(1, Store(files, [0]))
    room.busy.add(peer(1))
    guest, digest = peer(2), files[0].digest
    exchange.handle(Received(guest, ShardAsk(digest)), room.now)
    given = [
        output
        for index in range(40)
        for output in exchange.handle(Received(guest, ShardChunkAsk(digest, index)), room.now)
    ]
    room.busy.clear()
    given += exchange.handle(Tick(), room.now)
    assert sum(isinstance(output, Send) for output in given) == WINDOW_CHUNKS


def test_no_more_guests_than_places():
    files, room = shards(1, 4 * CHUNK_BYTES), Room()
    exchange = room.add(1, Store(files, [0]))
    answers = []
    for number in range(2, 40):
        outputs = exchange.handle(Received(peer(number), ShardAsk(files[0].digest)), room.now)
        answers += [output.message for output in outputs if isinstance(output, Send)]
        room.now += GUEST_SILENCE_S / 100
    assert sum(isinstance(answer, ShardOffer) for answer in answers) <= GUESTS_MAX
    assert any(isinstance(answer, ShardDenied) and answer.retry_after_s for answer in answers)


def test_strangers_that_dawdle_keep_no_past_member_out():
    files, room = shards(1, 4 * CHUNK_BYTES), Room()
    exchange = room.add(1, Store(files, [0]))
    member, waited = peer(99), 0
    for known in (False, True):
        waited, start = 0, room.now
        exchange.donor.members.met([member] if known else [])
        while room.now < start + 300:  # ten strangers by turns, each asks for a chunk now and then
            for stranger in range(2, 12):
                exchange.handle(Received(peer(stranger), ShardAsk(files[0].digest)), room.now)
                exchange.handle(Received(peer(stranger), ShardChunkAsk(files[0].digest, 0)), room.now)
            [answer, *_] = [
                output.message
                for output in exchange.handle(Received(member, ShardAsk(files[0].digest)), room.now)
                if isinstance(output, Send) and output.to == member
            ]
            waited += isinstance(answer, ShardDenied)
            exchange.handle(Received(member, ShardDone(files[0].digest)), room.now)
            room.now += 2.0
        assert (waited == 0) is known


def test_chunks_are_for_guests_only():
    files, room = shards(1), Room()
    exchange = room.add(1, Store(files, [0]))
    outputs = exchange.handle(Received(peer(2), ShardChunkAsk(files[0].digest, 0)), room.now)
    assert not any(isinstance(getattr(output, "message", None), ShardChunkGive) for output in outputs)


def test_damaged_shard_is_not_given_and_forgotten():
    files, room = shards(2), Room()
    store = Store(files, [0])
    exchange = room.add(1, store)
    del store.files[files[0].digest]
    outputs = exchange.handle(Received(peer(2), ShardAsk(files[0].digest)), room.now)
    assert [output.message for output in outputs if isinstance(output, Send)] == [ShardDenied(files[0].digest, 0.0)]
    assert not exchange.shelf.held


def test_member_is_asked_before_a_thousand_made_up_holders():
    files, room = shards(1), Room()
    reader, key = room.add(1, Store(files)), holdings_key(bytes(32), 0, 0)
    room.add(2, Store(files, [0]))
    reader.donor.members.met([peer(2)])
    room.table[key] = {
        peer(number): Record(peer(number), encode_holdings([0], 0), int(1000 * (room.now + 600)), bytes(64))
        for number in range(100, 1100)
    }
    room.run(1)
    room.tell(1, wanted(0))
    room.run(60)
    assert peer(2) in [to for sender, to, kind in room.asked if (sender, kind) == (peer(1), "ShardAsk")][:6]
    assert room.here(1) == [0]
    assert room.traces[peer(1)]["shards.drop.strangers"] >= 1000 - STRANGERS_MAX
