"""`python -m app`, as a person or a script runs it."""

import sys

import pytest

from app.__main__ import main
from app.shell import screen


def test_without_the_packages(monkeypatch, capsys):
    monkeypatch.setattr(screen, "PACKAGES", ("no_such_package_here",))
    assert main([]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "pip install" in said


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only there can the screen be missing")
def test_without_a_screen():
    assert screen.obstacle({"QT_QPA_PLATFORM": "offscreen"}) is None
    assert "There is no screen" in (screen.obstacle({}) or "")
    assert (screen.obstacle({}, "potluck engine") or "").endswith("Without one: potluck engine")
    assert screen.obstacle({"DISPLAY": ":987"}) is not None


def test_frozen_program_names_the_library_that_it_lacks(monkeypatch):
    """PyInstaller's loader says that something could not be loaded, and why only in the error's cause."""

    def load(name):
        cause = OSError(f"{name}: cannot open shared object file: No such file or directory")
        raise OSError(f"Failed to load dynlib/dll {name!r}. Most likely it was not found.") from cause

    monkeypatch.setattr(screen.ctypes, "CDLL", load)
    said = screen.obstacle({"QT_QPA_PLATFORM": "offscreen"})
    assert said.startswith("The window needs the system library libEGL.so.1. On Debian")


def test_words_for_the_engine_are_passed_on(monkeypatch):
    from app.shell import launch

    seen = []
    monkeypatch.setattr(launch, "run", lambda home, how, engine: seen.append((engine, how)) or 0)
    for words in (["--engine", "--peers", "2", "--recipe", "small-gpt"], ["potluck://there"], ["--attach"]):
        assert main(["--home", "x", *words]) == 0
    assert seen == [
        (["--peers", "2", "--recipe", "small-gpt"], launch.Opened()),
        ([], launch.Opened(link="potluck://there")),
        (None, launch.Opened()),
    ]
