from hypothesis import given
from hypothesis import strategies as st

import core.net.replay as module
from core.net.replay import WINDOW_S, ReplayGuard
from tests.unit.net.people import NOW, id_of

ANNA, BEN = id_of("anna"), id_of("ben")


def test_a_nonce_is_admitted_once_per_sender():
    guard = ReplayGuard()
    assert guard.admit(ANNA, b"n" * 8, time=NOW, now=NOW)
    assert not guard.admit(ANNA, b"n" * 8, time=NOW, now=NOW + 50)
    assert guard.admit(BEN, b"n" * 8, time=NOW, now=NOW)


@given(st.lists(st.tuples(st.floats(0, 5), st.floats(-WINDOW_S, WINDOW_S), st.integers(0, 30)), max_size=200))
def test_nothing_acceptable_is_admitted_twice(steps):
    guard = ReplayGuard()
    now, admitted = NOW, set()
    for wait_s, skew_s, nonce in steps:
        now += wait_s
        entry = (nonce, now + skew_s)
        fresh = guard.admit(ANNA, nonce.to_bytes(8, "big"), time=entry[1], now=now)
        assert not (fresh and entry in admitted)
        if fresh:
            admitted.add(entry)
        for old_nonce, time in list(admitted):
            if abs(time - now) <= WINDOW_S:
                assert not guard.admit(ANNA, old_nonce.to_bytes(8, "big"), time=time, now=now)


def test_memory_is_given_back():
    guard = ReplayGuard()
    for number in range(100):
        assert guard.admit(ANNA, number.to_bytes(8, "big"), time=NOW + number, now=NOW + number)
    guard.admit(ANNA, b"n" * 8, time=NOW + 1000, now=NOW + 1000)
    assert len(guard) == 1


def test_full_memory_refuses_rather_than_forgets(monkeypatch):
    monkeypatch.setattr(module, "NONCES_MAX", 10)
    guard = ReplayGuard()
    seen = [(number.to_bytes(8, "big"), NOW + number / 100) for number in range(30)]
    assert all(guard.admit(ANNA, nonce, time=time, now=NOW) for nonce, time in seen)
    assert len(guard) <= 10
    assert not any(guard.admit(ANNA, nonce, time=time, now=NOW) for nonce, time in seen)


def test_one_sender_cannot_fill_it(monkeypatch):
    monkeypatch.setattr(module, "NONCES_PER_SENDER_MAX", 5)
    guard = ReplayGuard()
    assert sum(guard.admit(ANNA, bytes([n]) * 8, time=NOW, now=NOW) for n in range(20)) == 5
    assert guard.admit(BEN, b"n" * 8, time=NOW, now=NOW)
