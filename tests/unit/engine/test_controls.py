"""What clients ask of an engine, before it has joined and after."""

import asyncio
from types import SimpleNamespace

import pytest

from core.api.commands import ModelEvaluation
from core.api.modes import OFF, UseSwitch
from core.api.score import Score
from core.api.settings import PortTest
from core.api.snapshot import Activity, LossView
from core.api.verdict import paused, starting
from core.backbone.revocations import shut_out
from core.base.problems import Problem
from core.base.signing import KeyPair
from core.control.notices import NoticeRing
from core.engine.controls import Controls, Life
from core.engine.installation import EngineOptions, Installation
from core.engine.limits.preferences import Preferences
from core.engine.limits.usage_policy import UsagePolicy
from core.ledger.days import Days
from core.schedule.sensed import Sensed, SensedGpu
from core.storage.paths import Home
from core.storage.settings import Settings, load_settings

NOW = 1_795_000_000.0
PORT = 24_000


class Session:
    """In the place of a volunteer's session: notes what it is told."""

    def __init__(self, port=PORT):
        self.port, self.told, self.use = port, [], self

    def seen(self, at):
        self.told.append("seen")
        return at

    async def heed(self):
        self.told.append("heed")

    def stop(self):
        self.told.append("stop")

    @property
    def clock_watch(self):
        return SimpleNamespace(ask=lambda: self.told.append("ask"))

    async def evaluate(self):
        return ModelEvaluation(epoch=3, score=Score(2.0), meaning=LossView())

    async def test_port(self):
        return PortTest(port=self.port, sentence="Nobody has called.")


class Stage:
    """Controls of an engine that has joined, or not."""

    def __init__(self, folder, session=None, **options):
        clock = SimpleNamespace(now=lambda: NOW, wall=lambda: NOW)
        settings = Settings(port=PORT)
        self.notices, self.announced = NoticeRing(clock.now), 0
        self.preferences = Preferences(folder / "settings.json", settings)
        self.installation = Installation(
            options=EngineOptions(home=Home(folder), **options),
            key=KeyPair(b"k" * 32),
            clock=clock,
            preferences=self.preferences,
            notices=self.notices,
            usage_policy=UsagePolicy(settings, path=folder / "usage.json", now=clock.now, alone=True),
            days=Days(folder, clock.wall),
        )
        self.preferences.follow(self.installation.usage_policy.apply)
        self.session = session
        self.life = Life(installation=self.installation, quit=asyncio.Event(), session=session)
        self.controls = Controls(self.life, announce=self._announce)

    def _announce(self):
        self.announced += 1

    def said(self):
        return [notice.text for notice in self.notices.since(0)]


@pytest.mark.parametrize("session", [None, Session()])
def test_backbone_is_asked_when_a_person_wants_it(tmp_path, session):
    stage = Stage(tmp_path, session)
    stage.controls.try_now()
    assert stage.life.hurry.is_set()
    assert session is None or session.told == ["ask"]


@pytest.mark.parametrize("session", [None, Session()])
def test_refused_engine_begins_anew_when_asked(tmp_path, session):
    stage = Stage(tmp_path, session)
    stage.life.failure = shut_out()
    stage.controls.try_now()
    assert stage.life.again
    assert stage.life.quit.is_set()
    assert session is None or "stop" in session.told


@pytest.mark.parametrize("joined", [False, True])
def test_the_switch_is_kept_and_told_to_the_session(tmp_path, *, joined):
    stage = Stage(tmp_path, Session() if joined else None)
    asyncio.run(stage.controls.turn(on=False))
    assert stage.preferences.settings.computing == OFF
    asyncio.run(stage.controls.turn(on=True))
    assert stage.preferences.settings.computing == UseSwitch()
    assert stage.announced == (4 if joined else 2)
    if joined:
        assert stage.session.told == ["heed", "heed"]


