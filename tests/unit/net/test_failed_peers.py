"""Whose messages are dropped after a failure, and when failures end the host."""

import pytest

from core.base.ids import PeerId, account_of
from core.base.machine import Trace
from core.net import failed_peers
from core.net.failed_peers import EXCLUDED_MAX_S, EXCLUDED_S, PEERS_MIN, WINDOW_S, FailedPeers
from tests.sim.probes import reachable_bytes

NOW = 1000.0


def peer(number: int) -> PeerId:
    return PeerId(number.to_bytes(32, "big"))


def test_peer_is_excluded_for_a_time_that_doubles():
    trace = Trace()
    peers = FailedPeers(trace)
    assert not peers.excludes(peer(1), NOW)
    peers.failed(peer(1), NOW)
    assert peers.excludes(peer(1), NOW + EXCLUDED_S - 1)
    assert not peers.excludes(peer(1), NOW + EXCLUDED_S)
    assert not peers.excludes(peer(2), NOW)
    peers.failed(peer(1), NOW + EXCLUDED_S)
    assert peers.excludes(peer(1), NOW + 3 * EXCLUDED_S - 1)
    assert (trace["net.drop.failed"], trace["net.drop.excluded"]) == (2, 2)


def test_one_peer_ends_no_host_however_often_it_fails():
    peers, now = FailedPeers(Trace()), NOW
    for _ in range(100):
        assert not peers.failed(peer(1), now)
        now += 1.0
    assert peers.excludes(peer(1), now + EXCLUDED_MAX_S - 10)


@pytest.mark.parametrize(("heard", "ends"), [(0, True), (PEERS_MIN - 1, True), (PEERS_MIN, False), (100, False)])
def test_failures_end_a_host_that_hears_fewer_others(heard, ends):
    peers = FailedPeers(Trace())
    for number in range(PEERS_MIN + heard):
        peers.heard(peer(number), NOW)
    verdicts = [peers.failed(peer(number), NOW) for number in range(PEERS_MIN)]
    assert verdicts == [False] * (PEERS_MIN - 1) + [ends]


def test_computers_of_one_person_end_no_host():
    peers = FailedPeers(Trace(), lambda one: account_of(peer(1) if one < peer(10) else one))
    assert not any(peers.failed(peer(number), NOW) for number in range(2 * PEERS_MIN))
    assert [peers.failed(peer(number), NOW) for number in (11, 12)] == [False, True]


def test_failures_far_apart_end_no_host():
    peers = FailedPeers(Trace())
    assert not any(peers.failed(peer(number), NOW + number * WINDOW_S) for number in range(10))


def test_peers_heard_long_ago_save_no_host():
    peers = FailedPeers(Trace())
    for number in range(100):
        peers.heard(peer(number), NOW - WINDOW_S - 1)
    assert [peers.failed(peer(number), NOW) for number in range(PEERS_MIN)][-1]


def test_many_peers_take_bounded_memory(monkeypatch):
    monkeypatch.setattr(failed_peers, "PEERS_MAX", 512)
    peers = FailedPeers(Trace())
    for number in range(3 * 512):
        peers.heard(peer(number), NOW)
        peers.failed(peer(number), NOW + number * WINDOW_S)
    assert reachable_bytes(peers) < 512 * 1024
