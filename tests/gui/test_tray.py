"""The icon in a real tray, under a real X server and window manager: its states, and its menu."""

import os
import shutil
import subprocess
import sys
from collections import Counter

import msgspec
import pytest
from PySide6.QtGui import QColor, QImage

from app.shell.screen import obstacle
from core.api import verdict as verdicts
from core.api.verdict import Verdict, VerdictCode
from tests.process.screens import running, screen

WIDTH, HEIGHT = 900, 640
SIDE = 24
"""Side of the icon, which stands in the lower right corner."""
CONTRIBUTING, PAUSED, PROBLEM = "#E2673B", "#7D746C", "#C8342B"
"""Colours that make up most of each icon."""
WAIT_MS = 60_000
PHOTOGRAPH = """
import sys
from PySide6.QtGui import QGuiApplication
qt = QGuiApplication([])
assert qt.primaryScreen().grabWindow(0).save(sys.argv[1])
"""

pytestmark = pytest.mark.process


@pytest.fixture
def desktop(monkeypatch):
    """The environment of a desktop with a tray (XEmbed)."""
    if shutil.which("trayer") is None:
        pytest.skip("not installed: trayer")
    with screen(size=f"{WIDTH}x{HEIGHT}x24") as environ:
        environ |= {"QT_QPA_PLATFORM": "xcb", "POTLUCK_KEYRING": "off"}
        environ.pop("DBUS_SESSION_BUS_ADDRESS", None)
        monkeypatch.setenv("DISPLAY", environ["DISPLAY"])
        if why := obstacle(environ):
            pytest.skip(why)
        words = ["trayer", "--edge", "bottom", "--align", "right", "--widthtype", "request", "--height", str(SIDE)]
        with running(words, environ):
            yield environ


def looks(environ, folder) -> QImage:
    path = folder / "screen.png"
    subprocess.run([sys.executable, "-c", PHOTOGRAPH, str(path)], env=environ, check=True, timeout=60)
    return QImage(str(path))


def most_of_icon(environ, folder) -> str:
    """The colour that most of the tray's corner has, of those that tell a state."""
    seen = looks(environ, folder)
    corner = [seen.pixelColor(x, y) for x in range(WIDTH - SIDE, WIDTH) for y in range(HEIGHT - SIDE, HEIGHT)]
    states = [QColor(name) for name in (CONTRIBUTING, PAUSED, PROBLEM)]

    def near(one, other) -> bool:
        pairs = zip(one.getRgb()[:3], other.getRgb()[:3], strict=True)
        return max(abs(mine - theirs) for mine, theirs in pairs) < 12

    counts = Counter(state.name().upper() for pixel in corner for state in states if near(pixel, state))
    return counts.most_common(1)[0][0] if counts else ""


def do(environ, *words):
    subprocess.run(["xdotool", *map(str, words)], env=environ, check=True, timeout=60)


def test_icon_follows_the_state_and_its_menu_pauses(desktop, fake_engine, examples, tmp_path, until):
    with fake_engine.FakeService(tmp_path) as service:
        window = [sys.executable, "-m", "app", "--home", str(tmp_path), "--attach"]
        with running(window, {**desktop, "PYTHONPATH": os.pathsep.join(sys.path)}):
            until(lambda: service.clients, WAIT_MS)
            until(lambda: most_of_icon(desktop, tmp_path) == CONTRIBUTING, WAIT_MS)
            do(desktop, "mousemove", WIDTH - SIDE // 2, HEIGHT - SIDE // 2, "click", 3)
            for key in ("Down", "Down", "Return"):  # the menu opens; Open Potluck, Pause
                do(desktop, "key", key)
            until(lambda: "pause" in service.calls, WAIT_MS)
            until(lambda: most_of_icon(desktop, tmp_path) == PAUSED, WAIT_MS)
            broken = msgspec.structs.replace(examples.snapshot(), verdict=verdicts.problem("x", "It broke."))
            service.put(broken)
            until(lambda: most_of_icon(desktop, tmp_path) == PROBLEM, WAIT_MS)
            service.put(msgspec.structs.replace(broken, verdict=Verdict(code=VerdictCode.RESTING, reason="battery")))
            until(lambda: most_of_icon(desktop, tmp_path) == PAUSED, WAIT_MS)
