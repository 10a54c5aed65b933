"""One verdict: window, tray, `potluck status --json` and `potluck status` say the same in every situation.

With POTLUCK_PICTURES=DIR each situation is photographed too.
"""

import contextlib
import json
import os
import random

import msgspec
import pytest
from PySide6.QtWidgets import QApplication

from app.shell.application import Application
from app.words import page_text, text
from core.api import verdict as verdicts
from core.api.commands import EngineFile
from core.api.modes import OFF, UseMode, UseSwitch
from core.api.places import engine_file
from core.api.snapshot import PROTOCOL_VERSION
from core.base.problems import Damaged, NoSpace, NotTrusted, WorkerProblem
from core.cli.program import run
from core.engine.limits.usage_policy import UsagePolicy
from core.engine.shown.snapshots import take_snapshot
from core.nat.reachability import OwnReach, Reachability
from core.schedule.sensed import Sensed, SensedGpu
from core.storage.settings import Settings, load_settings
from core.swarm.words.epoch import Phase
from core.swarm.words.outputs import Fetching
from tests.unit.engine.test_snapshots import BEA, MANIFEST, at, report, seen

NOON = 1_795_000_000.0
NIGHTS = Settings(hours="mon-fri 20:00-07:00", month_bytes=1000)
NOWHERE = "Waiting for the backbone at 127.0.0.1:1, which does not answer yet."
FROZEN = WorkerProblem("The training process did not answer any more.", hint="It is started again.")


def joined(**changes):
    """An engine that takes part; it trains with another peer unless `changes` say otherwise."""
    view = {"peers": {BEA: report()}, "audible": True}
    outer = {name: changes.pop(name) for name in ("rest", "trouble", "reach", "contributing") if name in changes}
    return {"participant": seen(**(view | changes)), "manifest": MANIFEST, **outer}


def rests(folder, settings=NIGHTS, *, metered=False, used=0, sensed=None):
    policy = UsagePolicy(settings, path=folder / "usage.json", now=lambda: NOON, offset_s=lambda _: 3600.0)
    policy.pace.upload.spent(used, 0.0)
    policy.metered(metered)
    if sensed is not None:
        policy.sense(sensed)
    return {**joined(rest=policy.decision.rest), "contributing": settings.computing.at(NOON) is not UseMode.NEVER}


def damaged_settings(folder):
    path = folder / "settings.json"
    path.write_bytes(b"\0" * 20)
    return rests(folder, load_settings(path).settings)


