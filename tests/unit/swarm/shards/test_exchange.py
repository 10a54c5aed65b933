"""Shards go from member to member, checked; liars are found, and what nobody gives is the origin's."""

import msgspec
import pytest

from core.base.content import CHUNK_BYTES
from core.dht.messages import Record
from core.swarm.catching_up.fetch import NOTHING_S
from core.swarm.shards.downloads import AHEAD
from core.swarm.shards.holdings import encode_holdings, holdings_key
from core.swarm.shards.names import ShardKept, ShardsWanted, ShardsWeighed
from core.swarm.shards.news import REST_S_MAX
from core.swarm.words.messages import ShardChunkGive, ShardOffer
from tests.unit.swarm.shards.parts import Room, Store, Table, name, peer, shards, wanted


def test_wanted_shard_comes_from_its_holder_checked():
    files, room = shards(4), Room()
    room.add(1, Store(files, [0, 1, 2, 3]))
    store = Store(files)
    exchange = room.add(2, store)
    room.run(10)
    room.tell(2, wanted(2, 1))
    room.run(10)
    assert room.here(2) == [1, 2]
    assert store.files[files[2].digest].pieces == files[2].pieces
    assert exchange.lying(0, [3, 2]) == 2
    assert exchange.received[peer(1)] == 2 * files[0].size_bytes


def test_shard_comes_from_several_holders_at_once():
    files, room = shards(1, 12 * CHUNK_BYTES), Room()
    for number in (1, 2, 3):
        room.add(number, Store(files, [0]))
    exchange = room.add(4, Store(files))
    room.run(10)
    room.tell(4, wanted(0))
    room.run(10)
    assert room.here(4) == [0]
    assert len(exchange.received) >= 2


def test_rarest_shard_is_chosen_first():
    files = shards(8)
    for seed in range(20):
        room = Room(seed)
        room.add(1, Store(files, [0, 1, 2, 3, 4, 5, 6]))
        room.add(2, Store(files, [0, 1, 2, 3, 4, 5]))
        room.add(3, Store(files, [0, 1, 2, 3, 4, 5]))
        room.add(4, Store(files))
        room.run(10)
        room.tell(4, wanted(*range(8)))
        room.run(0.001)
        first = next(e.name.number for p, e in room.events if p == peer(4))
        assert first in range(7)
        assert 6 in room.here(4)
        assert room.exchanges[peer(4)].from_origin(0, list(range(8))) == 7


def test_no_more_is_brought_than_the_reader_needs_soon():
    files, room = shards(20), Room()
    room.add(1, Store(files, range(20)))
    exchange = room.add(2, Store(files))
    room.run(10)
    room.tell(2, wanted(*range(20)))
    room.run(100)
    assert len(room.here(2)) == AHEAD
    read = exchange.lying(0, range(20))
    room.tell(2, wanted(*(number for number in range(20) if number != read)))
    room.run(100)
    assert len(room.here(2)) == AHEAD + 1


def test_sender_of_wrong_bytes_is_found_at_once_and_avoided():
    files, room = shards(6, 20 * CHUNK_BYTES), Room()
    room.add(1, Store(files, range(6)))
    room.add(2, Store(files, range(6)))
    room.add(3, Store(files))

    def spoil(sender, message):
        if sender == peer(1) and isinstance(message, ShardChunkGive):
            return msgspec.structs.replace(message, data=memoryview(b"x" * len(message.data)))
        return message

    room.change = spoil
    room.run(10)
    room.tell(3, wanted(0))
    room.run(30)
    assert room.here(3) == [0]
    assert room.lied(3) == {peer(1)}
    asked = len([1 for sender, to, _ in room.asked if (sender, to) == (peer(3), peer(1))])
    room.run(25)  # meanwhile it has told again that it holds all
    room.tell(3, wanted(1, 2, 3))
    room.run(5)
    assert room.here(3) == [0, 1, 2, 3]
    assert len([1 for sender, to, _ in room.asked if (sender, to) == (peer(3), peer(1))]) == asked


