import asyncio
from types import SimpleNamespace
from typing import Any

import pytest

from core.base.problems import NotTrusted
from core.control.notices import NoticeRing
from core.engine.network.clock_watch import ClockWatch
from core.joining.introduction import Impostor
from core.net.clock import Clock


class Engine:
    """A session of which nothing is real but its clock."""

    def __init__(self, *, peers: int, ahead_s: float) -> None:
        self.wall = self.steady = 1000.0
        self.clock = Clock(wall=lambda: self.wall, steady=lambda: self.steady)
        self.notices = NoticeRing(self.clock.wall)
        self.peers, self.met, self.asked = peers, [], 0
        self.refusal: NotTrusted | None = None
        grant = SimpleNamespace(certificate=b"a pass", contacts=[])
        self.joined = SimpleNamespace(clock_ahead_s=ahead_s, records=b"", grant=grant)
        installation: Any = SimpleNamespace(clock=self.clock, notices=self.notices, name="ada")
        session: Any = SimpleNamespace(
            peer=SimpleNamespace(view=lambda _: SimpleNamespace(peers=range(self.peers))),
            learn_records=lambda _: None,
            meet=self.met.append,
            renew_soon=self.ask,
        )
        self.ended: list[NotTrusted | None] = []
        self.watch = ClockWatch(installation, self, session, end=self.ended.append)  # type: ignore[arg-type]

    async def join(self, **_: object) -> Any:
        if self.refusal is not None:
            raise self.refusal
        return self.joined

    def ask(self) -> None:
        self.asked += 1

    def renewed(self) -> bytes | None:
        return asyncio.run(self.watch.renewed())

    def texts(self) -> list[str]:
        return [notice.text for notice in self.notices.since(0)]


def test_an_engine_alone_follows_the_backbone_forward():
    engine = Engine(peers=0, ahead_s=600.0)
    assert engine.renewed() == b"a pass"
    assert engine.clock.now() == 1600.0
    assert len(engine.met) == 1


def test_an_engine_alone_begins_again_to_go_back():
    engine = Engine(peers=0, ahead_s=-600.0)
    engine.renewed()
    assert (engine.clock.now(), engine.ended) == (1000.0, [None])


@pytest.mark.parametrize(("ahead_s", "way"), [(600.0, "ahead of"), (-600.0, "behind")])
def test_among_peers_a_wrong_backbone_is_not_followed(ahead_s, way):
    engine = Engine(peers=2, ahead_s=ahead_s)
    assert engine.renewed() is None
    assert (engine.clock.now(), engine.ended) == (1000.0, [])
    assert f"10 minutes {way}" in engine.texts()[0]


def test_among_peers_a_right_backbone_renews_the_pass():
    engine = Engine(peers=2, ahead_s=3.0)
    assert engine.renewed() == b"a pass"
    assert (engine.clock.now(), engine.texts()) == (1000.0, [])


def test_the_backbone_is_asked_at_once_then_less_often():
    engine = Engine(peers=1, ahead_s=0.0)
    engine.watch.look(0.0)
    engine.peers = 0
    asked = []
    for second in range(2, 200, 2):
        engine.watch.look(float(second))
        asked.append(engine.asked)
    assert asked[0] == 1
    assert 3 <= asked[-1] <= 5


def test_a_wrong_wall_clock_is_told_once():
    engine = Engine(peers=1, ahead_s=0.0)
    for wall in (1020.0, 1600.0, 1605.0, 1001.0):
        engine.wall = wall
        engine.watch.look(0.0)
    wrong, right = engine.texts()
    assert "10 minutes ahead of" in wrong
    assert "agrees" in right


@pytest.mark.parametrize("peers", [0, 2])
def test_refusal_counts_only_while_nobody_is_heard(peers):
    engine = Engine(peers=peers, ahead_s=0.0)
    engine.refusal = NotTrusted("The organiser has shut this computer out.")
    assert engine.renewed() is None
    assert (engine.ended, len(engine.texts())) == (([], 1) if peers else ([engine.refusal], 0))


def test_who_has_got_the_backbones_address_ends_no_session():
    engine = Engine(peers=0, ahead_s=0.0)
    engine.refusal = Impostor("The backbone offers another collaboration than the link names.")
    assert engine.renewed() is None
    assert (engine.ended, len(engine.texts())) == ([], 1)
