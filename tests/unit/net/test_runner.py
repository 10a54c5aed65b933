"""Whose doing a failure is, and when it ends the host."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from core.base.ids import Observed, PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace
from core.base.wire import Message, MessageCodec
from core.nat.events import LinkUp, Way
from core.net.clock import Clock
from core.net.failed_peers import FailedPeers
from core.net.runner import Runner

ANNA, BEN = PeerId(b"a" * 32), PeerId(b"b" * 32)
DONE_BY_ANNA = [
    Received(ANNA, Message()),
    Observed(ANNA, "::1", 7),
    LinkUp(ANNA, Way.PUBLIC, None, False),
    Lost(ANNA, "x"),
]


class Say(Message, frozen=True, tag="test.say"):
    text: str


class FakePlanes:
    """Sends nothing, and notes with whom links were ended."""

    def __init__(self) -> None:
        self.codec = MessageCodec([Say])
        self.sent: list[Any] = []
        self.left: list[PeerId] = []

    def send(self, output: Send[Any]) -> None:
        self.sent.append(output)

    def sent_all(self) -> None:
        """There is nothing to forget."""

    def hang_up(self, peer: PeerId, reason: str) -> None:
        del reason
        self.left.append(peer)


class Stage:
    """A runner whose machine reports each event, and what its owner and its host were told."""

    def __init__(self, told: Callable[["Stage", Any], object]) -> None:
        self.planes, self.ended, self.deadline = FakePlanes(), list[Exception](), None
        self.runner = Runner(
            self,
            clock=Clock(),
            planes=self.planes,  # type: ignore[arg-type]
            report=lambda event, _: told(self, event),
            failed=self.ended.append,
            failed_peers=FailedPeers(Trace()),
        )
        self.runner.begin()

    def handle(self, event: Any, now: float) -> Sequence[Any]:
        del now
        return [event]


def staged(told: Callable[[Stage, Any], object], *events: Any) -> Stage:
    """What has become of a runner after these events."""

    async def play() -> Stage:
        stage = Stage(told)
        for event in events:
            stage.runner.handle(event)
        return stage

    return asyncio.run(play())


def _fail(_: Stage, event: Any) -> None:
    raise ValueError(event)


@pytest.mark.parametrize("event", DONE_BY_ANNA)
def test_failure_at_what_a_peer_did_ends_its_links_only(event: Any) -> None:
    stage = staged(_fail, event)
    assert stage.planes.left == [ANNA]
    assert not stage.ended


@pytest.mark.parametrize("event", [Tick(), "an event of our own"])
def test_failure_at_no_peers_doing_ends_the_host(event: Any) -> None:
    stage = staged(_fail, event, event)
    assert len(stage.ended) == 1
    assert not stage.planes.left


def test_message_inside_another_is_held_against_its_own_sender() -> None:
    def relayed(stage: Stage, event: Any) -> None:
        if event.sender == BEN:
            raise ValueError("at what came through the relay")
        stage.runner.handle(Received(BEN, Say("through a relay")))

    stage = staged(relayed, Received(ANNA, Say("a circuit's bytes")))
    assert stage.planes.left == [BEN]
    assert not stage.ended


def test_own_event_inside_a_message_is_part_of_it() -> None:
    def answered(stage: Stage, event: Any) -> None:
        if event == "the owner's answer":
            raise ValueError(event)
        stage.runner.handle("the owner's answer")

    stage = staged(answered, Received(ANNA, Say("x")))
    assert stage.planes.left == [ANNA]
    assert not stage.ended


def test_machine_without_a_deadline_after_a_failure_ends_the_host() -> None:
    class Broken(Stage):
        @property
        def deadline(self) -> float | None:
            raise ValueError("half changed")

        @deadline.setter
        def deadline(self, _: float | None) -> None:
            """There is none to set."""

    async def play() -> Stage:
        stage = Broken(_fail)
        stage.runner.handle(Received(ANNA, Say("x")))
        return stage

    assert len(asyncio.run(play()).ended) == 1


def test_lost_link_of_an_excluded_peer_is_still_told() -> None:
    heard: list[Any] = []

    def told(_: Stage, event: Any) -> None:
        heard.append(event)
        if event == Received(ANNA, Say("fail")):
            raise ValueError("at the message")

    staged(told, Received(ANNA, Say("fail")), Received(ANNA, Say("again")), Lost(ANNA, "x"))
    assert heard == [Received(ANNA, Say("fail")), Lost(ANNA, "x")]


def test_no_timer_rings_for_a_deadline_that_is_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """As at an answer: the moment to ask again is no deadline any longer."""

    async def play() -> None:
        loop, timers = asyncio.get_running_loop(), list[asyncio.TimerHandle]()
        call_at = loop.call_at
        monkeypatch.setattr(loop, "call_at", lambda *what: timers.append(call_at(*what)) or timers[-1])
        stage, now = Stage(lambda *_: None), Clock().now()
        for stage.deadline in (now + 5.0, now + 60.0, now + 60.05):
            stage.runner.arm()
        late = [timer.when() - loop.time() for timer in timers if not timer.cancelled()]
        assert late == pytest.approx([60.0], abs=5.0)
        stage.runner.close()

    asyncio.run(play())
