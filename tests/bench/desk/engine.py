"""An engine of pretence for `tests.bench.desk.desk`: many people, four changes a second, and a real control service.

    python -m tests.bench.desk.engine HOME PEOPLE

It ends when its stdin is closed.
"""

import asyncio
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from core.api.commands import ModelEvaluation
from core.api.reports import ExpertsView, GiftHistory, MachineView, ReceiptList, TeamView, TrustView
from core.api.settings import PortTest, SettingsView
from core.api.snapshot import (
    VOLUNTEER,
    Activity,
    Collaboration,
    CurvePoint,
    LeaderboardRow,
    Mine,
    Notice,
    PeerView,
    Snapshot,
)
from core.api.verdict import contributing
from core.api.version import VERSION
from core.base.problems import Problem
from core.control.notices import NoticeRing
from core.control.service import ControlService
from core.net.clock import Clock
from core.storage.paths import Home
from tests.unit.control.moderators import NobodyModerates, OneComputer

CHANGE_S: Final = 0.25
TARGET: Final = 100_000
CURVE_POINTS: Final = 500


class PretenceReports:
    """Answers of an engine to which nothing was given, and which knows nothing."""

    async def history(self, days: int) -> GiftHistory:
        """Tell of no days, however many were asked for."""
        return GiftHistory(today="2026-01-01", streak=min(days, 0))

    async def receipts(self, since: int) -> ReceiptList:
        """Tell of no rounds, since any moment."""
        return ReceiptList(kept=min(since, 0))

    async def machine(self) -> MachineView:
        """Refuse: no computer can be told.

        Raises:
            Problem: always.
        """
        raise Problem("This engine is not a real one.")

    def trust(self) -> TrustView:
        """Tell an empty fingerprint: this engine has no key."""
        return TrustView(mine="")

    async def team(self) -> TeamView:
        """Tell of no team: there is no page."""
        return TeamView()

    async def experts(self, gather_s: float) -> ExpertsView:
        """The model has none."""
        del gather_s
        return ExpertsView()

    async def activity(self) -> list[Notice]:
        """Tell nothing: no notices were kept before."""
        return []


class PretenceEngine:
    """Answers with snapshots in which something is always new.

    Args:
        people: How many are here.
        clock: For the snapshots' time.
    """

    def __init__(self, people: int, clock: Clock) -> None:
        self._people = people
        self._clock = clock
        self._step = 0
        self.reports = PretenceReports()
        self.moderation = NobodyModerates()
        self.account = OneComputer()
        self.updating = self

    def switch(self) -> None:
        """There is no newer version."""

    def change(self) -> None:
        """Go on by one step: each peer's speed and samples are others."""
        self._step += 1

    def snapshot(self) -> Snapshot:
        """The state of a large collaboration at this step."""
        step = self._step
        names = [f"Volunteer {number}" for number in range(self._people)]
        return Snapshot(
            version=VERSION,
            pid=os.getpid(),
            time=self._clock.now(),
            verdict=contributing("training", others=self._people - 1, samples=step % TARGET, target=TARGET, epoch=500),
            contributing=True,
            collaboration=Collaboration(
                name="A pretence", id="0" * 64, summary="", organiser="this computer", target_samples=TARGET
            ),
            me=Mine(peer="p0", name=names[0], samples=1000, samples_pending=step, samples_per_s=50.0),
            epoch=500,
            epoch_samples=(step * 50) % TARGET,
            samples_per_s=50.0 * self._people + step % 7,
            peers=[
                PeerView(
                    peer=f"p{number}",
                    name=name,
                    is_me=number == 0,
                    role=VOLUNTEER,
                    activity=Activity.TRAINING.value,
                    epoch=500,
                    samples_pending=step + number,
                    samples_per_s=50.0 + (step + number) % 9,
                )
                for number, name in enumerate(names)
            ],
            leaderboard=[
                LeaderboardRow(
                    rank=number + 1,
                    peer=f"p{number}",
                    name=name,
                    is_me=number == 0,
                    samples=10_000 - number + step,
                    share=1 / self._people,
                    epochs=500,
                )
                for number, name in enumerate(names)
            ],
            curve=[CurvePoint(epoch, 8.0 - epoch / 100, 7.5 - epoch / 100) for epoch in range(CURVE_POINTS)],
        )

    async def turn(self, what: str = "computing", until: float | None = None, *, on: bool) -> None:
        """Do nothing: the pretence cannot be paused."""

    async def quit(self) -> None:
        """Do nothing: the end of stdin is the end of this engine."""

    def try_now(self) -> None:
        """Do nothing: there is no backbone."""

    async def restart(self) -> None:
        """Do nothing: there is nothing to begin anew."""

    async def evaluate(self) -> ModelEvaluation:
        """Refuse: there is no model to look at.

        Raises:
            Problem: always.
        """
        raise Problem("This engine is not a real one.")

    def settings(self) -> SettingsView:
        """Refuse: there are no settings to tell.

        Raises:
            Problem: always.
        """
        raise Problem("This engine is not a real one.")

    def configure(self, wish: Mapping[str, object]) -> SettingsView:
        """Refuse: no wish can be granted here.

        Raises:
            Problem: always.
        """
        raise Problem(f"This engine is not a real one: {len(wish)} wishes are lost.")

    async def test_port(self) -> PortTest:
        """Refuse: nobody can call this engine.

        Raises:
            Problem: always.
        """
        raise Problem("This engine is not a real one.")


async def serve(home: Home, people: int) -> None:
    """Be the engine of a home until stdin is closed."""
    clock = Clock()
    engine = PretenceEngine(people, clock)
    service = ControlService(home=home, intents=engine, notices=NoticeRing(clock.now))
    home.create()
    await service.open()
    ended = asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    try:
        while not ended.done():
            engine.change()
            service.announce()
            await asyncio.wait([ended], timeout=CHANGE_S)
    finally:
        await service.close()


if __name__ == "__main__":
    asyncio.run(serve(Home(Path(sys.argv[1])), int(sys.argv[2])))
