"""The command that draws every page, on what an engine would tell."""

import json
import os
import subprocess
import sys

import msgspec
import pytest
from PySide6.QtGui import QImage

from app.looks.language import LANGUAGES
from tests.gui.pictures import Told, Variant, draw


def kept(examples, folder):
    """A run as the command keeps it."""
    answers = {**examples.reports(), "settings": examples.settings()}
    told = Told(
        snapshots={name: examples.STATES[name]() for name in ("training", "paused", "problem")}
        | {"starting": examples.starting()},
        reports={method: msgspec.Raw(msgspec.json.encode(answer)) for method, answer in answers.items()},
        commands={"try": [msgspec.Raw(b'{"event": "filled", "text": "a name", "blanks": []}')]},
    )
    path = folder / "told.json"
    path.write_bytes(msgspec.json.encode(told))
    return path


def test_every_page_is_drawn_in_its_size(examples, tmp_path):
    assert draw(kept(examples, tmp_path), tmp_path, Variant("dark", "de", 1, "800x560"), only="") == ""
    drawn = {path.name.removesuffix("-dark-de-800x560.png"): QImage(str(path)) for path in tmp_path.glob("*.png")}
    pages = {"home", "model", "people", "gift", "collaborations", "computer", "activity", "about"}
    states = {"home-paused", "home-problem", "home-ended", "home-stopped", "start-connecting", "start-preparing"}
    dialogs = {"settings-rules", "settings-hours", "settings-network", "settings-computer", "first-run-1-link"}
    assert pages | states | dialogs <= set(drawn)
    for name in pages | states:
        picture = drawn[name]
        assert (picture.width(), picture.height()) == (800, 560)
        assert len({picture.pixel(x, y) for x in range(0, 800, 7) for y in range(0, 560, 7)}) > 10, name


def test_two_hundred_percent_has_twice_the_pixels(examples, tmp_path):
    draw(kept(examples, tmp_path), tmp_path, Variant("light", "en", 2, "912x513", home_only=True), only="")
    (path,) = tmp_path.glob("*.png")
    assert QImage(str(path)).width() == 1824


@pytest.mark.parametrize("language", LANGUAGES)
def test_first_size_fits_a_screen_of_960x540_points(tmp_path, language):
    """200 % on 1920x1080: window, settings and first-run pages are all on the screen."""
    screen = {"name": "one", "x": 0, "y": 0, "width": 1920, "height": 1080, "logicalDpi": 96, "logicalBaseDpi": 96}
    config = tmp_path / "screen.json"
    config.write_text(json.dumps({"synchronousWindowSystemEvents": False, "screens": [{**screen, "dpr": 1}]}))
    program = f"""
from pathlib import Path
from app.looks.choices import ThemeChoice
from app.looks.language import speak
from app.shell.launch import make_application
from tests.gui.drawing import Studio, Told
qt = make_application()
speak(qt, "{language}")
studio = Studio(qt, Path("{tmp_path}"), Told(), file=Path(), theme=ThemeChoice.LIGHT)
room = studio.window.screen().availableSize()
print(room.width(), room.height())
for one in (studio.window, studio.window.settings, studio.window.join):
    one.show()
    print(one.width(), one.height())
"""
    environment = {**os.environ, "QT_QPA_PLATFORM": f"offscreen:configfile={config}", "QT_SCALE_FACTOR": "2"}
    done = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, check=True, timeout=60)
    room, *sizes = [tuple(map(int, line.split())) for line in done.stdout.decode().splitlines()]
    assert room == (960, 540)
    assert len(sizes) == 3
    for width, height in sizes:
        assert width <= room[0]
        assert height <= room[1]
