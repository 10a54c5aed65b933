from hypothesis import given
from hypothesis import strategies as st

from core.base.rate_limit import RateLimit, household
from tests.unit.dht.network import peer_id


@given(st.lists(st.tuples(st.floats(0, 3), st.integers(1, 5)), max_size=80))
def test_nobody_is_admitted_more_than_burst_and_rate_allow(asks):
    """Reference: in any span of time at most burst + rate x span is admitted."""
    rate_limit, now, admitted = RateLimit(rate_per_s=2, burst=10), 1000.0, []
    for passed, cost in asks:
        now += passed
        if rate_limit.admits(peer_id(1), now, cost):
            admitted.append((now, cost))
    for index, (begin, _) in enumerate(admitted):
        total = 0
        for at, cost in admitted[index:]:
            total += cost
            assert total <= 10 + 2 * (at - begin) + 1e-6


def test_one_flood_does_not_hurt_the_others():
    rate_limit = RateLimit(rate_per_s=10, burst=20)
    assert sum(rate_limit.admits(peer_id(1), 0.0) for _ in range(1000)) == 20
    assert rate_limit.admits(peer_id(2), 0.0)
    assert sum(rate_limit.admits(peer_id(1), 1.0) for _ in range(1000)) == 10
    assert all(RateLimit(rate_per_s=0, burst=1).admits(peer_id(1), 0.0) for _ in range(99))


def test_many_ids_do_not_make_it_grow():
    rate_limit = RateLimit(rate_per_s=1, burst=10, limit=50)
    admitted = sum(rate_limit.admits(peer_id(n), 0.0) for n in range(1000))
    assert len(rate_limit) <= 51
    assert admitted <= 50 + 10
    for second in range(100):
        rate_limit.admits(peer_id(5000 + second), 20.0 + 20 * second)
    assert len(rate_limit) < 40


def test_one_household_is_one_requester():
    assert household("192.0.2.1") == household("::ffff:192.0.2.1") == "192.0.2.1"
    assert household("192.0.2.1") != household("192.0.2.2")
    assert household("2001:db8:1:2:3:4:5:6") == household("2001:db8:1:2::1")
    assert household("2001:db8:1:2::1") != household("2001:db8:1:3::1")
    assert household("2001:db8:1:2::1", bits=48) == household("2001:db8:1:3::1", bits=48)
    assert household("2001:db8:1::1", bits=48) != household("2001:db8:2::1", bits=48)
    assert household("fe80::1%eth0") == household("fe80::2")