def test_offer_of_another_length_is_a_lie_and_harms_nobody():
    files, room = shards(1, 40 * CHUNK_BYTES - 5), Room()
    room.add(1, Store(files, [0]))
    room.add(2, Store(files, [0]))
    room.add(3, Store(files))

    def shorten(sender, message):
        if sender == peer(1) and isinstance(message, ShardOffer):
            return msgspec.structs.replace(message, size_bytes=message.size_bytes - 1)
        return message

    room.change = shorten
    room.run(10)
    room.tell(3, wanted(0))
    room.run(30)
    assert (room.here(3), room.lied(3)) == ([0], {peer(1)})


def test_equal_shards_of_two_sources_come_once_for_both():
    files, room = shards(3), Room()
    room.add(1, Store(files, range(3), sources=2))
    exchange = room.add(2, Store(files, sources=2))
    room.run(10)
    for source, number in ((1, 2), (0, 1), (0, 2)):
        room.tell(2, ShardsWanted(source, (number,)))
        room.run(5)
        assert exchange.lying(source, [number]) == number
    assert exchange.received[peer(1)] == 2 * files[0].size_bytes
    assert exchange.lying(1, [0, 1]) == 1
    assert not exchange.comes(0)
    assert not exchange.keeps(exchange.shelf.catalogue.first(1, 2))
    assert exchange.shelf.used_bytes == 2 * files[0].size_bytes


def test_origin_is_named_by_the_number_asked_for():
    files = shards(2)
    exchange = Room().add(1, Store([files[0], files[1], files[0]], sources=2))
    assert exchange.from_origin(1, [2]) == 2
    assert exchange.to_seed(1, [1, 2]) in {None, 1, 2}


def test_shards_that_readers_of_two_sources_were_given_stay():
    files, room = shards(8), Room()
    exchange = room.add(1, Store(files, range(6), room=6, sources=2))
    assert exchange.lying(1, [5]) == 5
    for number in range(4):
        assert exchange.lying(0, [number]) == number
    for number in (6, 7):
        assert exchange.shelf.reserve(name(number), is_wanted=lambda _: False)
        room.tell(1, ShardKept(name(number)))
    assert {name(number) for number in (2, 3, 5)} <= exchange.shelf.held.keys()


def promising(senders):
    """A change by which some offer and then send nothing."""
    liars = {peer(number) for number in senders}
    return lambda sender, message: None if sender in liars and isinstance(message, ShardChunkGive) else message


def test_holders_that_promise_and_do_not_send_hold_no_place():
    files = shards(1, 3 * CHUNK_BYTES)
    for seed in range(5):
        room = Room(seed)
        for number in range(1, 10):
            room.add(number, Store(files, [0]))
        room.add(99, Store(files))
        room.change = promising(range(2, 10))
        room.run(10)
        room.tell(99, wanted(0))
        room.run(NOTHING_S - 1)
        assert room.here(99) == [0]


def test_holders_that_sent_nothing_are_not_asked_again_soon():
    files, room = shards(2, 3 * CHUNK_BYTES), Room()
    for number in (1, 2, 3):
        room.add(number, Store(files, range(2)))
    room.add(9, Store(files))
    room.change = promising((1, 2, 3))
    room.run(10)
    room.tell(9, wanted(0))
    room.run(NOTHING_S + 1)
    asked = len([1 for sender, _, message in room.asked if sender == peer(9) and message == "ShardAsk"])
    room.tell(9, wanted(0, 1))
    room.run(2)
    assert len([1 for sender, _, message in room.asked if sender == peer(9) and message == "ShardAsk"]) == asked


def test_who_claims_all_shards_costs_a_moment_only():
    files, room = shards(4), Room()
    room.add(1, Store(files, range(4)))
    room.exchanges[peer(1)].shelf.held.clear()  # it has said so, and has none
    room.add(2, Store(files, [0]))
    room.add(3, Store(files))
    room.run(10)
    room.table[next(iter(room.table))].setdefault(peer(1), next(iter(room.table.values()))[peer(2)])
    room.tell(3, wanted(0, 1))
    room.run(30)
    assert room.here(3) == [0]
    assert room.lied(3) == set()


def test_silent_holder_is_left_and_the_others_give():
    files, room = shards(3, 5 * CHUNK_BYTES), Room()
    room.add(1, Store(files, range(3)))
    room.add(2, Store(files, range(3)))
    room.add(3, Store(files))
    room.change = lambda sender, message: None if sender == peer(1) else message
    room.run(10)
    room.tell(3, wanted(0))
    room.run(60)
    assert room.here(3) == [0]


