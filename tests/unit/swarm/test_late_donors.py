"""Donors that offer, and then owe what they were asked for."""

from random import Random

from core.base.content import CHUNK_BYTES
from core.base.machine import Tick
from core.swarm.catching_up.fetch import ANSWER_TIMEOUT_S, DONORS_MAX, Why
from tests.unit.swarm.test_fetch import MemoryFile, asked_of, give, offered, peer


def test_late_donor_makes_way_for_another_and_counts_as_silent() -> None:
    file = MemoryFile(Random(6).randbytes(9 * CHUNK_BYTES))
    fetch, asked = offered(file, DONORS_MAX)
    others = [peer(number) for number in range(20, 30)]
    assert not fetch.ask_also(others, 0.0)
    quick = asked.pop()
    more = asked_of(give(fetch, file, quick, 1.0))
    more += asked_of(fetch.handle(Tick(), ANSWER_TIMEOUT_S))
    assert [send.to for send in fetch.ask_also(others, 13.0)] == others[: DONORS_MAX - 1]
    assert not fetch.ask_also(others, 13.0)
    assert fetch.gone == {}
    while more:
        more += asked_of(give(fetch, file, more.pop(0), 13.0))
    assert fetch.deadline is None
    assert fetch.gone == {donor: Why.SILENT for donor, _ in asked}
