"""Potluck at a person's login, and at a click on a `potluck:` link: what each system wants to be told.

Linux: Desktop Application Autostart 0.5 and Desktop Entry 1.5 (freedesktop.org), and a person's own unit of systemd.
macOS: a launch agent (launchd.plist(5)); links belong to the application's bundle there.  Windows: the person's part of
the registry.  macOS and Windows: not yet run there.
"""

import contextlib
import os
import plistlib
import shutil
import subprocess
import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import Final

import resources
from core.base.problems import UserProblem
from core.system.atomic_files import make_directory, write_atomic

LABEL: Final = "org.potluck.Potluck"
SCHEME: Final = "potluck"
RUN_KEY: Final = r"Software\Microsoft\Windows\CurrentVersion\Run"
LINK_KEY: Final = rf"Software\Classes\{SCHEME}"
EXIT_SHUT_OUT: Final = 77
"""Exit code of an engine that the organiser has shut out (EX_NOPERM of sysexits.h): another start changes nothing."""
TOLD_S: Final = 20.0
"""How long a program of the system may take to hear of it."""


class Startup(StrEnum):
    """What starts when the person logs in."""

    NO = "no"
    WINDOW = "window"
    """The window, hidden beside the clock."""
    ENGINE = "engine"
    """The engine alone, for computers without a screen."""


def startup(person: Path) -> Startup:
    """What starts now.

    Args:
        person: Their home directory.
    """
    if sys.platform == "win32":
        command = _registry_value(RUN_KEY, "Potluck")
        return Startup.NO if not command else Startup.ENGINE if command.endswith(" engine") else Startup.WINDOW
    places = _places(person)
    if _wanted(places[Startup.ENGINE]).is_symlink():  # a package's unit, too, which the person has enabled
        return Startup.ENGINE
    return next((kind for kind, path in places.items() if path.exists()), Startup.NO)


def start_at_login(wish: Startup, program: Sequence[str], person: Path) -> None:
    """Have this start at the person's next login, and nothing else of Potluck.

    Args:
        wish: What.
        program: The command of Potluck and its words, to which those of the window or the engine are added.
        person: Their home directory.

    Raises:
        UserProblem: the system does not allow it, or has no place for that.
    """
    command = [*program, *({Startup.WINDOW: ["--hidden"], Startup.ENGINE: ["engine"]}.get(wish, []))]
    if sys.platform == "win32":
        _set_registry(RUN_KEY, "Potluck", None if wish is Startup.NO else subprocess.list2cmdline(command))
        return
    places = _places(person)
    if wish is Startup.ENGINE and sys.platform != "darwin" and not shutil.which("systemctl"):
        raise UserProblem(
            "This system has no systemd, which would start the engine.",
            hint="Add `potluck engine` to what your system starts at login.",
        )
    for kind, path in places.items():
        if kind is not wish:
            path.unlink(missing_ok=True)
    if wish is not Startup.NO:
        make_directory(places[wish].parent)
        write_atomic(places[wish], _entry(wish, command), mode=0o644)
    if sys.platform != "darwin":
        _tell_systemd(places[Startup.ENGINE], on=wish is Startup.ENGINE)


def open_links(program: Sequence[str], person: Path) -> None:
    """Have a click on a `potluck:` link open Potluck.

    Args:
        program: The command of Potluck and its words, to which the link is added.
        person: Their home directory.

    Raises:
        UserProblem: the system does not allow it, or does so with the application's bundle only.
    """
    if sys.platform == "darwin":
        raise UserProblem("On macOS, links open Potluck once it is in the Applications folder.")
    if sys.platform == "win32":
        _set_registry(LINK_KEY, "", "URL:Potluck")
        _set_registry(LINK_KEY, "URL Protocol", "")
        _set_registry(rf"{LINK_KEY}\shell\open\command", "", f'{subprocess.list2cmdline(program)} "%1"')
        return
    path = _link_entry(person)
    make_directory(path.parent)
    entry = f"{_program(program)} %u\nMimeType=x-scheme-handler/{SCHEME};\nCategories=Science;Education;\n"
    write_atomic(path, (_HEAD + entry).encode(), mode=0o644)
    _tell("update-desktop-database", str(path.parent))
    _tell("xdg-mime", "default", path.name, f"x-scheme-handler/{SCHEME}")


def leave_links(person: Path) -> None:
    """Have a click on a `potluck:` link open nothing of this program any more.

    Args:
        person: Their home directory.

    Raises:
        UserProblem: the system does not allow it, or the application's bundle opens them.
    """
    if sys.platform == "darwin":
        raise UserProblem("On macOS, links open Potluck as long as it is in the Applications folder.")
    if sys.platform == "win32":
        _remove_registry(LINK_KEY, "shell", "open", "command")
        return
    _link_entry(person).unlink(missing_ok=True)
    _tell("update-desktop-database", str(_link_entry(person).parent))