ALWAYS = Settings(month_bytes=1000)
SITUATIONS = {
    "the text is being read": (("starting", "preparing"), lambda _: {}),
    "the backbone is dead": (
        ("not_connected", "backbone"),
        lambda _: {"stage": verdicts.not_connected("backbone", stage=NOWHERE)},
    ),
    "there is no network": (
        ("not_connected", "backbone"),
        lambda _: {"stage": verdicts.not_connected("backbone", stage="No computer is called pot:1, as the link says.")},
    ),
    "the desk refuses": (
        ("problem", "not_trusted"),
        lambda _: {"failure": NotTrusted("This invitation is not valid.", hint="Ask for a new link.")},
    ),
    "the charter is damaged": (("problem", "damaged"), lambda _: {"failure": Damaged("It cannot be read.")}),
    "the worker starts": (("starting", "trainer"), lambda _: joined(phase=Phase.IDLE)),
    "the others are looked for": (("starting", "joining"), lambda _: joined(phase=Phase.JOINING)),
    "it catches up": (
        ("starting", "catching_up"),
        lambda _: joined(phase=Phase.FETCHING, fetching=Fetching(3, 12)),
    ),
    "it trains": (("contributing", "training"), lambda _: joined()),
    "it averages": (("contributing", "averaging"), lambda _: joined(phase=Phase.AVERAGING)),
    "it helps": (("contributing", "helping"), lambda _: joined(role="helper", phase=Phase.IDLE)),
    "its line is slow": (("contributing", "assisting"), lambda _: joined(assists=True)),
    "the backbone dies while others train": (
        ("contributing", "training"),
        lambda _: joined(reach=OwnReach(Reachability.OFFLINE)),
    ),
    "the cable is pulled": (
        ("not_connected", "offline"),
        lambda _: joined(reach=OwnReach(Reachability.OFFLINE), audible=False),
    ),
    "the worker is frozen": (("problem", "worker"), lambda _: joined(trouble=FROZEN)),
    "the disk is full": (("problem", "no_space"), lambda _: joined(trouble=NoSpace("The disk is full."))),
    "it is paused": (("paused", ""), lambda folder: rests(folder, Settings(computing=OFF))),
    "it is paused after its worker had died": (
        ("paused", ""),
        lambda folder: {**rests(folder, Settings(computing=OFF)), "trouble": FROZEN},
    ),
    "the settings are damaged": (("paused", ""), damaged_settings),
    "outside the hours": (("resting", "schedule"), rests),
    "the connection costs": (("resting", "metered"), lambda folder: rests(folder, ALWAYS, metered=True)),
    "outside the hours, and it costs": (("resting", "schedule"), lambda folder: rests(folder, metered=True)),
    **{
        f"the senses find what forbids: {reason}": (
            ("resting", reason),
            lambda folder, rules=rules, sensed=sensed: rests(folder, Settings(**rules), sensed=sensed),
        )
        for reason, rules, sensed in (
            ("battery", {}, Sensed(on_battery=True)),
            ("battery_low", {"on_battery": True}, Sensed(on_battery=True, battery=0.2)),
            ("in_use", {"in_use": False}, Sensed(idle_s=1.0)),
            ("program", {"programs": ("blender",)}, Sensed(programs=frozenset({"blender"}))),
            ("full_screen", {}, Sensed(full_screen=True)),
            ("busy", {"busy_percent": 50}, Sensed(busy=0.8)),
            ("heat", {"celsius_max": 80}, Sensed(celsius=91.0)),
            ("watts", {"watts_max": 40}, Sensed(watts=65.0)),
            ("gpu_in_use", {"device": "cuda"}, Sensed(idle_s=1.0)),
            ("gpu_busy", {"device": "cuda"}, Sensed(gpus=(SensedGpu(name="cuda:0", busy=0.8),))),
            ("gpu_heat", {"device": "cuda", "celsius_max": 80}, Sensed(gpus=(SensedGpu(name="cuda:0", celsius=91.0),))),
            ("gpu_watts", {"device": "cuda", "watts_max": 99}, Sensed(gpus=(SensedGpu(name="cuda:0", watts=150.0),))),
        )
    },
    **{
        f"the person switched something off: {reason}": (
            ("paused", reason),
            lambda folder, fields=fields: rests(folder, Settings(device="cuda", **fields)),
        )
        for reason, fields in (
            ("until", {"computing": UseSwitch().off(NOON + 3600, NOON)}),
            ("gpu", {"gpu": OFF}),
            ("gpu_until", {"gpu": UseSwitch().off(NOON + 3600, NOON)}),
            ("network", {"network": OFF}),
            ("network_until", {"network": UseSwitch().off(NOON + 3600, NOON)}),
        )
    },
    "the month is used up": (("resting", "month"), lambda folder: rests(folder, ALWAYS, used=2000)),
    "the last epoch is done": (("resting", "finished"), lambda _: joined(phase=Phase.FINISHED)),
    "the schedule has ended": (
        ("resting", "ended"),
        lambda _: {
            **joined(phase=Phase.FINISHED),
            "manifest": msgspec.structs.replace(MANIFEST, optimizer={"name": "lamb", "total_epochs": 1}),
        },
    ),
}

WITHOUT_NUMBERS = {
    ("contributing", "training"),
    ("contributing", "averaging"),
    ("resting", "finished"),
    ("resting", "ended"),
}
"""Verdicts whose samples and epochs Home shows as a picture, or not at all."""


@contextlib.contextmanager
def window_on(home, qt, delete):
    """A window on a home, which starts no engine."""
    application = Application(home, qt, engine=None, chance=random.Random(1))
    application.window.resize(800, 560)
    yield application
    application.leave(stop=False)
    application.finish()
    delete(application.window, application.theme, application)


@pytest.fixture
def window(qt, delete, tmp_path):
    with window_on(tmp_path, qt, delete) as application:
        yield application


