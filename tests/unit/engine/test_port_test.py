"""The port test's words, and its patience."""

import asyncio
from dataclasses import replace
from types import SimpleNamespace

import pytest

from core.engine.network import own_port
from core.engine.network.own_port import Tried, try_port, words
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
        ({"forwarded": True}, "nobody got through", "another router before it"),
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


def nobody_asked() -> None:
    raise AssertionError("nobody is there to be asked")


def test_port_is_not_tested_when_all_peers_share_one_computer():
    told = try_port(None, examine=nobody_asked, port=0, forwarded=False, now=lambda: 0.0, heard=lambda: False)
    assert asyncio.run(told).port == 0


class Calls(SimpleNamespace):
    """What others found; the first so many looks see that they are still asking."""

    looks = 0

    @property
    def asking(self) -> bool:
        self.looks += 1
        if self.looks == self.answers:
            self.tcp = self.udp = True
            self.concluded_at = 1e9
        return self.looks < self.answers


def traversal(calls):
    return SimpleNamespace(probes=SimpleNamespace(primary=calls), reach=OwnReach(Reachability.REACHABLE))


@pytest.mark.parametrize(("answers", "tcp"), [(3, True), (10**9, None)])
def test_it_waits_for_answers_but_not_for_ever(monkeypatch, answers, tcp):
    monkeypatch.setattr(own_port, "LOOK_S", 0.0)
    time, asked = iter(range(10**6)), []
    calls = Calls(
        tcp=None, udp=None, single_verdict=None, single_verdict_udp=None, concluded_at=float("-inf"), answers=answers
    )
    told = try_port(
        traversal(calls), examine=lambda: asked.append(1), port=24_000, forwarded=False,
        now=lambda: float(next(time)), heard=lambda: True,
    )  # fmt: skip
    assert asyncio.run(told).tcp is tcp
    assert asked == [1]


def test_verdict_of_the_only_other_peer_counts():
    calls = SimpleNamespace(
        tcp=None, udp=None, single_verdict=True, single_verdict_udp=False, concluded_at=9.0, asking=False
    )
    told = try_port(
        traversal(calls), examine=lambda: None, port=24_000, forwarded=False, now=lambda: 10.0, heard=lambda: True
    )
    seen = asyncio.run(told)
    assert (seen.tcp, seen.udp) == (True, False)
