"""An engine of cardboard, and a home for it."""

from collections.abc import Mapping
from pathlib import Path

import pytest

from core.api.commands import ModelEvaluation
from core.api.reports import ExpertsView, GiftHistory, MachineView, ReceiptList, TeamView, TrustView
from core.api.score import Score
from core.api.settings import PortTest, SettingsView
from core.api.snapshot import LossView, Mine, Notice, Snapshot
from core.api.verdict import contributing
from core.engine.limits.preferences import view
from core.storage.paths import Home
from core.storage.settings import Settings
from tests.unit.control.moderators import NobodyModerates, OneComputer


class CardboardReports:
    """Reports that say what was asked."""

    async def history(self, days):
        return GiftHistory(today="2026-11-24", streak=days)

    async def receipts(self, since):
        return ReceiptList(kept=since)

    async def machine(self):
        return MachineView(
            name="me",
            system="Linux",
            processor="abacus",
            threads=4,
            threads_used=3,
            memory_bytes=8,
            memory_free_bytes=4,
            memory_used_bytes=2,
            disk_free_bytes=9,
            disk_used_bytes=1,
            home="/home",
            device="",
        )

    def trust(self):
        return TrustView(mine="0123 4567")

    async def team(self):
        return TeamView(name="Readers", rank=1, teams=1)

    async def experts(self, gather_s):
        return ExpertsView(layers=2, places=4, time=gather_s)

    async def activity(self):
        return [Notice(1, 0.0, "info", "Potluck starts.", "engine.starts")]


class CardboardEngine:
    """Intents that only remember."""

    def __init__(self) -> None:
        self.contributing = True
        self.epoch = 0
        self.raises: Exception | None = None
        self.asked: list[str] = []
        self.chosen: dict[str, object] = {}
        self.snapshots = 0
        self.reports = CardboardReports()
        self.moderation = NobodyModerates()
        self.account = OneComputer()
        self.updating = self

    def snapshot(self) -> Snapshot:
        self.snapshots += 1
        return Snapshot(
            version="0.1.0",
            pid=1,
            time=1000.0,
            verdict=contributing("training"),
            contributing=self.contributing,
            me=Mine(peer="abcdefgh", name="me"),
            epoch=self.epoch,
        )

    async def turn(self, what="computing", until=None, *, on) -> None:
        self._remember("resume" if on else "pause")
        self.contributing = on

    def switch(self) -> None:
        self._remember("update")

    async def quit(self) -> None:
        self._remember("quit")

    def try_now(self) -> None:
        self.asked.append("try_now")

    async def restart(self) -> None:
        self._remember("restart")

    async def evaluate(self) -> ModelEvaluation:
        self._remember("evaluate")
        return ModelEvaluation(
            epoch=3, score=Score(5.0), meaning=LossView("loss", "nats", baselines={"word frequencies": Score(6.5)})
        )

    def settings(self) -> SettingsView:
        self._remember("settings")
        return view(Settings(**self.chosen))

    def configure(self, wish: Mapping[str, object]) -> SettingsView:
        self._remember("configure")
        self.chosen |= wish
        return view(Settings())

    async def test_port(self) -> PortTest:
        self._remember("test_port")
        return PortTest(port=22_222, sentence="Others got through.")

    def _remember(self, what: str) -> None:
        self.asked.append(what)
        if self.raises is not None:
            raise self.raises


@pytest.fixture
def engine() -> CardboardEngine:
    return CardboardEngine()


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.find(tmp_path / "home")
