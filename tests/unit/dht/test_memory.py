from core.base.ids import hashed_key
from core.dht.memory import READ_KEYS_MAX, ROUTES_MAX, Memory
from core.dht.records import sign_record, tag_of
from tests.unit.dht.network import ToySigner, contact, peer_id

KEY = hashed_key(b"key")
ME = ToySigner(peer_id(1))
TAG = tag_of(ME.peer_id)


def record(expires_s, key=KEY, value=b""):
    return sign_record(ME, key, value, subkey=bytes(ME.peer_id), expires_ms=int(expires_s * 1000))


def test_read_and_held_records_are_merged_until_they_expire():
    memory = Memory(route_s=10)
    memory.read(KEY, {TAG: record(20)})
    memory.read(KEY, {TAG: record(15)})
    assert memory.known(KEY, {}, now=5) == {TAG: record(20)}
    assert memory.known(KEY, {TAG: record(10)}, now=5) == {TAG: record(20)}
    assert memory.known(KEY, {TAG: record(30)}, now=5) == {TAG: record(30)}
    assert memory.known(KEY, {}, now=20) == {}
    memory.expire(now=20)
    assert memory.known(KEY, {}, now=5) == {}


def test_a_later_write_always_expires_later():
    memory = Memory(route_s=10)
    assert memory.expiration(KEY, b"a", 500) == 500
    memory.wrote(KEY, record(60))
    assert memory.expiration(KEY, bytes(ME.peer_id), 60_000) == 60_001
    assert memory.expiration(KEY, bytes(ME.peer_id), 10_000) == 60_001
    memory.expire(now=61)
    assert memory.expiration(KEY, bytes(ME.peer_id), 10_000) == 10_000


def test_routes_are_believed_for_a_while():
    memory = Memory(route_s=10)
    assert memory.route(KEY, now=0) == ()
    memory.found_route(KEY, [contact(1)], now=0)
    assert memory.route(KEY, now=9) == (contact(1),)
    assert memory.route(KEY, now=10) == ()
    memory.forget_route(KEY)
    memory.forget_route(KEY)
    assert memory.route(KEY, now=0) == ()
    memory.found_route(KEY, [contact(1)], now=0)
    memory.expire(now=11)
    assert memory.route(KEY, now=0) == ()


def test_limits():
    memory = Memory(route_s=10)
    for number in range(max(READ_KEYS_MAX, ROUTES_MAX) + 1):
        key = hashed_key(b"%d" % number)
        memory.read(key, {TAG: record(20, key)})
        memory.found_route(key, [contact(1)], now=0)
    assert memory.known(hashed_key(b"0"), {}, now=0) == {}
    assert memory.route(hashed_key(b"0"), now=0) == ()
