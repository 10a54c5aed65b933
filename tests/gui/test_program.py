"""`python -m app`, as a person or a script runs it."""

import os
import subprocess
import sys

import msgspec
import pytest
from PySide6.QtGui import QImage

from app import screen
from app.__main__ import main


def test_screenshots(qt, examples, tmp_path):
    snapshot = tmp_path / "snapshot.json"
    snapshot.write_bytes(msgspec.json.encode(examples.snapshot()))
    target = tmp_path / "picture.png"
    done = subprocess.run(
        [
            sys.executable,
            "-W",
            "error",
            "-m",
            "app",
            "--screenshot",
            target,
            "--snapshot",
            snapshot,
            "--size",
            "800x560",
        ],
        env=os.environ | {"QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    said = [line for line in done.stderr.splitlines() if "propagateSizeHints" not in line]  # of Qt's offscreen screen
    assert (done.returncode, said) == (0, [])
    picture = QImage(str(target))
    assert (picture.width(), picture.height()) == (800, 560)
    assert len({picture.pixel(x, y) for x in range(0, 800, 7) for y in range(0, 560, 7)}) > 20


def test_a_bad_snapshot_is_a_sentence(qt, tmp_path, capsys, monkeypatch):
    from app import launch

    monkeypatch.setattr(launch, "make_application", lambda: qt)
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    assert main(["--screenshot", str(tmp_path / "x.png"), "--snapshot", str(bad)]) == 2
    assert capsys.readouterr().err.startswith("What is to be shown cannot be read")


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
    assert screen.obstacle({"DISPLAY": ":987"}) is not None


def test_sizes(capsys):
    with pytest.raises(SystemExit) as ended:
        main(["--size", "wide"])
    assert ended.value.code == 2


def test_words_for_the_engine_are_passed_on(monkeypatch):
    from app import launch

    seen = []
    monkeypatch.setattr(launch, "run", lambda home, how, engine: seen.append((engine, how)) or 0)
    for words in (["--engine", "--peers", "2", "--recipe", "small-gpt"], ["potluck://there"], ["--attach"]):
        assert main(["--home", "x", *words]) == 0
    assert seen == [
        (["--peers", "2", "--recipe", "small-gpt"], launch.Opened()),
        ([], launch.Opened(link="potluck://there")),
        (None, launch.Opened()),
    ]
