"""What a blind person hears of the window: each page walked by keyboard with a screen reader, its speech as text.

    PYTHONPATH=. python -m tests.gui.heard DIR [--languages en,de] [--only PART]

An X server without a screen, a bus, Orca, and the real window on an engine's service that says what
`tests/gui/examples.py` has.  Orca's words go to speech-dispatcher, as always, and there to a synthesiser that writes
them down.  DIR/heard-LANGUAGE.txt has each key, what was said after it, and what the window announced on the bus (Orca
before version 45 does not say announcements).

Debian's packages: xvfb openbox xdotool dbus at-spi2-core orca speech-dispatcher python3-gi gir1.2-atspi-2.0
locales.
"""

import argparse
import contextlib
import json
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final, NamedTuple

import msgspec

from core.api import verdict as verdicts
from core.api.snapshot import Notice
from tests.gui import examples
from tests.gui.fake_engine import FakeService
from tests.process.screens import running, screen

NEEDED: Final = ("Xvfb", "openbox", "xdotool", "dbus-daemon", "orca", "speech-dispatcher", "localedef")
SYSTEM_PYTHON: Final = "/usr/bin/python3"
"""For which Debian packs the bindings of the accessibility bus."""
LOCALES: Final = {"en": "en_US.UTF-8", "de": "de_DE.UTF-8", "bn": "bn_BD.UTF-8"}
PAGES: Final = ("home", "model", "people", "gift", "collaborations", "computer", "activity", "about")
SETTINGS_PAGES: Final = 5
STOPS_MAX: Final = 60
ARROWS: Final = ("Down", "Right", "Right", "Down")
QUIET_S: Final = 0.8
"""After so long without a word there comes none."""
OPENS_S: Final = 2.5
"""The same after a key that opens something."""
PATIENCE_S: Final = 15.0
STARTS_S: Final = 60.0
TABLES: Final = frozenset(("table", "tree table"))
SPEECH: Final = """
LogLevel 1
AudioOutputMethod "libao"
AddModule "written" "sd_generic" "written.conf"
DefaultModule written
"""
SYNTHESISER: Final = """
GenericExecuteSynth "printf '%s\\\\n' \\'$DATA\\' >> {heard}"
GenericMaxChunkLength 5000
GenericDelimiters ""
GenericStripPunctChars ""
GenericRecodeFallback "?"
GenericDefaultCharset "utf-8"
GenericLanguage "en" "en" "utf-8"
GenericLanguage "de" "de" "utf-8"
GenericLanguage "bn" "bn" "utf-8"
AddVoice "en" "MALE1" "written"
AddVoice "de" "MALE1" "written"
AddVoice "bn" "MALE1" "written"
DefaultVoice "written"
"""


QUIET_KEYS: Final = {"enableKeyEcho": False, "profile": ["Default", "default"]}
"""Orca's settings: the names of the keys would stand before everything."""


class Stop(NamedTuple):
    """What came of one key."""

    key: str
    said: list[str]
    """The screen reader's words."""
    told: list[dict[str, object]]
    """What was on the bus."""

    @property
    def focus(self) -> dict[str, object]:
        """The object that has the focus now; empty: it stayed where it was."""
        moved = [one for one in self.told if "number" in one and one["kind"].startswith(("object:state", "object:act"))]
        return moved[-1] if moved else {}

    def lines(self) -> Iterator[str]:
        """The stop as text."""
        at = self.focus
        yield f"{self.key:<12} {' | '.join(self.said) or '(nothing)'}"
        if at and not at["name"]:
            yield f"{'':<12} unnamed: {at['role']}"
        for one in self.told:
            if one.get("words"):
                yield f"{'':<12} announced: {one['words']}"
            elif one.get("kind") == "object:alert":
                yield f"{'':<12} alert: {one.get('name')}. {one.get('description')}"


