"""What starts at login, as the systems' own programs read it."""

import configparser
import json
import os
import plistlib
import shutil
import subprocess
import sys
import time
from pathlib import Path

import pytest

from core.__main__ import main
from core.base.problems import UserProblem
from core.storage.identity import in_keyring, load_identity
from core.storage.paths import Home
from core.system import startup as module
from core.system.startup import Startup, open_links, start_at_login, startup
from tests.unit.storage.test_identity import CardboardKeyring

STRANGE = ["/opt/pot luck/python", "-m", "core", "--home", '/home/a "b" $c `d` \\e 100%']

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="freedesktop.org's files")


@pytest.fixture(autouse=True)
def _system(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A person whose folders are the usual ones, on a system with a systemctl that does nothing."""
    for variable in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(variable, raising=False)
    programs = tmp_path / "bin"
    programs.mkdir()
    (programs / "systemctl").symlink_to("/bin/true")
    monkeypatch.setenv("PATH", f"{programs}:/usr/bin:/bin")


def words_of_exec(line: str) -> list[str]:
    """As a desktop reads Exec: escapes of a string, then words as a shell has them in double quotes."""
    unescaped = line.replace("\\\\", "\\")
    said = subprocess.run(["sh", "-c", f"printf '%s\\n' {unescaped}"], check=True, capture_output=True, text=True)
    return [word.replace("%%", "%") for word in said.stdout.splitlines()]


def test_window_at_login_is_an_autostart_entry(tmp_path: Path) -> None:
    start_at_login(Startup.WINDOW, STRANGE, tmp_path)
    entry = tmp_path / ".config/autostart/potluck.desktop"
    read = configparser.RawConfigParser()
    read.optionxform = str  # type: ignore[assignment, method-assign]
    read.read(entry)
    assert words_of_exec(read["Desktop Entry"]["Exec"]) == [*STRANGE, "--hidden"]
    assert startup(tmp_path) is Startup.WINDOW
    if shutil.which("desktop-file-validate"):
        subprocess.run(["desktop-file-validate", entry], check=True)


def test_engine_at_login_is_a_unit_that_replaces_the_window(tmp_path: Path) -> None:
    start_at_login(Startup.WINDOW, STRANGE, tmp_path)
    start_at_login(Startup.ENGINE, STRANGE, tmp_path)
    assert startup(tmp_path) is Startup.ENGINE
    assert not (tmp_path / ".config/autostart/potluck.desktop").exists()
    unit = tmp_path / ".config/systemd/user/potluck.service"
    wanted = unit.parent / "default.target.wants/potluck.service"
    assert wanted.resolve() == unit
    (line,) = [line for line in unit.read_text().splitlines() if line.startswith("ExecStart=")]
    assert line == (
        'ExecStart="/opt/pot luck/python" "-m" "core" "--home" "/home/a \\"b\\" $$c `d` \\\\e 100%%" "engine"'
    )
    start_at_login(Startup.NO, STRANGE, tmp_path)
    assert startup(tmp_path) is Startup.NO
    assert not unit.exists()
    assert not wanted.is_symlink()


def test_engine_at_login_is_refused_without_systemd(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UserProblem, match="no systemd"):
        start_at_login(Startup.ENGINE, STRANGE, tmp_path)


@pytest.mark.skipif(shutil.which("gio") is None, reason="launches desktop entries by GLib's gio")
def test_desktop_launches_the_entry_with_every_word(tmp_path: Path) -> None:
    told = tmp_path / "told"
    telling = f"import json, pathlib, sys; pathlib.Path({str(told)!r}).write_text(json.dumps(sys.argv[1:]))"
    start_at_login(Startup.WINDOW, [sys.executable, "-c", telling, *STRANGE], tmp_path)
    subprocess.run(["gio", "launch", tmp_path / ".config/autostart/potluck.desktop"], check=True, timeout=30)
    for _ in range(200):
        if told.exists() and told.read_text():
            break
        time.sleep(0.05)
    assert json.loads(told.read_text()) == [*STRANGE, "--hidden"]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="asks systemd-analyze")
def test_unit_is_one_that_systemd_understands(tmp_path: Path) -> None:
    start_at_login(Startup.ENGINE, [sys.executable, *STRANGE[1:]], tmp_path)
    unit = tmp_path / ".config/systemd/user/potluck.service"
    verify = ["systemd-analyze", "--user", "verify", "--man=no", unit]
    environment = {**os.environ, "XDG_RUNTIME_DIR": str(tmp_path)}
    good = subprocess.run(verify, check=False, capture_output=True, text=True, env=environment)
    assert good.returncode == 0, good.stderr
    unit.write_text(unit.read_text().replace('\\"b', '"b'))
    bad = subprocess.run(verify, check=False, capture_output=True, text=True, env=environment)
    assert "Unbalanced quoting" in bad.stderr


def test_links_are_opened_by_an_entry_with_their_scheme(tmp_path: Path) -> None:
    open_links(["/usr/bin/potluck"], tmp_path)
    entry = tmp_path / ".local/share/applications/potluck.desktop"
    assert 'Exec="/usr/bin/potluck" %u\nMimeType=x-scheme-handler/potluck;' in entry.read_text()
    if shutil.which("desktop-file-validate"):
        subprocess.run(["desktop-file-validate", entry], check=True)


def test_links_are_left_by_their_own_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    entry, still = tmp_path / ".local/share/applications/potluck.desktop", "link still opens it"
    for wish, opens in (("links", True), ("no", True), ("no-links", False), ("no-links", False), ("no", False)):
        assert main(["startup", wish, "--home", str(tmp_path)]) == 0
        assert (still in capsys.readouterr().out) is (wish == "no" and opens)
        assert entry.exists() is opens


def test_engine_at_login_is_offered_a_key_in_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    ring, home = CardboardKeyring(), Home(tmp_path / "home")
    monkeypatch.setattr("core.cli.engine.startup.system_keyring", lambda _: ring)
    home.create()
    load_identity(home.identity_file, ring)
    words = ["startup", "engine", "--home", str(home.directory)]
    assert main(words) == 0
    assert "potluck startup engine --key-in-file" in capsys.readouterr().out
    assert main([*words, "--key-in-file"]) == 0
    assert capsys.readouterr().out == "The engine starts when you log in, without a window.\n"
    assert not in_keyring(home.identity_file)


def test_launch_agent_runs_the_same_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module.sys, "platform", "darwin")
    start_at_login(Startup.ENGINE, STRANGE, tmp_path)
    agent = plistlib.loads((tmp_path / "Library/LaunchAgents/org.potluck.Potluck.engine.plist").read_bytes())
    assert agent["ProgramArguments"] == [*STRANGE, "engine"]
    assert agent["RunAtLoad"]
    assert startup(tmp_path) is Startup.ENGINE
    with pytest.raises(UserProblem, match="Applications folder"):
        open_links(STRANGE, tmp_path)


def test_startup_uses_the_launcher_of_a_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("POTLUCK_LAUNCHER", "/usr/bin/potluck")
    assert main(["startup", "window"]) == 0
    assert 'TryExec=/usr/bin/potluck\nExec="/usr/bin/potluck" "--hidden"\n' in (
        tmp_path / ".config/autostart/potluck.desktop"
    ).read_text(encoding="utf-8")


def test_startup_tells_of_a_packaged_unit_that_is_enabled(tmp_path: Path) -> None:
    wanted = tmp_path / ".config/systemd/user/default.target.wants/potluck.service"
    wanted.parent.mkdir(parents=True)
    wanted.symlink_to("/usr/lib/systemd/user/potluck.service")
    assert startup(tmp_path) is Startup.ENGINE
    start_at_login(Startup.NO, STRANGE, tmp_path)
    assert startup(tmp_path) is Startup.NO