@pytest.fixture(scope="module")
def engine(fake_engine, tmp_path_factory):
    with fake_engine.FakeService(tmp_path_factory.mktemp("home")) as service:
        yield service


@pytest.fixture(scope="module")
def open_window(engine, qt, delete):
    """One window, which goes from each situation to the next."""
    with window_on(engine.home, qt, delete) as application:
        application.start()
        yield application


def assert_all_say(window, tmp_path, capsys, code, reason):
    """The same code, and the same sentence, everywhere."""
    verdict = window.store.verdict
    assert (verdict.code, verdict.reason) == (code, reason)
    said, headline = text.sentence(verdict), text.headline(verdict)
    if window.window.shows_page:
        assert window.window.home.header.words == (headline, page_text.reason(verdict))
        if (code, reason) not in WITHOUT_NUMBERS:
            hint = str(verdict.args.get("hint", ""))
            assert page_text.reason(verdict) == f"{said} {hint}".strip()
    else:
        assert window.window.start_page.words == said
    assert window.window.status.words.split("  ·  ")[0] == headline
    assert window.tray.shown == code
    assert window.tray.words.startswith(f"Potluck: {headline}. {page_text.reason(verdict)}"[:100])
    QApplication.processEvents()
    if folder := os.environ.get("POTLUCK_PICTURES"):
        window.window.grab().save(f"{folder}/{code}-{reason or 'by-person'}.png")
    for words in ("status --json", "status"):
        run([*words.split(), "--home", str(tmp_path)])
        told = capsys.readouterr().out
        if words == "status":
            assert told.startswith(f"{headline}. {said}")
        else:
            answer = json.loads(told)
            assert (answer["code"], answer["reason"], text.one_line(answer["sentence"])) == (code, reason, said)


@pytest.mark.parametrize("name", SITUATIONS)
def test_every_surface_shows_the_engine_s_verdict(open_window, engine, tmp_path, until, capsys, name):
    (code, reason), facts = SITUATIONS[name]
    snapshot = take_snapshot(at(**{"contributing": code != "paused", **facts(tmp_path)}))
    until(lambda: engine.clients)
    engine.put(snapshot)
    until(lambda: open_window.store.snapshot == snapshot)
    assert_all_say(open_window, engine.home, capsys, code, reason)


def left_behind(home):
    engine_file(home).write_bytes(_file(PROTOCOL_VERSION))


def of_another_version(home):
    engine_file(home).write_bytes(_file(99))


def _file(protocol):
    import msgspec

    return msgspec.json.encode(EngineFile(pid=1, port=1, token="t", protocol=protocol, started=1.0))


@pytest.mark.parametrize(
    ("prepare", "reason"),
    [(lambda _: None, "stopped"), (left_behind, "killed"), (of_another_version, "version")],
    ids=["the engine was told to quit", "the engine was killed", "an engine of another version"],
)
def test_every_surface_says_that_no_engine_answers(window, tmp_path, until, capsys, prepare, reason):
    """The window that may start one says `again` or `absent` for the same code; here the reason itself is compared."""
    prepare(tmp_path)
    window.client.link_changed.disconnect()
    window.client.link_changed.connect(lambda reason: window.store.miss(verdicts.not_connected(reason)))
    window.start()
    until(lambda: window.store.verdict.reason == reason)
    assert_all_say(window, tmp_path, capsys, "not_connected", reason)


def test_every_surface_says_that_an_engine_refuses_it(window, fake_engine, tmp_path, until, capsys):
    """The token is that of an earlier run, as where the file was brought back from a copy."""
    with fake_engine.FakeService(tmp_path):
        engine_file(tmp_path).write_bytes(changed(tmp_path, token="another", pid=os.getpid()))
        window.start()
        until(lambda: window.store.verdict.code == "no_answer")
        assert_all_say(window, tmp_path, capsys, "no_answer", "no_entry")
        assert window.window.start_page.stop.isVisibleTo(window.window)
        engine_file(tmp_path).unlink()  # the engine is this process, which nothing is to end


def changed(home, **facts):
    file = msgspec.json.decode(engine_file(home).read_bytes(), type=EngineFile)
    return msgspec.json.encode(msgspec.structs.replace(file, **facts))