class Reader:
    """A screen reader on a window, and the keys.

    Args:
        environ: Of display and bus.
        folder: Has what is said, and what is told.
    """

    def __init__(self, environ: Mapping[str, str], folder: Path) -> None:
        self._environ = environ
        self._said, self._told = folder / "said", folder / "told"
        self._places = {self._said: 0, self._told: 0}

    def press(self, key: str) -> Stop:
        """Press a key, or several with blanks between them, and hear what is said until it is quiet."""
        for one in key.split():
            subprocess.run(["xdotool", "key", one], env=self._environ, check=True, timeout=STARTS_S)
        steps = key in {"Tab", *ARROWS}
        return self.hear(key, quiet_s=QUIET_S if steps else OPENS_S)

    def hear(self, why: str, *, quiet_s: float = OPENS_S) -> Stop:
        """What is said until it is quiet for so long."""
        ends, size, since = time.monotonic() + PATIENCE_S, -1, time.monotonic()
        while time.monotonic() < min(ends, since + quiet_s):
            now = sum(file.stat().st_size for file in self._places)
            if now != size:
                size, since = now, time.monotonic()
            time.sleep(0.05)
        told = [json.loads(line) for line in self._new(self._told)]
        return Stop(why, self._new(self._said), told)

    def _new(self, file: Path) -> list[str]:
        whole = file.read_bytes()
        fresh, self._places[file] = whole[self._places[file] :], len(whole)
        return [line for line in fresh.decode("utf-8", "replace").splitlines() if line.strip()]


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.gui.heard", description="Write what a screen reader says.")
    parser.add_argument("folder", type=Path, help="where the texts go")
    parser.add_argument("--languages", default="en,de", help="with commas between them (default: en,de)")
    parser.add_argument("--only", default="", metavar="PART", help="only scenes whose name has this in it")
    chosen = parser.parse_args()
    lacking = [name for name in NEEDED if shutil.which(name) is None]
    if lacking:
        sys.exit(f"Not installed: {', '.join(lacking)}.")
    chosen.folder.mkdir(parents=True, exist_ok=True)
    for language in chosen.languages.split(","):
        with tempfile.TemporaryDirectory(prefix="potluck-heard-") as name, desk(Path(name), language) as environ:
            path = chosen.folder / f"heard-{language}.txt"
            with path.open("w", encoding="utf-8", buffering=1) as file:
                for line in heard(environ, Path(name), language, only=chosen.only):
                    file.write(f"{line}\n")
            sys.stdout.write(f"{path}\n")


@contextlib.contextmanager
def desk(folder: Path, language: str) -> Iterator[dict[str, str]]:
    """A screen, a bus and a screen reader, whose words are in `folder`/said; gives their environment."""
    for name in ("said", "told"):
        (folder / name).touch()
    settings = folder / "config" / "speech-dispatcher"
    (settings / "modules").mkdir(parents=True)
    (settings / "speechd.conf").write_text(SPEECH)
    (settings / "modules" / "written.conf").write_text(SYNTHESISER.format(heard=folder / "said"))
    (folder / "run").mkdir(mode=0o700)
    orca = folder / "data" / "orca"
    orca.mkdir(parents=True)
    kept = {"general": QUIET_KEYS, "profiles": {"default": QUIET_KEYS}, "pronunciations": {}, "keybindings": {}}
    (orca / "user-settings.conf").write_text(json.dumps(kept))
    where = folder / "locale" / LOCALES[language]
    where.mkdir(parents=True)
    subprocess.run(["localedef", "-i", LOCALES[language].partition(".")[0], "-f", "UTF-8", str(where)], check=True)
    own = {
        "HOME": folder,
        "LOCPATH": where.parent,
        "XDG_CONFIG_HOME": folder / "config",
        "XDG_DATA_HOME": folder / "data",
        "XDG_RUNTIME_DIR": folder / "run",
        "GSETTINGS_BACKEND": "memory",
        "LANG": LOCALES[language],
        "LANGUAGE": language,
        "POTLUCK_KEYRING": "off",
    }
    with screen() as environ, contextlib.ExitStack() as stack:
        environ |= {name: str(value) for name, value in own.items()}
        for name in ("LC_ALL", "QT_QPA_PLATFORM"):
            environ.pop(name, None)
        environ["DBUS_SESSION_BUS_ADDRESS"] = stack.enter_context(bus(environ))
        listening = Path(__file__).with_name("listening.py")
        stack.enter_context(running([SYSTEM_PYTHON, str(listening), str(folder / "told")], environ))
        until(lambda: (folder / "told").stat().st_size, "nothing listens on the accessibility bus")
        stack.enter_context(running(["orca", "--replace", "--disable=braille", "--enable=speech"], environ))
        until(lambda: (folder / "said").stat().st_size, "the screen reader does not speak")
        yield environ


