from random import Random

from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.ids import hashed_key
from core.base.machine import Trace
from core.dht.messages import Record
from core.dht.pages import Claim, record_bytes
from core.dht.record_merge import RecordMerge
from core.dht.records import Proofs, sign_record, tag_of
from core.dht.settings import DhtSettings
from tests.unit.dht.network import ToySigner, ToyVerifier, peer_id

KEY = hashed_key(b"key")
REPLICAS = [peer_id(n) for n in (101, 102, 103)]


def record(owner, expires_s, value=b"v" * 200):
    signer = ToySigner(peer_id(owner))
    return sign_record(signer, KEY, value, subkey=bytes(signer.peer_id), expires_ms=int(expires_s * 1000))


def claim(one, *, later_ms=0):
    return Claim(tag_of(one.subkey), one.expires_ms + later_ms, record_bytes(one))


def make(known=(), **changes):
    trace = Trace()
    limits = DhtSettings(**{"max_lifetime_s": 100.0, "clock_slack_s": 0.0, "records_per_key": 50} | changes)
    merge = RecordMerge(
        KEY, {tag_of(r.subkey): r for r in known}, settings=limits, proofs=Proofs(ToyVerifier()), trace=trace
    )
    return merge, trace


@settings(max_examples=60, deadline=None)
@given(st.lists(st.dictionaries(st.integers(0, 12), st.integers(1, 90)), min_size=1, max_size=3), st.integers())
def test_replicas_that_differ_are_merged_later_expiration_wins(held, seed):
    random = Random(seed)
    held = [{owner: record(owner, expires) for owner, expires in replica.items()} for replica in held]
    merge, _ = make()
    for replica, records in zip(REPLICAS, held, strict=False):
        merge.claimed(replica, [claim(r) for r in records.values()], now=0)
    waiting = merge.fetches()
    fetched = 0
    while waiting:
        peer, tags = waiting.pop(random.randrange(len(waiting)))
        mine = {tag_of(r.subkey): r for r in held[REPLICAS.index(peer)].values()}
        merge.delivered((peer, tags), [mine[tag] for tag in tags], now=0)
        fetched += len(tags)
        waiting += merge.fetches()
    assert merge.done
    newest = {}
    for records in held:
        for owner, one in records.items():
            if owner not in newest or one.expires_ms > newest[owner].expires_ms:
                newest[owner] = one
    assert set(merge.records.values()) == set(newest.values())
    assert fetched == len(newest)


def test_held_records_are_not_fetched():
    old, same = record(1, 10), record(2, 10)
    merge, _ = make([old, same])
    newer = record(1, 20)
    merge.claimed(REPLICAS[0], [claim(newer), claim(same)], now=0)
    assert merge.fetches() == [(REPLICAS[0], (tag_of(newer.subkey),))]
    assert merge.fetches() == []


def test_where_the_newest_claim_proves_false_the_next_is_tried():
    true = record(1, 10)
    merge, trace = make()
    liar, honest, _ = REPLICAS
    merge.claimed(liar, [claim(true, later_ms=5000)], now=0)
    merge.claimed(honest, [claim(true)], now=0)
    [(peer, tags)] = merge.fetches()
    assert peer == liar
    forged = Record(true.subkey, b"evil", true.expires_ms + 5000, bytes(64))
    merge.delivered((peer, tags), [forged], now=0)
    assert trace["dht.drop.record.signature"] == 1
    [(peer, tags)] = merge.fetches()
    assert peer == honest
    merge.delivered((peer, tags), [true], now=0)
    assert merge.done
    assert list(merge.records.values()) == [true]


def test_older_record_does_not_void_a_newer_claim():
    older, newer = record(1, 10), record(1, 20)
    merge, _ = make()
    merge.claimed(REPLICAS[0], [claim(newer)], now=0)
    merge.claimed(REPLICAS[1], [claim(older)], now=0)
    merge.offered([older], now=0)
    [batch] = merge.fetches()
    assert batch == (REPLICAS[0], (tag_of(newer.subkey),))
    merge.delivered(batch, [newer], now=0)
    assert merge.done
    assert list(merge.records.values()) == [newer]


def test_records_that_did_not_fit_are_fetched_again():
    records = [record(n, 10) for n in range(4)]
    merge, _ = make()
    merge.claimed(REPLICAS[0], [Claim(claim(r).tag, r.expires_ms, 10) for r in records], now=0)
    [batch] = merge.fetches()
    by_tag = {tag_of(r.subkey): r for r in records}
    first, second, third, fourth = batch[1]
    merge.delivered(batch, [by_tag[second]], now=0)
    [batch] = merge.fetches()
    assert batch[1] == (third, fourth)
    merge.delivered(batch, [], now=0)
    assert merge.done
    assert first not in merge.records


def test_a_silent_replica_costs_its_claims_only():
    both, one = record(1, 10), record(2, 10)
    merge, _ = make()
    merge.claimed(REPLICAS[0], [claim(both), claim(one)], now=0)
    merge.claimed(REPLICAS[1], [claim(both)], now=0)
    merge.fetches()
    merge.failed(REPLICAS[0])
    for batch in merge.fetches():
        assert batch == (REPLICAS[1], (tag_of(both.subkey),))
    merge.failed(REPLICAS[1])
    assert merge.done


def test_unasked_or_expired_records_do_not_count():
    merge, trace = make(records_per_key=2)
    asked, unasked = record(1, 10), record(2, 10)
    merge.claimed(REPLICAS[0], [claim(asked)], now=0)
    [batch] = merge.fetches()
    merge.delivered(batch, [unasked], now=0)
    assert not merge.records
    merge.offered([record(3, 5), record(4, 200)], now=6)
    assert trace["dht.drop.record.time"] == 2
    merge.offered([record(n, 50) for n in range(5)], now=6)
    assert (len(merge.records), trace["dht.drop.record.full"]) == (2, 3)
    merge.claimed(REPLICAS[0], [claim(record(n, 50)) for n in range(10, 20)], now=0)
    assert sum(len(tags) for _, tags in merge.fetches()) == 2


def test_only_so_many_records_of_one_owner_count():
    merge, trace = make(records_per_owner_and_key=2)
    signer = ToySigner(peer_id(1))
    many = [sign_record(signer, KEY, b"v", subkey=signer.peer_id + bytes([n]), expires_ms=50_000) for n in range(5)]
    merge.offered([*many, record(2, 50)], 1.0)
    assert len(merge.records) == 3
    assert trace["dht.drop.record.full"] == 3
