"""Programs of the system that tests need."""

import os
import shutil
import sys

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="packages of Linux distributions")


@pytest.fixture
def libraries(parts, monkeypatch):
    """A system of Debian on which only Xvfb is there."""
    found = parts.system_libraries
    monkeypatch.setattr(found, "installer", lambda: "apt-get")
    monkeypatch.setattr(found, "has_program", lambda name: name == "Xvfb")
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    return found


def test_missing_programs_are_installed_by_root(parts, libraries, monkeypatch):
    installed = []
    monkeypatch.setattr(libraries, "system_install", lambda packages, why, steps: installed.append(packages))
    libraries.install_test_programs(parts.steps.Steps())
    assert installed == [["openbox", "xdotool", "trayer", "dbus-daemon", "python3-dbusmock"]]
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    libraries.install_test_programs(parts.steps.Steps())
    assert len(installed) == 1


def test_programs_that_cannot_be_installed_are_named(parts, libraries, monkeypatch, capfd):
    def fail(packages, why, steps):
        raise parts.steps.SetupProblem("no network")

    monkeypatch.setattr(libraries, "system_install", fail)
    libraries.install_test_programs(parts.steps.Steps())
    assert "some tests are skipped: openbox, xdotool, trayer, dbus-daemon, dbusmock" in capfd.readouterr().err


def test_programs_are_looked_for_on_this_system(parts):
    libraries = parts.system_libraries
    assert libraries.has_program("Xvfb") == (shutil.which("Xvfb") is not None)
    assert not libraries.has_program("no-such-program")
