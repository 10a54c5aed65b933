"""The folder of a program that updates itself: the version that was installed, and those that updates have brought.

Standard library only: each start of such a program reads it first.  docs/decisions/0027 draws it.
"""

import contextlib
import json
import os
import re
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from core.api.version import VERSION

PROGRAM: Final = "POTLUCK_PROGRAM"
"""The environment variable with the folder of a program that may update itself."""
LAUNCHER: Final = "POTLUCK_LAUNCHER"
"""The environment variable with the command that starts the newest version."""
ABOUT: Final = "installed.json"
ROOT_KEYS: Final = "root.json"
"""The keys that are trusted at first, as The Update Framework has them."""
VERSIONS: Final = "versions"
VERSION_PATTERN: Final = r"^[0-9]{1,6}(\.[0-9]{1,6}){1,3}$"
KEPT: Final = 2
"""Number of versions that stay: the newest, and the one to which a start goes back."""
_TRYING, _UP, _BAD = ".trying", ".up", ".bad"

Number = tuple[int, ...]


def numbers(version: str) -> Number:
    """The numbers of a version, by which versions are ordered; empty: it is not one."""
    return tuple(map(int, version.split("."))) if re.match(VERSION_PATTERN, version) else ()


@dataclass(frozen=True, slots=True)
class AboutProgram:
    """What the packager says in `installed.json`."""

    version: str = ""
    url: str = ""
    """Where the signed list of updates lies; empty: there are none."""
    made: float = 0.0
    """When it was made, Unix seconds: no clock that goes right shows less."""


class ProgramFolder:
    """The folder, and the versions in it.

    A version is a folder in `versions` that has come there by one rename.  Beside it lies what became of it: `.trying`
    until it has come up, then `.up`; `.bad` if it did not, and then it is never taken again.

    Args:
        folder: Its path.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.versions = folder / VERSIONS
        self.room = folder / "updates"
        """What is kept of updates: keys, downloads, choices."""

    @classmethod
    def here(cls) -> "ProgramFolder | None":
        """The folder of the program that runs; None: it does not update itself."""
        named = os.environ.get(PROGRAM, "")
        return cls(Path(named)) if named and Path(named, ABOUT).is_file() else None

    @property
    def about(self) -> AboutProgram:
        """What the version that runs says of itself; an update may have brought it."""
        for folder in (self.path(VERSION), self.folder):
            with contextlib.suppress(OSError, ValueError, TypeError, AttributeError):
                told = json.loads((folder / ABOUT).read_bytes()[:4096])
                return AboutProgram(str(told["version"]), str(told.get("url", "")), float(told.get("made", 0)))
        return AboutProgram()

    @property
    def installed(self) -> str:
        """The version that lies in the folder itself."""
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            return str(json.loads((self.folder / ABOUT).read_bytes()[:4096])["version"])
        return ""

    def path(self, version: str) -> Path:
        """Where a version lies, or would."""
        return self.versions / version

    def there(self) -> list[str]:
        """The versions that updates have brought and that are newer than the installed one, the newest first."""
        with contextlib.suppress(OSError):
            names = [each.name for each in self.versions.iterdir() if numbers(each.name) and each.is_dir()]
            return sorted((one for one in names if numbers(one) > numbers(self.installed)), key=numbers, reverse=True)
        return []

    @property
    def newest(self) -> str:
        """The version that the next start takes."""
        return next((one for one in self.there() if not self.is_bad(one)), self.installed)

    @property
    def back_from(self) -> str:
        """The newest version that did not come up here, while it is newer than what runs; empty: there is none."""
        with contextlib.suppress(OSError):
            names = [each.name.removesuffix(_BAD) for each in self.versions.iterdir() if each.name.endswith(_BAD)]
            return max((one for one in names if numbers(one) > numbers(self.newest)), key=numbers, default="")
        return ""

    def is_bad(self, version: str) -> bool:
        """Whether it did not come up here."""
        return self._mark(version, _BAD).exists()

    def is_proven(self, version: str) -> bool:
        """Whether it has come up here."""
        return self._mark(version, _UP).exists()

    def try_out(self, version: str) -> bool:
        """Note that a version is started which has not come up yet; False: nothing can be noted here."""
        try:
            self._mark(version, _TRYING).touch()
        except OSError:
            return False
        return True

    def roll_back(self, version: str) -> None:
        """A version did not come up: it is never taken again."""
        mark = self._mark(version, _BAD)
        with contextlib.suppress(OSError):
            self._mark(version, _TRYING).replace(mark)  # which needs no space on the disk
        with contextlib.suppress(OSError):
            mark.touch()

    def tidy(self) -> None:
        """Delete versions that no start takes any more, and what was begun; what is in use goes the next time."""
        stays = {
            VERSION,
            *running_in(self.versions.resolve()),
            *[one for one in self.there() if not self.is_bad(one)][:KEPT],
        }
        for found in list(self.versions.iterdir()) if self.versions.is_dir() else ():
            torn = found.name.startswith((".new-", ".old-"))
            if torn or (found.is_dir() and found.name not in stays):
                with contextlib.suppress(OSError):
                    old = found.rename(found.with_name(f".old-{os.urandom(4).hex()}"))
                    shutil.rmtree(old)

    def _mark(self, version: str, mark: str) -> Path:
        return self.versions / f"{version}{mark}"


def running_in(versions: Path) -> set[str]:
    """Versions of which a program runs: an engine waits long for the end of its round, or for its person."""
    import psutil  # noqa: PLC0415 - only who looks for updates needs it

    programs = (each.info["exe"] for each in psutil.process_iter(["exe"]))
    places = (Path(program) for program in programs if program)
    return {place.relative_to(versions).parts[0] for place in places if place.is_relative_to(versions)}


def came_up() -> None:
    """This version has come up: an engine lets clients in, or a window shows itself."""
    program = ProgramFolder.here()
    if program is not None:
        with contextlib.suppress(OSError):  # it was not tried
            trying = program.versions / f"{VERSION}{_TRYING}"
            trying.replace(trying.with_suffix(_UP))


def this_system() -> str:
    """The kind of system that a package is made for, such as `linux-x86_64`."""
    import platform  # noqa: PLC0415 - only who looks for updates needs it

    return f"{sys.platform}-{platform.machine().lower()}"


def begin_again(words: list[str]) -> list[str] | None:
    """The command that starts the newest version, for a program that ends for it; None: there is no newer one.

    Args:
        words: The words of the program that ends.
    """
    program, launcher = ProgramFolder.here(), os.environ.get(LAUNCHER, "")
    newer = program is not None and numbers(program.newest) > numbers(VERSION)
    return [launcher, *words] if newer and launcher else None