def test_broken_download_goes_on_where_it_stopped():
    files, room = shards(1, 8 * CHUNK_BYTES), Room()
    room.add(1, Store(files, [0]))
    store = Store(files)
    room.add(2, store)
    given = []

    def cut(sender, message):
        if isinstance(message, ShardChunkGive):
            given.append(message.index)
            return message if len(given) <= 4 else None
        return message

    room.change = cut
    room.run(10)
    room.tell(2, wanted(0))
    room.run(100)
    assert room.here(2) == []
    room.change = lambda sender, message: (
        given.append(message.index) or message if isinstance(message, ShardChunkGive) else message
    )
    room.add(2, store)  # a new run, with what lies on the disk
    given.clear()
    room.tell(2, wanted(0))
    room.run(100)
    assert room.here(2) == [0]
    assert len(given) == 4


def test_chunks_wait_for_the_end_of_a_round():
    files, room = shards(1), Room()
    room.add(1, Store(files, [0]))
    room.add(2, Store(files))
    room.run(10)
    room.busy.add(peer(1))
    room.tell(2, wanted(0))
    room.run(5)
    assert room.here(2) == []
    room.run(30)
    assert room.here(2) == [0]


def test_commonest_shard_goes_when_the_disk_is_full():
    files, room = shards(7), Room()
    room.add(1, Store(files, [0, 1, 2, 3, 6]))
    room.add(2, Store(files, [1]))
    exchange = room.add(3, Store(files, [0, 1, 2, 3, 4], room=5))
    room.run(10)
    room.tell(3, wanted(6))
    room.run(30)
    assert room.here(3) == [6]
    assert [one.number for one in exchange.shelf.held] == [0, 2, 3, 4, 6]


@pytest.mark.parametrize(("common", "kept"), [(True, True), (False, False)])
def test_shard_of_the_origin_is_kept_if_rarer(common, kept):
    files, room = shards(3), Room()
    room.add(1, Store(files, [0, 1] if common else [2]))
    exchange = room.add(2, Store(files, [0, 1], room=2))
    room.run(10)
    room.tell(2, wanted(0))  # so it hears of the others
    room.run(0.1)
    assert exchange.keeps(name(2)) is kept


def test_shelf_keeps_to_a_smaller_room():
    files, room = shards(4), Room()
    store = Store(files, range(4))
    exchange = room.add(1, store)
    store.budget_bytes = 2 * files[0].size_bytes
    room.tell(1, ShardsWeighed())
    assert len(exchange.shelf.held) == 2 == len(store.files)


def test_without_room_nothing_is_brought():
    files, room = shards(2), Room()
    room.add(1, Store(files, [0, 1]))
    exchange = room.add(2, Store(files, room=0))
    room.run(10)
    room.tell(2, wanted(0, 1))
    room.run(30)
    assert room.here(2) == []
    assert not exchange.keeps(name(1))


def test_kept_shard_is_announced_to_the_others():
    files, room = shards(2), Room()
    store = Store(files)
    exchange = room.add(1, store)
    room.add(2, Store(files))
    assert exchange.keeps(name(1))
    store.files[files[1].digest] = files[1]
    room.tell(1, ShardKept(name(1)))
    room.run(10)
    room.tell(2, wanted(1))
    room.run(30)
    assert room.here(2) == [1]


def test_crowd_that_shares_is_read_less_often(monkeypatch):
    """Each read brings as many records as there are members that share."""
    files, room, reads, key = shards(1), Room(), [], holdings_key(bytes(32), 0, 0)
    room.add(1, Store(files))
    room.table[key] = {
        peer(number): Record(peer(number), encode_holdings([0], 0), int(1000 * (room.now + 9000)), bytes(64))
        for number in range(2, 2002)
    }
    get = Table.get
    monkeypatch.setattr(Table, "get", lambda table, *asked: (reads.append(asked[0]), get(table, *asked))[1])
    room.tell(1, wanted(0))
    room.run(3000)
    assert reads.count(key) <= 3000 / (0.8 * REST_S_MAX) + 1