@contextlib.contextmanager
def bus(environ: Mapping[str, str]) -> Iterator[str]:
    """A bus for the session; gives its address."""
    words = ["dbus-daemon", "--session", "--nofork", "--print-address"]
    with subprocess.Popen(words, env=environ, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as daemon:
        assert daemon.stdout is not None
        try:
            yield daemon.stdout.readline().decode().strip()
        finally:
            daemon.terminate()


def until(so, failure: str) -> None:
    """Wait until something is so.

    Raises:
        SystemExit: it is not in time.
    """
    ends = time.monotonic() + STARTS_S
    while not so():
        if time.monotonic() > ends:
            sys.exit(f"{failure} after {STARTS_S:.0f} s")
        time.sleep(0.1)


def heard(environ: Mapping[str, str], folder: Path, language: str, *, only: str) -> Iterator[str]:
    """All scenes as lines."""
    reader = Reader(environ, folder)
    home = folder / "home"
    home.mkdir()
    (home / "window.ini").write_text(f"[General]\nlanguage={language}\n")
    words = [sys.executable, "-m", "app", "--home", str(home), "--attach"]
    with FakeService(home) as service, open_window(words, environ, reader):
        scenes = {
            **{name: page(reader, f"ctrl+{number}") for number, name in enumerate(PAGES, 1)},
            "settings": settings(reader),
            "join": dialog(reader, "ctrl+j"),
            "changes": changes(reader, service),
        }
        for name, scene in scenes.items():
            if only in name:
                yield f"\n== {name}"
                for stop in scene:
                    yield from stop.lines()
    if only in "first-run":
        yield "\n== first-run"
        empty = folder / "empty"
        empty.mkdir()
        (empty / "window.ini").write_text(f"[General]\nlanguage={language}\n")
        with open_window([sys.executable, "-m", "app", "--home", str(empty)], environ, reader) as opened:
            yield from opened.lines()
            for stop in walk(reader):
                yield from stop.lines()


@contextlib.contextmanager
def open_window(words: list[str], environ: Mapping[str, str], reader: Reader) -> Iterator[Stop]:
    """The window, open and in front; gives what is said of it."""
    with running(words, environ):
        search = ["xdotool", "search", "--sync", "--onlyvisible", "--name", "Potluck", "windowactivate", "--sync"]
        subprocess.run(search, env=environ, check=True, capture_output=True, timeout=STARTS_S)
        time.sleep(QUIET_S)
        yield reader.hear("(it opens)")


def page(reader: Reader, key: str) -> Iterator[Stop]:
    """One page: opened by its key, and walked."""
    reader.press("Tab")  # out of the rail, where a walk ends: there a page's entry would be said
    yield reader.press(key)
    yield from walk(reader)


def settings(reader: Reader) -> Iterator[Stop]:
    """The pages of the settings, one after the other."""
    yield reader.press("ctrl+9")
    for _ in range(SETTINGS_PAGES):
        yield from walk(reader)
        yield reader.press("ctrl+Tab")
    yield reader.press("Escape")


def dialog(reader: Reader, key: str) -> Iterator[Stop]:
    """A dialog: opened by its key, walked and closed."""
    yield reader.press(key)
    yield from walk(reader)
    yield reader.press("Escape")


def walk(reader: Reader) -> Iterator[Stop]:
    """Tab through all stops, once; in a table also some steps with the arrows."""
    seen = set()
    for _ in range(STOPS_MAX):
        stop = reader.press("Tab")
        yield stop
        if stop.focus.get("role") in TABLES:
            for key in ARROWS:
                yield reader.press(key)
        number = stop.focus.get("number")
        if number is None or number in seen:
            return
        seen.add(number)


def changes(reader: Reader, service: FakeService) -> Iterator[Stop]:
    """What happens by itself or is asked for, and is not where the focus is."""
    yield reader.press("ctrl+2")
    yield reader.press("ctrl+p")
    yield reader.press("ctrl+p")
    reader.press("Tab Tab")
    yield reader.press("ctrl+1")
    for samples in (1300, 1400):
        service.put(examples.snapshot(verdict(samples), samples=samples))
        yield reader.hear("(it trains on)")
    yield reader.press("ctrl+3")
    service.put(examples.STATES["resting"]())
    yield reader.hear("(it rests)")
    service.put(examples.snapshot())
    yield reader.hear("(it goes on)")
    service.tell("notice", Notice(99, 1_760_000_000.0, "warning", "The router has closed the port."))
    yield reader.hear("(a warning)")
    service.put(examples.STATES["problem"]())
    yield reader.hear("(a problem)")
    service.put(msgspec.structs.replace(examples.snapshot(), verdict=verdicts.paused(), contributing=False))
    yield reader.hear("(paused elsewhere)")
    service.drop_clients()
    yield reader.hear("(the engine goes and comes back)")
    yield reader.press("ctrl+e")


def verdict(samples: int) -> verdicts.Verdict:
    """It trains, and this is how far."""
    return verdicts.contributing("training", others=2, samples=samples, target=examples.TARGET, epoch=40)


if __name__ == "__main__":
    main()
