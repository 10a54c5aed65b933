from random import Random

from core.base.ids import hashed_key
from core.dht.records import sign_record, tag_of
from core.dht.republish import Republish
from tests.unit.dht.network import ToySigner, peer_id

KEY = hashed_key(b"key")


def record(owner, expires):
    signer = ToySigner(peer_id(owner))
    return sign_record(signer, KEY, b"v", subkey=bytes(signer.peer_id), expires_ms=int(expires * 1000))


def due(republish, now, limit=64):
    found = republish.due(now, limit)
    return None if found is None else (found[0], set(found[1]))


def test_record_is_due_once_an_interval_unless_stored_meanwhile():
    republish = Republish(every_s=100, random=Random(1))
    one = record(1, 1e6)
    republish.stored(KEY, one, 0.0)
    assert 75 <= republish.deadline <= 125
    assert due(republish, 74.9) is None
    republish.stored(KEY, one, 70.0)
    assert due(republish, 140.0) is None
    assert due(republish, 196.0) == (KEY, {tag_of(one.subkey)})
    assert due(republish, 1000.0) is None
    assert republish.deadline is None


def test_short_lived_records_are_not_republished():
    republish = Republish(every_s=100, random=Random(1))
    republish.stored(KEY, record(1, 99), 0.0)
    assert republish.deadline is None
    off = Republish(every_s=0, random=Random(1))
    off.stored(KEY, record(1, 1e6), 0.0)
    assert off.deadline is None


def test_records_of_a_key_are_due_apart_and_in_batches():
    republish = Republish(every_s=100, random=Random(1))
    records = [record(owner, 1e6) for owner in range(10)]
    for one in records:
        republish.stored(KEY, one, 0.0)
    republish.stored(KEY, records[0], 100.0)
    seen = set()
    while (found := due(republish, 130.0, 4)) is not None:
        assert len(found[1]) <= 4
        assert not seen & found[1]
        seen |= found[1]
    assert seen == {tag_of(one.subkey) for one in records[1:]}
    assert due(republish, 230.0) == (KEY, {tag_of(records[0].subkey)})
