"""An engine of cardboard, and a home for it."""

from pathlib import Path

import pytest

from core.api.commands import Evaluation
from core.api.snapshot import Activity, Mine, Snapshot
from core.paths import Home


class CardboardEngine:
    """Intents that only remember."""

    def __init__(self) -> None:
        self.contributing = True
        self.epoch = 0
        self.raises: Exception | None = None
        self.asked: list[str] = []
        self.snapshots = 0

    def snapshot(self) -> Snapshot:
        self.snapshots += 1
        return Snapshot(
            version="0.1.0",
            pid=1,
            time=1000.0,
            activity=Activity.TRAINING,
            sentence="Training.",
            contributing=self.contributing,
            me=Mine(peer="abcdefgh", name="me"),
            epoch=self.epoch,
        )

    async def pause(self) -> None:
        self._remember("pause")
        self.contributing = False

    async def resume(self) -> None:
        self._remember("resume")
        self.contributing = True

    async def quit(self) -> None:
        self._remember("quit")

    async def evaluate(self) -> Evaluation:
        self._remember("evaluate")
        return Evaluation(epoch=3, loss=5.0, loss_unigram=6.5)

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
