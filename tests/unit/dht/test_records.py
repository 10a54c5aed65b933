import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from core.base.ids import Key, hashed_key
from core.base.signing import Ed25519Verifier, KeyPair
from core.dht.key_classes import classed_key, grouped_key
from core.dht.messages import SUBKEY_BYTES_MAX, VALUE_BYTES_MAX, Record
from core.dht.records import KeepResult, Proofs, RecordStore, sign_record, signed_bytes, tag_of
from core.dht.settings import DhtSettings, Quota
from tests.unit.dht.network import ToySigner, ToyVerifier, peer_id

KEY = hashed_key(b"key")
alice, bob = ToySigner(peer_id(1)), ToySigner(peer_id(2))


def record(signer, value, *, expires, suffix=b"", key=KEY):
    return sign_record(signer, key, value, subkey=signer.peer_id + suffix, expires_ms=int(expires * 1000))


def make_store(**limits):
    return RecordStore(Proofs(ToyVerifier()), DhtSettings(max_lifetime_s=100, clock_slack_s=0, **limits))


class TestSigning:
    def test_with_real_keys_the_owner_and_nobody_else_can_write(self):
        keys, other = KeyPair(bytes(32)), KeyPair(b"\1" * 32)
        proofs = Proofs(Ed25519Verifier())
        good = record(keys, b"value", expires=10)
        assert proofs.holds(KEY, good)
        assert not proofs.holds(hashed_key(b"elsewhere"), good)
        forged = other.sign(signed_bytes(KEY, keys.peer_id, b"evil", 10_000))
        assert not proofs.holds(KEY, Record(bytes(keys.peer_id), b"evil", 10_000, forged))
        for change in ({"value": b"valuf"}, {"expires_ms": 11_000}, {"subkey": keys.peer_id + b"x"}):
            fields = {name: getattr(good, name) for name in good.__struct_fields__} | change
            assert not proofs.holds(KEY, Record(**fields))

    def test_signing_outside_the_limits_raises(self):
        with pytest.raises(ValueError, match="value"):
            record(alice, bytes(VALUE_BYTES_MAX + 1), expires=1)
        with pytest.raises(ValueError, match="subkey"):
            record(alice, b"", expires=1, suffix=bytes(17))
        with pytest.raises(ValueError, match="subkey"):
            sign_record(alice, KEY, b"", subkey=bytes(bob.peer_id), expires_ms=1)

    @given(st.binary(max_size=16), st.binary(max_size=40), st.binary(max_size=16), st.binary(max_size=40))
    def test_no_two_records_sign_the_same_bytes(self, suffix_a, value_a, suffix_b, value_b):
        one = signed_bytes(KEY, alice.peer_id + suffix_a, value_a, 5)
        two = signed_bytes(KEY, alice.peer_id + suffix_b, value_b, 5)
        assert (one == two) == ((suffix_a, value_a) == (suffix_b, value_b))

    def test_signed_expiration_cannot_pass_for_a_longer_subkey(self):
        first, second = 7, 5
        one = signed_bytes(KEY, alice.peer_id, second.to_bytes(8, "big") + b"value", first)
        two = signed_bytes(KEY, alice.peer_id + first.to_bytes(8, "big"), b"value", second)
        assert one != two

    def test_a_record_is_verified_once(self):
        verifier = ToyVerifier()
        proofs = Proofs(verifier, limit=2)
        good = record(alice, b"a", expires=10)
        bad = Record(good.subkey, b"b", good.expires_ms, good.signature)
        assert [proofs.holds(KEY, r) for r in (good, bad, good, bad)] == [True, False, True, False]
        assert verifier.calls == 2
        own = record(alice, b"own", expires=10)
        proofs.signed(KEY, own)
        assert proofs.holds(KEY, own)
        assert verifier.calls == 2
        assert proofs.holds(KEY, good)  # pushed out by `own`
        assert verifier.calls == 3

    def test_limits_of_the_schema_leave_room_for_the_longest_subkey(self):
        longest = record(alice, b"", expires=1, suffix=bytes(16))
        assert len(longest.subkey) == SUBKEY_BYTES_MAX
        assert longest.owner == alice.peer_id
        assert longest.expiration == 1.0


