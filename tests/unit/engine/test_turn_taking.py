"""Which collaboration is given up when the served one refuses."""

import asyncio
from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from core.api.turns import WhyNot
from core.backbone.introduction import Impostor
from core.base.problems import NotTrusted, ShutOut
from core.engine.turn_taking import TurnTaking


def kept(name: str) -> Any:
    return SimpleNamespace(id=name, name=name, link=name)


class Served:
    """An engine whose second collaboration turns it away, at the moment in which the first answers."""

    def __init__(self, problem: NotTrusted) -> None:
        self._problem = problem
        self.served: list[str] = []
        self.noted: list[str] = []
        self.told: list[str] = []
        self.serving = True
        self.collaborations = SimpleNamespace(note=lambda link, _: self.noted.append(link))
        notices = SimpleNamespace(tell=lambda _level, code, **_: self.told.append(code))
        self.life = SimpleNamespace(
            quit=asyncio.Event(), passed_over=(), installation=SimpleNamespace(notices=notices), session=None
        )

    async def serve(self, link: str) -> None:
        self.served.append(link)
        if link == "second":
            self.taking._turns.answers("first")  # the watch has looked at it
            raise self._problem
        if len(self.served) > 1:
            self.life.quit.set()
            return
        raise NotTrusted("The invitation is not valid.")


@pytest.mark.parametrize(
    ("problem", "why", "noted"),
    [
        (ShutOut("The organiser has shut this computer out."), WhyNot.REFUSED, ["first", "second"]),
        (Impostor("The backbone offers another collaboration."), WhyNot.UNREACHABLE, ["first"]),
    ],
)
def test_who_refuses_is_given_up_and_no_other(problem: NotTrusted, why: WhyNot, noted: list[str]) -> None:
    async def run() -> None:
        engine: Any = Served(problem)
        engine.taking = taking = TurnTaking(engine, [kept("first"), kept("second")], patience_s=60.0, random=Random(1))
        async with asyncio.timeout(5):
            await taking.serve()
        assert engine.served == ["first", "second", "first"]
        assert engine.noted == noted
        assert engine.told == ["turns.refused", f"turns.{why}"]
        assert taking._turns._why["second"] is why

    asyncio.run(run())
