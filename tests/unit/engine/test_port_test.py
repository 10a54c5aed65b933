"""The port test's words, and its patience."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest

from core.engine import port_test
from core.engine.port_test import Tried, try_port, words
from core.nat.reachability import OwnReach, Reachability

BEHIND = Tried(
    port=24_000, tcp=False, udp=False, fresh=True, forwarded=False, reach=OwnReach(Reachability.PUNCHABLE, udp="kept")
)


@pytest.mark.parametrize(
    ("changes", "sentence", "advice"),
    [
        ({"tcp": True, "udp": True, "reach": OwnReach(Reachability.REACHABLE)}, "got through, over TCP and UDP", ""),
        ({"tcp": True}, "over TCP, but not over UDP", "Let UDP through"),
        ({"udp": True}, "over UDP, but not over TCP", "Let TCP through"),
        ({}, "nobody got through. This computer is behind a router", "It works well as it is."),
        (
            {"reach": OwnReach(Reachability.RELAYED)},
            "nobody got through. The router lets nobody in",
            "port 24000 forwarded",
        ),
        ({"forwarded": True}, "nobody got through", "another one stands before it"),
        ({"reach": OwnReach(Reachability.PUNCHABLE, udp="none")}, "nobody got through", "firewall"),
        ({"tcp": None}, "Nobody has called port 24000 yet", "Try again"),
        (
            {"tcp": None, "reach": OwnReach(Reachability.OFFLINE)},
            "There is no connection to other volunteers",
            "Try again",
        ),
        ({"tcp": None, "reach": OwnReach(Reachability.OFFLINE).hearing(others=True)}, "is not known yet", "Try again"),
        ({"fresh": False}, "some time ago", "UPnP"),
    ],
)
def test_what_came_of_it_and_what_would_help(changes, sentence, advice):
    told = words(replace(BEHIND, **changes))
    assert sentence in told.sentence
    assert advice in told.advice
    assert bool(told.advice) is bool(advice)


def test_where_all_are_on_one_computer_there_is_nothing_to_test():
    assert asyncio.run(try_port(None, port=0, now=lambda: 0.0, heard=lambda _: False)).port == 0


@pytest.mark.parametrize(("answers", "tcp"), [(3, True), (10**9, None)])
def test_it_waits_for_answers_but_not_for_ever(monkeypatch, answers, tcp):
    monkeypatch.setattr(port_test, "LOOK_S", 0.0)
    time = iter(range(10**6))
    calls = SimpleNamespace(
        tcp=None, udp=None, single_verdict=None, single_verdict_udp=None, concluded_at=float("-inf"), looks=0
    )

    class Outward:
        forwarded = False
        traversal = SimpleNamespace(probes=SimpleNamespace(primary=calls), reach=OwnReach(Reachability.REACHABLE))

        def examine(self):
            type(calls).asking = property(self._asking)

        @staticmethod
        def _asking(calls):
            calls.looks += 1
            if calls.looks == answers:
                calls.tcp = calls.udp = True
                calls.concluded_at = 1e9
            return calls.looks < answers

    class Calls(SimpleNamespace):
        pass

    calls = Calls(**vars(calls))
    Outward.traversal.probes.primary = calls
    told = asyncio.run(try_port(Outward(), port=24_000, now=lambda: float(next(time)), heard=lambda _: True))
    assert told.tcp is tcp


def test_the_word_of_the_only_other_one_counts_where_there_is_nobody_else():
    calls = SimpleNamespace(
        tcp=None, udp=None, single_verdict=True, single_verdict_udp=False, concluded_at=9.0, asking=False
    )
    traversal = SimpleNamespace(probes=SimpleNamespace(primary=calls), reach=OwnReach(Reachability.REACHABLE))
    outward = SimpleNamespace(forwarded=False, traversal=traversal, examine=lambda: None)
    told = asyncio.run(try_port(outward, port=24_000, now=lambda: 10.0, heard=lambda _: True))
    assert (told.tcp, told.udp) == (True, False)
