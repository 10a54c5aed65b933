from core.dht.backoff import Backoff
from tests.unit.dht.network import peer_id

A, B, C = peer_id(1), peer_id(2), peer_id(3)


def test_rests_double_up_to_the_longest_and_end_with_a_sign_of_life():
    backoff = Backoff(5.0, 12.0)
    rests = []
    now = 0.0
    for _ in range(4):
        backoff.failed(A, now)
        start = now
        while backoff.resting(A, now):
            now += 1.0
        rests.append(now - start)
    assert rests == [5.0, 10.0, 12.0, 12.0]
    backoff.failed(A, now)
    backoff.cleared(A)
    assert not backoff.resting(A, now)
    backoff.failed(A, now)
    assert not backoff.resting(A, now + 5.0)


def test_remembers_a_limited_number():
    backoff = Backoff(5.0, 60.0, limit=2)
    for peer in (A, B, C):
        backoff.failed(peer, 0.0)
    assert [backoff.resting(peer, 1.0) for peer in (A, B, C)] == [False, True, True]
