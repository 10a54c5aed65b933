"""The window under Wayland, by compositors without a screen: pages, dialogs, clipboard, and no warning of Qt's."""

import contextlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pytest

from tests.gui.fake_engine import FakeService
from tests.process.screens import running

pytestmark = pytest.mark.long
COMPOSITORS = {
    "sway": (
        ["sway", "--config", "{config}"],
        {"WLR_BACKENDS": "headless", "WLR_RENDERER": "pixman", "WLR_LIBINPUT_NO_DEVICES": "1"},
    ),
    "weston": (["weston", "--backend=headless-backend.so", "--use-pixman", "--socket=wayland-1"], {}),
}
PATIENCE_S = 60.0
NOBODY = 65534
QTS_OWN = ("qt.qpa.wayland.textinput:", "qt.qpa.wayland: Can't set clipboard contents with no wl_seats available")
"""Qt's complaints about itself, and about weston, which without a screen has no keyboard and nobody who copies."""
PROGRAM = """
import json, sys
from pathlib import Path
from PySide6.QtCore import QDeadlineTimer, QEventLoop
from PySide6.QtGui import QGuiApplication
from app.shell.application import Application
from app.shell.launch import make_application

def wait(so=lambda: False, patience_ms=20_000):
    deadline = QDeadlineTimer(patience_ms)
    while not so() and not deadline.hasExpired():
        qt.processEvents(QEventLoop.ProcessEventsFlag.AllEvents, 20)
    return so()

def drawn(widget):
    picture = widget.grab().toImage()
    return len({picture.pixel(x, y) for x in range(0, widget.width(), 7) for y in range(0, widget.height(), 7)})

qt = make_application()
application = Application(Path(sys.argv[1]), qt, engine=None)
window = application.window
application.start()
told = {"platform": qt.platformName(), "connected": wait(lambda: application.store.snapshot is not None)}
told["exposed"] = wait(lambda: window.windowHandle().isExposed())
told["pages"] = {}
for name, action in window.actions_.pages.items():
    action.trigger()
    wait(patience_ms=200)
    told["pages"][name] = window.shows_page and drawn(window)
told["dialogs"] = {}
for name, dialog in (("settings", window.settings), ("join", window.join), ("founding", window.founding)):
    dialog.ask()
    wait(lambda: dialog.isVisible() and dialog.windowHandle().isExposed())
    told["dialogs"][name] = drawn(dialog)
    if name == "join":
        QGuiApplication.clipboard().setText("potluck://pasted")
        dialog.links.paste.click()
        told["pasted"] = dialog.link.text()
    dialog.reject()
told["tray"] = application.tray.available
application.tray.tell("Potluck", "A word.")
window.showMinimized()
wait(patience_ms=200)
window.come_forward()
told["again"] = wait(lambda: window.isVisible() and not window.isMinimized())
application.leave(stop=False)
wait(patience_ms=100)
print(json.dumps(told))
"""


@contextlib.contextmanager
def compositor(name, folder):
    """A compositor without a screen, and the environment of its session; sway refuses to run as root."""
    lacking = [one for one in (name, "setpriv") if shutil.which(one) is None]
    if lacking:
        pytest.skip(f"not installed: {', '.join(lacking)}")
    words, own = COMPOSITORS[name]
    environ = {key: value for key, value in os.environ.items() if key not in {"DISPLAY", "WAYLAND_DISPLAY"}}
    environ |= {"XDG_RUNTIME_DIR": str(folder), "POTLUCK_KEYRING": "off"}
    environ.pop("QT_QPA_PLATFORM", None)
    with tempfile.TemporaryDirectory() as session:
        config = Path(session) / "sway"
        config.write_text("output HEADLESS-1 resolution 1100x720\ndefault_border none\n")
        started = [word.format(config=config) for word in words]
        if os.geteuid() == 0:
            os.chown(session, NOBODY, NOBODY)
            started = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", *started]
        with running(started, environ | own | {"XDG_RUNTIME_DIR": session}):
            place, ends = Path(session) / "wayland-1", time.monotonic() + PATIENCE_S
            while not place.exists():
                assert time.monotonic() < ends, f"{name} did not start"
                time.sleep(0.1)
            yield environ | {"WAYLAND_DISPLAY": str(place)}


@pytest.mark.parametrize("name", COMPOSITORS)
def test_window_goes_through_its_pages_without_a_warning(name, tmp_path):
    home = tmp_path / "home"
    home.mkdir()
    with compositor(name, tmp_path) as environ, FakeService(home):
        words = [sys.executable, "-c", PROGRAM, str(home)]
        done = subprocess.run(words, env=environ, capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert done.returncode == 0, done.stderr
    assert [line for line in done.stderr.splitlines() if not line.startswith(QTS_OWN)] == []
    told = json.loads(done.stdout)
    assert told["platform"] == "wayland"
    assert told["connected"]
    assert told["exposed"]
    assert all(colours > 10 for colours in (*told["pages"].values(), *told["dialogs"].values())), told
    assert len(told["pages"]) == 8
    assert told["pasted"] == ("potluck://pasted" if name == "sway" else "")
    assert told["again"]
