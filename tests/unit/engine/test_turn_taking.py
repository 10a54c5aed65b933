"""Which collaboration is given up when the served one refuses."""

import asyncio
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from core.api import verdict as verdicts
from core.api.turns import WhyNot
from core.base.problems import NotTrusted, ShutOut
from core.engine.turn_taking import TurnTaking
from core.joining.introduction import Impostor


def kept(name: str) -> Any:
    return SimpleNamespace(id=name, name=name, link=name)


class Served:
    """An engine whose second collaboration turns it away, at the moment in which the first answers again."""

    def __init__(self, problem: NotTrusted) -> None:
        self._problem = problem
        self.first_answers = asyncio.Event()
        self.served: list[str] = []
        self.noted: list[str] = []
        self.told: list[str] = []
        self.collaborations = SimpleNamespace(note=lambda link, _: self.noted.append(link))
        self.usage_policy = SimpleNamespace(decision=SimpleNamespace(network=None))
        contributing = verdicts.contributing("training", others=1, samples=1, target=2, epoch=1)
        shown = SimpleNamespace(verdict=contributing, epoch=1)
        self.controls = SimpleNamespace(verdict=lambda: contributing, snapshot=lambda: shown)
        notices = SimpleNamespace(tell=lambda _level, code, **_: self.told.append(code))
        clock = SimpleNamespace(now=lambda: 0.0)
        self.life = SimpleNamespace(
            quit=asyncio.Event(),
            passed_over=(),
            installation=SimpleNamespace(notices=notices, clock=clock),
            session=SimpleNamespace(stop=lambda: None),
        )

    async def look(self, *_: object, **__: object) -> None:
        self.first_answers.set()

    async def serve(self, link: str) -> None:
        self.served.append(link)
        if link == "second":
            await self.first_answers.wait()
            raise self._problem
        if len(self.served) == 1:
            raise Impostor("The backbone offers another collaboration.")
        self.life.quit.set()


@pytest.mark.parametrize(
    ("problem", "why", "noted"),
    [
        (ShutOut("The organiser has shut this computer out."), WhyNot.REFUSED, ["second"]),
        (Impostor("The backbone offers another collaboration."), WhyNot.UNREACHABLE, []),
    ],
)
def test_who_refuses_is_given_up_and_no_other(
    monkeypatch: pytest.MonkeyPatch, problem: NotTrusted, why: WhyNot, noted: list[str]
) -> None:
    async def run() -> None:
        engine: Any = Served(problem)
        monkeypatch.setattr("core.engine.turn_taking.look", engine.look)
        taking = TurnTaking(engine, [kept("first"), kept("second")], patience_s=0.2, random=Random(1))
        async with asyncio.timeout(60):
            await taking.serve()
        assert engine.served == ["first", "second", "first"]
        assert engine.noted == noted
        assert engine.told == ["turns.unreachable", f"turns.{why}"]
        assert [(each.name, each.why) for each in engine.life.passed_over] == [("second", why)]

    asyncio.run(run())
