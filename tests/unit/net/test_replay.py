import pytest
from hypothesis import given
from hypothesis import strategies as st

import core.net.datagrams.replay as module
from core.net.datagrams.replay import WINDOW_S, ReplayGuard
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


def flood(guard: ReplayGuard, *, senders: int, letters: int, ahead_s: float) -> None:
    """Members date their letters ahead, as far as a receiver accepts it."""
    for number in range(letters):
        guard.admit(id_of(f"m{number % senders}"), number.to_bytes(8, "big"), time=NOW + ahead_s, now=NOW)


@pytest.mark.parametrize("late_s", [0.0, 1.0, 2.0, 4.0, 30.0])
def test_letters_dated_ahead_silence_nobody(monkeypatch, late_s):
    monkeypatch.setattr(module, "NONCES_MAX", 260)
    guard = ReplayGuard()
    flood(guard, senders=26, letters=1000, ahead_s=58.0)
    honest = [(number.to_bytes(8, "big"), NOW - late_s + number / 100) for number in range(9)]
    assert all(guard.admit(ANNA, nonce, time=time, now=NOW) for nonce, time in honest)
    assert not any(guard.admit(ANNA, nonce, time=time, now=NOW) for nonce, time in honest)


def test_memory_is_shared_equally_by_senders(monkeypatch):
    monkeypatch.setattr(module, "NONCES_MAX", 100)
    guard = ReplayGuard()
    flood(guard, senders=1, letters=500, ahead_s=0.0)
    assert len(guard) == 100
    flood(guard, senders=10, letters=5000, ahead_s=1.0)
    assert len(guard) == 100


def test_strangers_of_a_full_table_wait_until_others_are_silent(monkeypatch):
    monkeypatch.setattr(module, "SENDERS_MAX", 5)
    guard = ReplayGuard()
    assert guard.admit(ANNA, b"n" * 8, time=NOW, now=NOW)
    flood(guard, senders=5, letters=50, ahead_s=58.0)
    assert guard.admit(ANNA, b"m" * 8, time=NOW, now=NOW), "a known sender is heard"
    assert not guard.admit(BEN, b"n" * 8, time=NOW, now=NOW)
    later = NOW + 58.0 + WINDOW_S + 1.0
    assert guard.admit(BEN, b"n" * 8, time=later, now=later)