class TestStore:
    def test_verdicts(self):
        store = make_store()
        assert store.put(KEY, record(alice, b"1", expires=50), now=10) is KeepResult.KEPT
        assert store.put(KEY, record(alice, b"1", expires=50), now=10) is KeepResult.KNOWN
        assert store.put(KEY, record(alice, b"0", expires=49), now=10) is KeepResult.KNOWN
        assert store.put(KEY, record(bob, b"", expires=10), now=10) is KeepResult.EXPIRED
        assert store.put(KEY, record(bob, b"", expires=111), now=10) is KeepResult.TOO_LONG
        forged = Record(bytes(alice.peer_id), b"x", 60_000, bob.sign(b""))
        assert store.put(KEY, forged, now=10) is KeepResult.SIGNATURE
        assert [r.value for r in store.get(KEY, now=10).values()] == [b"1"]

    def test_limits_in_total_per_key_and_per_owner(self):
        store = make_store(records_max=4, records_per_key=3, records_per_owner=2)
        carol = ToySigner(peer_id(3))
        other = hashed_key(b"other")
        verdicts = [
            store.put(KEY, record(alice, b"", expires=50), now=0),
            store.put(KEY, record(alice, b"", expires=50, suffix=b"1"), now=0),
            store.put(other, record(alice, b"", expires=50, key=other), now=0),  # the owner's third
            store.put(KEY, record(bob, b"", expires=20), now=0),
            store.put(KEY, record(carol, b"", expires=50), now=0),  # the key's fourth
            store.put(other, record(carol, b"", expires=50, key=other), now=0),
            store.put(other, record(bob, b"", expires=50, key=other), now=0),  # the fifth of all
            store.put(KEY, record(alice, b"new", expires=60), now=0),  # replaces
        ]
        assert [verdict is KeepResult.KEPT for verdict in verdicts] == [1, 1, 0, 1, 0, 1, 0, 1]
        store.expire(now=30)
        assert len(store) == 3
        assert store.put(KEY, record(bob, b"", expires=50), now=30) is KeepResult.KEPT

    @settings(max_examples=60, deadline=None)
    @given(
        st.lists(
            st.tuples(
                st.sampled_from([KEY, hashed_key(b"b")]),
                st.sampled_from([alice, bob]),
                st.sampled_from([b"", b"x"]),
                st.binary(max_size=2),
                st.integers(1, 60),
                st.integers(0, 8),
            ),
            max_size=40,
        ),
        st.booleans(),
    )
    def test_against_a_plain_dictionary(self, steps, sweep):
        """The model: for each (key, subkey) the live record with the latest expiration, of two alike the greater."""
        store, model, now = make_store(), {}, 0
        for key, signer, suffix, value, expires, passed in steps:
            now += passed
            model = {place: entry for place, entry in model.items() if entry[0] > now}
            if expires > now:
                place = (key, signer.peer_id + suffix)
                model[place] = max(model.get(place, (0, b"")), (expires, value))
            store.put(key, record(signer, value, expires=expires, suffix=suffix, key=key), now)
            if sweep:
                store.expire(now)
                assert len(store) == len(model)
            held = {(k, r.subkey): (r.expires_ms // 1000, r.value) for k in store for r in store.get(k, now).values()}
            assert held == model

    def test_order_of_arrival_does_not_matter(self):
        a, b = record(alice, b"a", expires=5), record(alice, b"b", expires=5)
        for order in ((a, b), (b, a)):
            store = make_store()
            for one in order:
                store.put(KEY, one, now=0)
            assert store.get(KEY, now=0) == {tag_of(alice.peer_id): b}
        assert store.get(Key(bytes(32)), now=0) == {}


def test_class_with_a_quota_neither_takes_nor_loses_room():
    mine, store = classed_key("mine", b"x"), make_store(records_max=2, quotas={"mine": Quota(3, 4, 2)})
    keys = [(KEY, alice), (mine, alice), (mine, bob), (KEY, bob)]
    for key, signer in keys:
        assert store.put(key, record(signer, b"v", expires=5, key=key), 1.0) is KeepResult.KEPT
    further = [record(alice, value, expires=5, suffix=b"1", key=mine) for value in (b"vvv", b"vv")]
    assert [store.put(mine, one, 1.0) for one in further] == [KeepResult.FULL, KeepResult.KEPT], "four bytes"
    third = record(alice, b"", expires=5, suffix=b"2", key=mine)
    assert store.put(mine, third, 1.0) is KeepResult.FULL, "of this owner"
    other = record(ToySigner(peer_id(3)), b"", expires=5, key=mine)
    assert store.put(mine, other, 1.0) is KeepResult.FULL, "of the class"
    assert len(store) == 5
    store.expire(6.0)
    assert len(store) == 0
    assert store.put(mine, record(alice, b"vvvv", expires=9, key=mine), 6.0) is KeepResult.KEPT


def test_keys_of_a_group_begin_alike():
    keys = [grouped_key("rows", (b"run", b"layer"), bytes([member])) for member in range(50)]
    assert len(set(keys)) == 50
    assert len({key[:20] for key in keys}) == 1
    assert {key[-4:] for key in keys} == {classed_key("rows", b"x")[-4:]}
    assert grouped_key("rows", (b"run", b"other"), b"0")[:20] != keys[0][:20]


def test_no_owner_fills_a_key_that_others_share():
    store = make_store(records_per_owner_and_key=2)
    mine = [record(alice, b"v", expires=5, suffix=suffix) for suffix in (b"", b"1", b"2")]
    assert [store.put(KEY, one, 1.0).held for one in mine] == [True, True, False]
    assert store.put(KEY, record(bob, b"v", expires=5), 1.0).held
    elsewhere = hashed_key(b"elsewhere")
    assert store.put(elsewhere, record(alice, b"v", expires=5, key=elsewhere), 1.0).held
    store.expire(6.0)
    assert store.put(KEY, record(alice, b"v", expires=9, suffix=b"2"), 6.0).held