def test_a_switch_outlives_a_client_that_leaves_meanwhile(tmp_path):
    stage = Stage(tmp_path, Session())
    stage.session.heed = lambda: asyncio.sleep(3600)

    async def leave():
        with pytest.raises(TimeoutError):
            async with asyncio.timeout(0.01):
                await stage.controls.turn(on=False)

    asyncio.run(leave())
    assert stage.preferences.settings.computing == OFF
    assert load_settings(tmp_path / "settings.json").settings.computing == OFF
    assert stage.announced == 1


def test_a_switch_that_cannot_be_written_holds_all_the_same(tmp_path, monkeypatch):
    def full():
        raise Problem("The disk is full.")

    stage = Stage(tmp_path)
    monkeypatch.setattr(stage.preferences, "save", full)
    asyncio.run(stage.controls.turn(on=False))
    assert stage.preferences.settings.computing == OFF
    assert "only until the next start" in stage.said()[0]


@pytest.mark.parametrize("session", [None, Session(port=0)])
def test_what_needs_a_collaboration_is_refused_before_there_is_one(tmp_path, session):
    stage = Stage(tmp_path, session)
    for wanted in (stage.controls.evaluate, stage.controls.test_port):
        with pytest.raises(Problem, match="has not joined"):
            asyncio.run(wanted())


def test_the_session_answers_once_it_has_joined(tmp_path):
    stage = Stage(tmp_path, Session())
    assert asyncio.run(stage.controls.evaluate()).epoch == 3
    assert asyncio.run(stage.controls.test_port()).port == PORT


def test_snapshot_tells_of_preparation_until_a_session_tells_more(tmp_path):
    stage = Stage(tmp_path)
    stage.life.stage = starting("preparing", stage="Joining the collaboration.")
    snapshot = stage.controls.snapshot()
    assert (snapshot.activity, snapshot.sentence) == (Activity.STARTING, "Joining the collaboration.")
    assert stage.controls.verdict() == snapshot.verdict
    stage.life.session = Session()
    stage.controls.snapshot()
    assert stage.life.session.told == ["seen"]


@pytest.mark.parametrize(("options", "noted"), [({}, True), ({"port": PORT + 1}, False)])
def test_port_other_than_chosen_is_noted_unless_it_was_named(tmp_path, options, *, noted):
    assert Stage(tmp_path).controls.settings().note == ""
    assert bool(Stage(tmp_path, Session(port=PORT + 1), **options).controls.settings().note) is noted


def test_quitting_ends_the_session_and_the_engine(tmp_path):
    stage = Stage(tmp_path, Session())
    asyncio.run(stage.controls.quit())
    assert stage.session.told == ["stop"]
    assert stage.life.quit.is_set()


def test_only_a_failure_goes_before_a_pause(tmp_path):
    stage = Stage(tmp_path)
    asyncio.run(stage.controls.turn(on=False))
    assert stage.controls.verdict().code == "paused"
    stage.life.failure = Problem("The link is wrong.")
    assert stage.controls.verdict().code == "problem"


def test_a_restart_ends_the_engine_and_asks_for_another(tmp_path):
    stage = Stage(tmp_path, Session())
    asyncio.run(stage.controls.restart())
    assert stage.life.quit.is_set()
    assert stage.life.again
    snapshot = stage.controls.snapshot()
    assert (snapshot.sentence, snapshot.collaboration) == ("Potluck begins anew.", None)
    assert stage.session.told == ["stop"], "what it took part in is told no more: a person may have left it"


def test_snapshot_tells_each_card_by_itself(tmp_path):
    stage = Stage(tmp_path)
    stage.installation.usage_policy.sense(Sensed(gpus=(SensedGpu(name="cuda:0"), SensedGpu(name="cuda:1"))))
    asyncio.run(stage.controls.turn("cuda:1", on=False))
    cards = stage.controls.snapshot().cards
    assert cards == {"cuda:0": None, "cuda:1": paused("gpu")}
    asyncio.run(stage.controls.turn("cuda:1", on=True))
    assert set(stage.controls.snapshot().cards.values()) == {None}
