"""Windows without a screen."""

import contextlib
import importlib.util
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

os.environ["QT_QPA_PLATFORM"] = "offscreen"
HERE = Path(__file__).parent
PAUSE_S = 0.002
"""Qt's loop returns at once when nothing has happened: who waits for an engine leaves it the core."""
MISSING = [name for name in ("PySide6",) if importlib.util.find_spec(name) is None]
collect_ignore_glob = ["test_*.py"] if MISSING else []


def pytest_report_header() -> str | None:
    return f"tests/gui left out: not installed: {', '.join(MISSING)}" if MISSING else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(HERE):
            item.add_marker(pytest.mark.gui)


def _module(name: str):
    spec = importlib.util.spec_from_file_location(f"gui_{name}", HERE / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def put_away(*objects) -> None:
    """Delete Qt objects now: a window that is left would be painted again with every change of colours."""
    from PySide6.QtCore import QCoreApplication, QEvent

    for thing in objects:
        thing.deleteLater()
    QCoreApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)


@pytest.fixture(scope="session")
def delete():
    return put_away


@pytest.fixture(scope="session")
def examples():
    return _module("examples")


@pytest.fixture(scope="session")
def fake_engine():
    return _module("fake_engine")


@pytest.fixture(scope="session")
def qt() -> Iterator[object]:
    from PySide6.QtWidgets import QApplication

    application = QApplication.instance() or QApplication(["potluck"])
    yield application
    application.processEvents()


@pytest.fixture
def until(qt) -> Callable[..., None]:
    """Runs Qt's loop until something is so."""
    from PySide6.QtCore import QDeadlineTimer, QEventLoop

    def wait(so: Callable[[], object], timeout_ms: int = 5000) -> None:
        deadline = QDeadlineTimer(timeout_ms)
        while not so():
            assert not deadline.hasExpired(), "it did not happen"
            qt.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
            time.sleep(PAUSE_S)

    return wait


@pytest.fixture
def application_of(qt) -> Iterator[Callable[..., object]]:
    """Makes windows for a home, with an engine of these words; `gone` of each has an entry once it was left."""
    from random import Random

    from app.shell.application import Application

    made = []

    def make(home: Path, engine: list[str]) -> Application:
        application = Application(home, qt, engine=engine, chance=Random(1))
        application.gone = []
        application.left.connect(lambda: application.gone.append(1))
        made.append(application)
        return application

    yield make
    for application in made:
        child = application.process.child
        application.leave()
        if child is not None:
            child.kill()
            child.wait(10)
        application.finish()
        put_away(application.window, application.theme, application)


@pytest.fixture
def language(request, qt) -> Iterator[str]:
    """The code of the language that the window speaks in this test: English, unless the test asks for another one."""
    from app.looks.language import SOURCE, speak

    code = getattr(request, "param", SOURCE)
    speak(qt, code)
    yield code
    speak(qt, SOURCE)


@contextlib.contextmanager
def parts_in(folder: Path, qt) -> Iterator[object]:
    """A window without an engine: store, intents, theme, choices, and the calls that were made."""
    from types import SimpleNamespace

    from app.commands.own_commands import OwnCommands
    from app.engine.intents import Intents
    from app.engine.reports import KINDS
    from app.engine.store import Store
    from app.looks.choices import Choices
    from app.looks.theme import Theme
    from app.shell.main_window import MainWindow

    calls: list[object] = []
    asked: list[str] = []
    store = Store()

    def call(method, wish=None):
        if method in KINDS:
            asked.append(method)
        else:
            calls.append(method if wish is None else (method, wish))

    intents = Intents(call, store)
    choices = Choices(folder / "window.ini")
    theme = Theme(qt, choices.theme)
    window = MainWindow(store, intents, OwnCommands.of(folder, ()), theme=theme, choices=choices)
    made = SimpleNamespace(
        store=store,
        intents=intents,
        choices=choices,
        theme=theme,
        window=window,
        calls=calls,
        asked=asked,
        home=window.home,
    )
    yield made
    window.hide()
    snooze = window.actions_.snooze
    put_away(snooze.menu, *snooze.alone.values(), window, theme)


@pytest.fixture
def parts(qt, tmp_path, language):
    """A window of one test."""
    with parts_in(tmp_path, qt) as made:
        yield made


@pytest.fixture(scope="module")
def shared_parts(request, qt, tmp_path_factory):
    """A window of all tests of a file that change nothing in it; it speaks the language of its parameter."""
    from app.looks.language import SOURCE, speak

    speak(qt, request.param)
    with parts_in(tmp_path_factory.mktemp("window"), qt) as made:
        yield made
    speak(qt, SOURCE)


@pytest.fixture
def answering(parts, examples, tmp_path):
    """A window whose commands answer (`answering.py`), at the page of collaborations; `calls` has what they were."""
    import json
    import sys

    import msgspec

    from app.commands.own_commands import OwnCommands
    from app.shell.main_window import MainWindow
    from tests.gui.answering import PROGRAM, joined

    (tmp_path / "joined").write_bytes(b"\n".join(map(msgspec.json.encode, joined())))
    (tmp_path / "calls").touch()
    commands = OwnCommands.of(tmp_path, [sys.executable, "-c", PROGRAM])
    window = MainWindow(parts.store, parts.intents, commands, theme=parts.theme, choices=parts.choices)
    window.calls = lambda: [json.loads(line) for line in (tmp_path / "calls").read_text().splitlines()]
    parts.store.put(examples.snapshot())
    window.show()
    window.actions_.pages["collaborations"].trigger()
    yield window
    commands.stop()
    window.hide()
    put_away(window)
