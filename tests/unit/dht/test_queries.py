from random import Random

import pytest

from core.base.machine import Trace
from core.dht.messages import Nodes, Ping, Pong
from core.dht.queries import Queries
from core.dht.settings import ClientMode
from tests.unit.dht.network import contact, peer_id


def make():
    return Queries(Random(1), client_mode=ClientMode(False), timeout_s=1.0, trace=Trace())


def ping(queries, number, now):
    return queries.open(contact(number), Ping(0, False), None, now)


def test_answer_counts_once_and_only_from_the_asked_peer():
    queries = make()
    request = ping(queries, 1, now=0.0)
    good = Pong(request.query)
    assert queries.close(peer_id(2), good, now=0.1) is None
    assert queries.close(peer_id(1), Pong(request.query ^ 1), now=0.1) is None
    assert queries.close(peer_id(1), Nodes(request.query, ()), now=0.1) is None
    assert queries.close(peer_id(1), good, now=0.1).contact == contact(1)
    assert queries.close(peer_id(1), good, now=0.1) is None
    assert queries.deadline is None
    assert len(queries) == 0


def test_each_is_repeated_once_and_then_given_up():
    queries = make()
    request = ping(queries, 1, now=0.0)
    assert queries.deadline == 1.0
    assert queries.overdue(now=0.9) == ([], [])
    again, over = queries.overdue(now=1.0)
    assert [query.request for query in again] == [request]
    assert over == []
    assert queries.deadline == 2.0
    again, over = queries.overdue(now=2.5)
    assert again == []
    assert [query.request for query in over] == [request]
    assert queries.deadline is None


def test_patience_follows_the_measured_round_trips_within_limits():
    queries = make()
    for now in range(60):
        request = ping(queries, 1, now=float(now))
        queries.close(peer_id(1), Pong(request.query), now=now + 0.2)
    ping(queries, 1, now=100.0)
    assert queries.deadline == pytest.approx(100.2, abs=0.01)
    queries.overdue(now=101.0)
    assert queries.deadline == 102.0  # the second sending has the longest patience
    for now in range(200, 260):
        request = ping(queries, 1, now=float(now))
        queries.close(peer_id(1), Pong(request.query), now=now + 0.001)
    ping(queries, 2, now=300.0)
    assert [query.contact for query in queries.overdue(now=102.0)[1]] == [contact(1)]
    assert queries.deadline == pytest.approx(300.2)


def test_late_answer_proves_life_once_without_its_operation():
    queries = make()
    request = ping(queries, 1, now=0.0)
    queries.overdue(now=1.0)
    queries.overdue(now=2.0)
    late = queries.close(peer_id(1), Pong(request.query), now=5.0)
    assert late.contact == contact(1)
    assert late.operation is None
    assert queries.close(peer_id(1), Pong(request.query), now=5.0) is None


def patience_after(trips):
    """Patience in seconds with the next query, after these round trips."""
    queries, now = make(), 0.0
    for rtt_s in trips:
        request = ping(queries, 1, now=now)
        while queries.deadline is not None and queries.deadline <= now + rtt_s:
            queries.overdue(now=queries.deadline)
        now += rtt_s
        queries.close(peer_id(1), Pong(request.query), now=now)
    ping(queries, 1, now=now)
    return queries.deadline - now


def test_timeout_grows_when_all_answers_are_late():
    assert patience_after([4.0] * 40) == pytest.approx(4.0, abs=0.1)
    assert patience_after([100.0] * 80) == pytest.approx(Queries.LAG_MAX_S, abs=0.1)


def test_a_fifth_of_late_answerers_makes_nobody_patient():
    assert patience_after(([0.05] * 4 + [60.0]) * 40) <= 1.2
