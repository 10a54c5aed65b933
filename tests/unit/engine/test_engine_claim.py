"""An engine's claim of its home, and the settings that hold from then on."""

import asyncio

import pytest

from core.__main__ import main
from core.api.modes import OFF
from core.api.verdict import VerdictCode
from core.base.problems import UserProblem
from core.engine.engine import Engine
from core.engine.installation import EngineOptions
from core.net.clock import Clock
from core.schedule.sense_source import NoSenses
from core.storage.paths import Home
from core.storage.settings import PORT_FIRST, PORT_LAST, Settings, load_settings, save_settings


@pytest.fixture
def engine(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.null.Keyring")
    return Engine(EngineOptions(home=Home(tmp_path), bind="127.0.0.1"), Clock(), NoSenses())


async def opened(engine):
    await engine.open()
    try:
        return engine.controls.settings(), engine.controls.verdict()
    finally:
        await engine.close()


def test_a_pause_before_the_claim_holds(engine, tmp_path):
    assert main(["pause", "--home", str(tmp_path)]) == 0
    shown, verdict = asyncio.run(opened(engine))
    assert (shown.computing, verdict.code) == (OFF, VerdictCode.PAUSED)
    assert engine.usage_policy.decision.rest.code == "paused"
    assert load_settings(tmp_path / "settings.json").settings.computing == OFF


def test_the_first_start_draws_a_port_and_keeps_it(engine, tmp_path):
    shown, _ = asyncio.run(opened(engine))
    assert PORT_FIRST <= shown.port <= PORT_LAST
    assert load_settings(tmp_path / "settings.json").settings.port == shown.port


def test_settings_with_a_port_are_not_written(engine, tmp_path):
    path = tmp_path / "settings.json"
    save_settings(path, Settings(port=24_000))
    written = path.stat().st_mtime_ns
    asyncio.run(opened(engine))
    assert path.stat().st_mtime_ns == written


def test_a_home_is_given_back_when_settings_cannot_be_read(engine, tmp_path):
    (tmp_path / "settings.json").mkdir()
    with pytest.raises(UserProblem):
        asyncio.run(opened(engine))
    assert not engine.life.installation.options.home.engine_file.exists()
