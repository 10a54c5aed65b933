"""What pip is doing, from what it prints and, while it prints nothing, from what lies in the environment.

Standard library only.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

from steps import Progress

_COLLECTING = re.compile(r"\s*(?:Collecting|Processing)\s+(?P<what>\S+)")
_DOWNLOADING = re.compile(r"\s*Downloading\s+(?P<what>\S+)(?<!\.metadata)\s+\((?P<size>[^)]+)\)")
_INSTALLING = re.compile(r"Installing collected packages:\s*(?P<names>.+)")
_AFTER_A_NAME = re.compile(r"[=<>!~;\[(]|-\d")
MEGABYTE = 1e6


class PipProgress(Progress):
    """Follows one `pip install`.

    pip says nothing between the list of what it is going to install and the end, and that takes minutes on a slow disk.
    It unpacks one package after the other, in the order of the list, and leaves a file INSTALLER in each that is
    complete: so many are counted.

    Args:
        site_packages: Where pip unpacks to.
    """

    def __init__(self, site_packages: Path) -> None:
        super().__init__("asking pip what is needed")
        self._site_packages = site_packages
        self._collected = 0
        self._names: list[str] = []
        self._before: set[tuple[Path, int]] = set()
        self._free_before = 0
        self._written = 0

    def hear(self, line: str) -> None:
        """A line that pip printed."""
        collecting, downloading, installing = (
            pattern.match(line) for pattern in (_COLLECTING, _DOWNLOADING, _INSTALLING)
        )
        if collecting:
            self._collected += 1
            self._words = f"fetching {_name(collecting['what'])} ({self._so_far()})"
        elif downloading:
            self._words = f"fetching {_name(downloading['what'])}, {downloading['size']} ({self._so_far()})"
        elif installing:
            self._before = self._complete()
            self._free_before = self._free()
            self._names = [name.strip() for name in installing["names"].split(",")]

    def text(self) -> str:
        """What is going on now, in a few words."""
        if not self._names:
            return super().text()
        done = len(self._complete() - self._before)
        self._written = max(self._written, self._free_before - self._free())
        written = f", {self._written / MEGABYTE:,.0f} MB written" if self._written >= MEGABYTE else ""
        if done >= len(self._names):
            return f"unpacked {len(self._names)} packages{written}; pip is tidying up"
        return f"unpacking {self._names[done]}, {done + 1} of {len(self._names)}{written}"

    def _so_far(self) -> str:
        return f"{self._collected} package{'s' if self._collected != 1 else ''} so far"

    def _complete(self) -> set[tuple[Path, int]]:
        """Packages that pip has finished, each with the time of that: one that is replaced counts anew."""
        found = set()
        for mark in self._site_packages.glob("*.dist-info/INSTALLER"):
            try:
                found.add((mark, mark.stat().st_mtime_ns))
            except OSError:
                continue  # just replaced
        return found

    def _free(self) -> int:
        """Bytes that are free on the disk: by how many they shrink says, about, how much was unpacked."""
        try:
            return shutil.disk_usage(self._site_packages).free
        except OSError:
            return 0


def _name(what: str) -> str:
    """The name of a package that is asked for, as in `torch==2.13.0`, or of its file, wherever that lies."""
    return _AFTER_A_NAME.split(what.rpartition("/")[2], maxsplit=1)[0]
