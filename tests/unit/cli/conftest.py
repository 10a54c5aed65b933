"""A fake engine behind a real control service, in a thread."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path

import msgspec
import psutil
import pytest

from core.api import verdict as verdicts
from core.api.commands import ModelEvaluation
from core.api.score import Score
from core.api.sentence import Sentence
from core.api.settings import PortTest, SettingsView
from core.api.snapshot import (
    Collaboration,
    CurvePoint,
    LeaderboardRow,
    LossView,
    Mine,
    PeerView,
    Snapshot,
)
from core.base.problems import NoSpace, UserProblem
from core.control.engine_file import read_engine_file
from core.control.notices import NoticeRing
from core.control.service import ControlService
from core.engine.limits.preferences import Preferences, view
from core.storage.paths import Home
from core.storage.settings import Settings
from tests.unit.control.moderators import NobodyModerates, OneComputer

TRAINING = verdicts.contributing("training", others=2, samples=400, target=1000, epoch=3)
TRAINING_WORDS = "Training together with 2 others: 400 of 1 000 samples for step 4."
LOSS = LossView("masked-word loss", "nats", baselines={"word frequencies": Score(6.5)})


def a_snapshot(**changes) -> Snapshot:
    fields = {
        "version": "0.1.0",
        "pid": 1,
        "time": 1000.0,
        "verdict": TRAINING,
        "contributing": True,
        "collaboration": Collaboration(
            name="Python's words", id="00", summary="", organiser="you", target_samples=1000, loss=LOSS
        ),
        "me": Mine(peer="abcdefgh", name="laptop", samples=12_345, epochs=2, samples_per_s=12.34),
        "epoch": 3,
        "epoch_samples": 400,
        "samples_per_s": 123.4,
        "peers": [
            PeerView(
                peer="abcdefgh",
                name="laptop",
                is_me=True,
                role="volunteer",
                activity="training",
                epoch=3,
                samples_pending=5,
                samples_per_s=12.34,
            )
        ],
        "leaderboard": [
            LeaderboardRow(
                rank=1, peer="hijklmno", name="evil\x1b[31m\nname", is_me=False, samples=20_000, share=0.6, epochs=3
            ),
            LeaderboardRow(rank=2, peer="abcdefgh", name="laptop", is_me=True, samples=12_345, share=0.4, epochs=2),
        ],
        "curve": [CurvePoint(1, 9.0, 8.0), CurvePoint(2, 8.5)],
    }
    return Snapshot(**{**fields, **changes})


class CardboardEngine:
    def __init__(self, home: Home) -> None:
        self.contributing = True
        self.full = False
        self.asked: list[tuple[str, float | None]] = []
        self.said: verdicts.Verdict | None = None
        self.restarted = False
        self.quits: Callable[[], object] = lambda: None
        self.advice = ""
        self.moderation = NobodyModerates()
        self.account = OneComputer()
        self.preferences = Preferences(home.settings_file, Settings(port=22_222))

    def snapshot(self) -> Snapshot:
        verdict = verdicts.problem("x", "A problem.", "A hint.") if self.full else self.said or TRAINING
        return a_snapshot(contributing=self.contributing, verdict=verdict)

    async def turn(self, what="computing", until=None, *, on) -> None:
        if self.full and not on:
            raise NoSpace("The disk is full.", hint="Free some space.")
        self.contributing = on
        self.asked.append((what, until))

    async def quit(self) -> None:
        self.quits()

    async def restart(self) -> None:
        self.restarted = True

    async def evaluate(self) -> ModelEvaluation:
        return ModelEvaluation(epoch=1, score=Score(1.0), meaning=LOSS)

    def settings(self) -> SettingsView:
        return view(self.preferences.settings, month_used_bytes=1_200_000_000, port_now=22_222)

    def configure(self, wish) -> SettingsView:
        self.preferences.change(wish)
        return self.settings()

    async def test_port(self) -> PortTest:
        if self.full:
            raise UserProblem("Not joined yet.", hint="Wait.")
        return PortTest(port=22_222, sentence="Others called and got through.", advice=self.advice, tcp=True, udp=True)


class RunningEngine:
    """A control service that is open while the test runs."""

    def __init__(self, home: Home) -> None:
        self.home = home
        self.engine = CardboardEngine(home)
        self.loop = asyncio.new_event_loop()
        self.notices = NoticeRing(lambda: 1000.0)
        self.notices.add("info", Sentence("Joined."))
        self.notices.add("warning", Sentence("Slow line."))
        self._opened = threading.Event()
        self._stop = asyncio.Event()
        self.thread = threading.Thread(target=lambda: self.loop.run_until_complete(self._live()))

    def __enter__(self):
        self.thread.start()
        assert self._opened.wait(10)
        return self

    def __exit__(self, *_) -> None:
        self.stop()
        self.thread.join(10)
        self.loop.close()

    def named(self, pid: int) -> None:
        """Have `engine.json` name another process as the engine's."""
        file = read_engine_file(self.home)
        named = msgspec.structs.replace(file, pid=pid, started=psutil.Process(pid).create_time())
        self.home.engine_file.write_bytes(msgspec.json.encode(named))

    def stop(self) -> None:
        self.loop.call_soon_threadsafe(self._stop.set)

    async def _live(self) -> None:
        service = ControlService(home=self.home, intents=self.engine, notices=self.notices)
        await service.open()
        self._opened.set()
        await self._stop.wait()
        await service.close()


@pytest.fixture
def home(tmp_path: Path, monkeypatch) -> Home:
    monkeypatch.setenv("POTLUCK_HOME", str(tmp_path))
    return Home.find()


@pytest.fixture
def running(home):
    with RunningEngine(home) as running:
        yield running
