import json
from dataclasses import replace

from core.base.ids import hashed_key
from core.dht.cache import CACHED_PER_KEY, RecordCache
from core.dht.key_classes import KeyClasses, class_mark, classed_key
from core.dht.messages import Record
from core.dht.records import KeepResult, Proofs, RecordStore, sign_record, tag_of
from core.dht.settings import DhtSettings
from tests.unit.dht.network import START, ToySigner, ToyVerifier, peer_id

KEY = hashed_key(b"key")
LIMITS = DhtSettings(cache_s=60, caches_max=3, max_lifetime_s=1000, clock_slack_s=0)


def record(owner, value=b"v", *, expires=START + 600, key=KEY):
    signer = ToySigner(peer_id(owner))
    return sign_record(signer, key, value, subkey=bytes(signer.peer_id), expires_ms=int(expires * 1000))


def cache(**changes):
    return RecordCache(Proofs(ToyVerifier()), replace(LIMITS, **changes))


def test_cached_copy_expires_and_never_hides_a_held_record():
    kept = cache()
    old, new = record(1, b"old"), record(1, b"new", expires=START + 601)
    assert kept.put(KEY, old, START)
    assert dict(kept.beside(KEY, {}, START + 59)) == {tag_of(old.subkey): old}
    assert dict(kept.beside(KEY, {tag_of(new.subkey): new}, START)) == {tag_of(new.subkey): new}
    assert kept.beside(KEY, {}, START + 61) == {}
    assert kept.put(KEY, new, START)
    assert not kept.put(KEY, old, START)
    assert kept.expire(START + 1) == START + 61
    assert kept.expire(START + 61) is None
    assert len(kept) == 0


def test_copy_ends_with_its_record():
    kept = cache(cache_s=60)
    brief = record(1, expires=START + 30)
    assert kept.put(KEY, brief, START)
    assert dict(kept.beside(KEY, {}, START + 29)) == {tag_of(brief.subkey): brief}
    assert kept.beside(KEY, {}, START + 30) == {}


def test_forged_overlong_or_surplus_copies_are_not_kept():
    kept = cache()
    assert not kept.put(KEY, Record(bytes(peer_id(1)), b"x", int((START + 60) * 1000), bytes(64)), START)
    assert not kept.put(KEY, record(1, expires=START + 1001), START)
    assert not kept.put(KEY, record(1, expires=START - 1), START)
    assert not cache(cache_s=0).put(KEY, record(1), START)
    assert [kept.put(KEY, record(owner), START) for owner in range(6)].count(True) == CACHED_PER_KEY
    for number in range(9):
        key = hashed_key(b"%d" % number)
        kept.put(key, record(1, key=key), START)
    assert len(kept) == 3


def test_classes_say_what_may_stand_under_their_keys():
    short = classed_key("short", b"a")
    classes = KeyClasses({"short": lambda _, one: len(one.value) < 3})
    store = RecordStore(Proofs(ToyVerifier(), classes=classes), LIMITS)
    assert store.put(short, record(1, b"long value", key=short), START) is KeepResult.SCHEMA
    assert store.put(short, record(1, b"ok", key=short), START) is KeepResult.KEPT
    assert store.put(KEY, record(1, b"long value"), START) is KeepResult.KEPT
    assert short[-4:] == class_mark("short")
    assert classed_key("long", b"a")[:28] != short[:28]
    strict = RecordStore(Proofs(ToyVerifier(), classes=KeyClasses({}, unknown=False)), LIMITS)
    assert strict.put(KEY, record(1), START) is KeepResult.SCHEMA


def test_a_validator_that_cannot_read_a_value_says_no():
    key = classed_key("json", b"a")
    classes = KeyClasses({"json": lambda _, one: "x" in json.loads(one.value)})
    store = RecordStore(Proofs(ToyVerifier(), classes=classes), LIMITS)
    assert store.put(key, record(1, b"\xff", key=key), START) is KeepResult.SCHEMA
    assert store.put(key, record(1, b"no json", key=key), START) is KeepResult.SCHEMA
    assert store.put(key, record(1, b'["x"]', key=key), START) is KeepResult.KEPT


def test_total_bytes_are_limited_and_freed_on_removal():
    store = RecordStore(Proofs(ToyVerifier()), replace(LIMITS, record_bytes_max=1000))
    assert store.put(KEY, record(1, bytes(500), expires=START + 10), START) is KeepResult.KEPT
    assert store.put(KEY, record(2, bytes(501)), START) is KeepResult.FULL
    assert store.put(KEY, record(2, bytes(400)), START) is KeepResult.KEPT
    assert store.put(KEY, record(2, bytes(501), expires=START + 601), START) is KeepResult.FULL
    assert store.put(KEY, record(2, bytes(500), expires=START + 601), START) is KeepResult.KEPT
    assert store.expire(START + 11) == START + 601
    assert store.put(KEY, record(3, bytes(500)), START + 11) is KeepResult.KEPT