def opens_links(person: Path) -> bool:
    """Whether a click on a `potluck:` link opens Potluck, as `open_links` has it.

    Args:
        person: Their home directory.
    """
    if sys.platform == "win32":
        return bool(_registry_value(rf"{LINK_KEY}\shell\open\command", ""))
    return _link_entry(person).exists()


def _link_entry(person: Path) -> Path:
    return _base(person, "XDG_DATA_HOME", ".local/share") / "applications" / "potluck.desktop"


_HEAD: Final = (
    "[Desktop Entry]\nType=Application\nName=Potluck\nComment=Train one neural network together\n"
    f"Icon={resources.file('icons', 'potluck.svg')}\nTerminal=false\nStartupWMClass=potluck\n"
)


def _places(person: Path) -> dict[Startup, Path]:
    """The file of each kind of start."""
    if sys.platform == "darwin":
        agents = person / "Library/LaunchAgents"
        return {Startup.WINDOW: agents / f"{LABEL}.plist", Startup.ENGINE: agents / f"{LABEL}.engine.plist"}
    config = _base(person, "XDG_CONFIG_HOME", ".config")
    return {
        Startup.WINDOW: config / "autostart" / "potluck.desktop",
        Startup.ENGINE: config / "systemd" / "user" / "potluck.service",
    }


def _entry(kind: Startup, command: Sequence[str]) -> bytes:
    if sys.platform == "darwin":
        return plistlib.dumps({"Label": LABEL, "ProgramArguments": list(command), "RunAtLoad": True})
    if kind is Startup.WINDOW:
        return f"{_HEAD}{_program(command)}\n".encode()
    return (
        "[Unit]\nDescription=Potluck: trains one neural network together with others\nAfter=network-online.target\n\n"
        f"[Service]\nExecStart={' '.join(map(_unit_word, command))}\nRestart=on-failure\nRestartSec=60\nNice=10\n"
        # killed: a person has ended it by force (core.api.running)
        f"SuccessExitStatus=130 143\nRestartPreventExitStatus=SIGKILL {EXIT_SHUT_OUT}\n\n"
        "[Install]\nWantedBy=default.target\n"
    ).encode()


def _program(command: Sequence[str]) -> str:
    """The program of an entry, which desktops leave out once its package is removed."""
    path = command[0].replace("\\", "\\\\")
    return f"TryExec={path}\nExec={_desktop_words(command)}"


def _desktop_words(command: Sequence[str]) -> str:
    """As the Desktop Entry Specification has the value of Exec: quoted, then escaped once more as a string."""
    words = []
    for word in command:
        quoted = "".join(f"\\{letter}" if letter in '"`$\\' else letter for letter in word)
        words.append('"' + quoted.replace("\\", "\\\\").replace("%", "%%") + '"')
    return " ".join(words)


def _unit_word(word: str) -> str:
    """As systemd.syntax(7) and systemd.service(5) have a word of a command line."""
    escaped = word.replace("\\", "\\\\").replace('"', '\\"').replace("%", "%%").replace("$", "$$")
    return f'"{escaped}"'


def _wanted(unit: Path) -> Path:
    """The link by which systemd starts a unit at login."""
    return unit.parent / "default.target.wants" / unit.name


def _tell_systemd(unit: Path, *, on: bool) -> None:
    """Say whether the unit starts; systemctl makes and deletes a link beside it."""
    if shutil.which("systemctl"):
        _wanted(unit).unlink(missing_ok=True)
        if on:
            make_directory(_wanted(unit).parent)
            _wanted(unit).symlink_to(unit)
        _tell("systemctl", "--user", "daemon-reload")


def _tell(*command: str) -> None:
    """Run a program of the system, if it is there; what it would do comes at the next login otherwise."""
    if shutil.which(command[0]):
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run(command, check=False, timeout=TOLD_S, capture_output=True)


def _base(person: Path, variable: str, folder: str) -> Path:
    given = Path(os.environ.get(variable, ""))
    return given if given.is_absolute() else person / folder


if sys.platform == "win32":
    import winreg

    def _registry_value(key: str, name: str) -> str:
        try:
            with winreg.OpenKey(winreg.HKEY_CURRENT_USER, key) as opened:
                return str(winreg.QueryValueEx(opened, name)[0])
        except OSError:
            return ""

    def _set_registry(key: str, name: str, value: str | None) -> None:
        try:
            with winreg.CreateKey(winreg.HKEY_CURRENT_USER, key) as opened:
                if value is not None:
                    winreg.SetValueEx(opened, name, 0, winreg.REG_SZ, value)
                    return
                with contextlib.suppress(FileNotFoundError):
                    winreg.DeleteValue(opened, name)
        except OSError as error:
            raise UserProblem("The registry cannot be changed: {error}.", error.strerror) from error

    def _remove_registry(key: str, *inner: str) -> None:
        """Remove a key with the chain of keys in it: Windows removes only keys that hold no others."""
        for depth in range(len(inner), -1, -1):
            with contextlib.suppress(FileNotFoundError):
                winreg.DeleteKey(winreg.HKEY_CURRENT_USER, "\\".join([key, *inner[:depth]]))
