from hypothesis import given
from hypothesis import strategies as st
from pytest import approx  # noqa: PT013 - one name

from core.dht.clock_skew import PEERS_MAX, ClockSkew
from tests.unit.dht.network import peer_id


def heard(offsets, *, now=1000.0, rtt_s=0.2):
    clock_skew = ClockSkew(warn_s=30, keep_s=100)
    for number, offset in enumerate(offsets):
        clock_skew.heard(peer_id(number), now - rtt_s / 2 + offset, sent=now - rtt_s, now=now)
    return clock_skew


@given(st.lists(st.floats(-1, 1), min_size=5, max_size=30), st.data())
def test_minority_of_liars_does_not_move_the_median(honest, data):
    lies = data.draw(st.lists(st.floats(-1e6, 1e6), max_size=(len(honest) - 1) // 2))
    offset = heard([*honest, *lies]).offset_s(1000.0)
    assert min(honest) - 1e-3 <= offset <= max(honest) + 1e-3


def test_few_opinions_are_none_and_old_ones_do_not_count():
    assert heard([50] * 4).offset_s(1000.0) is None
    assert heard([50] * 5).offset_s(1000.0) == approx(50)
    assert heard([50] * 5).offset_s(1200.0) is None


def test_one_peer_has_one_opinion_and_the_number_is_limited():
    clock_skew = heard([0] * 5)
    for _ in range(50):
        clock_skew.heard(peer_id(0), 5000.0, sent=1000.0, now=1000.0)
    assert abs(clock_skew.offset_s(1000.0)) < 1
    crowd = heard([0] * (3 * PEERS_MAX))
    assert crowd.offset_s(1000.0) == 0


def test_offset_is_told_once_and_when_it_ends():
    clock_skew = heard([45] * 6)
    assert clock_skew.news(1000.0) == approx(45)
    assert clock_skew.news(1000.0) is None
    for number in range(6):
        clock_skew.heard(peer_id(number), 1001.0, sent=1001.0, now=1001.0)
    assert clock_skew.news(1001.0) == 0.0
    assert clock_skew.news(1001.0) is None
    assert heard([20] * 6).news(1000.0) is None
    assert heard([]).news(1000.0) is None
