"""Programs that run, how busy those that are not Potluck's keep the processor, and the memory of Potluck's."""

import contextlib
import os
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Final, NamedTuple

import msgspec
import psutil

from core.api.rules import program_name
from core.schedule.sensed import Sensed
from core.schedule.senses.findings import Tell
from core.schedule.senses.owner import HeldNames

LOOK_S: Final = 5.0
ANEW: Final = 12
"""Number of looks after which all processes are read anew: they become other programs, and numbers come again."""
PROGRAMS_BYTES_MAX: Final = 256 * 1024
"""Upper bound on all names together, in JSON; with the other findings they stay below a line's."""
NAME_CHARS_MAX: Final = 64
OWN_BYTES: Final = 128 * 1024 * 1024
"""Potluck's memory is told in steps, so that it is news seldom."""
_KERNEL: Final = 2
"""Linux: the parent of the kernel's own threads."""


class _Known(NamedTuple):
    name: str
    parent: int
    file: str


class Processes:
    """Senses which programs run, and how busy they keep the processor beside Potluck.

    A look reads the list of processes, and of each only what it did not know: a fraction of a millisecond.

    Args:
        pid: The engine's process: it and its descendants are Potluck's.
        names: Names folders of programs.
    """

    name: Final = "programs"
    is_coarse: Final = False

    def __init__(self, pid: int, names: HeldNames) -> None:
        self._pid = pid
        self._names = names
        self._looks = 0
        self._known: dict[int, _Known] = {}
        self._fresh: set[int] = set()
        self._spent: tuple[float, float, float] | None = None
        self.own: frozenset[int] = frozenset({pid})
        """Numbers of Potluck's processes, of the last look."""

    def run(self, tell: Tell) -> None:
        """Look at all processes every `LOOK_S`."""
        while True:
            tell(self.look())
            time.sleep(LOOK_S)

    def look(self) -> Sensed:
        """Look once; the share is that of the time since the look before, and unknown at the first."""
        self._read()
        self.own = self._descendants()
        kernel = _KERNEL if psutil.LINUX else None
        others = [
            known for pid, known in self._known.items() if pid not in self.own and kernel not in {pid, known.parent}
        ]
        names = _bounded({known.name for known in others if known.name})
        files = {known.file for known in others if known.file}
        inside = {folder for folder in self._names.now.folders if _has_one(folder, files)}
        return Sensed(busy=self._busy(), programs=names | inside, own_bytes=self._own_bytes())

    def _read(self) -> None:
        """Names and parents; of processes of which one look knows already, another one later makes sure."""
        anew = self._looks % ANEW == 0
        self._looks += 1
        present = set(psutil.pids())
        fresh = {pid for pid in present if pid not in self._known}
        known = {} if anew else {pid: self._known[pid] for pid in present - fresh}
        for pid in present if anew else fresh | self._fresh & present:
            try:
                process = psutil.Process(pid)
                with process.oneshot():
                    known[pid] = _Known(_plain(process.name()), process.ppid(), _file(process))
            except psutil.Error:
                known.pop(pid, None)
        self._known, self._fresh = known, fresh

    def _descendants(self) -> frozenset[int]:
        children: dict[int, list[int]] = {}
        for pid, known in self._known.items():
            children.setdefault(known.parent, []).append(pid)
        own, found = set[int](), [self._pid]
        while found:
            pid = found.pop()
            if pid not in own:
                own.add(pid)
                found += children.get(pid, ())
        return frozenset(own)

    def _own_bytes(self) -> int:
        taken = 0
        for pid in self.own - {self._pid}:
            with contextlib.suppress(psutil.Error):
                taken += psutil.Process(pid).memory_info().rss
        return round(taken / OWN_BYTES) * OWN_BYTES

    def _busy(self) -> float | None:
        times = psutil.cpu_times()
        total = sum(times) - getattr(times, "guest", 0.0) - getattr(times, "guest_nice", 0.0)
        spent = (total, total - times.idle - getattr(times, "iowait", 0.0), sum(map(_seconds, self.own)))
        before, self._spent = self._spent, spent
        if before is None or spent[0] <= before[0]:
            return None
        elapsed, busy, own = (now - then for now, then in zip(spent, before, strict=True))
        return float(min(1.0, max(0.0, (busy - max(0.0, own)) / elapsed)))


def _file(process: psutil.Process) -> str:
    """Where a process's program lies, as folders are compared; empty: that is not shown to this person."""
    try:
        return str(os.path.normcase(process.exe()))
    except psutil.Error:
        return ""


def _has_one(folder: str, files: Iterable[str]) -> bool:
    """Whether one of these files lies in a folder, or in one of its folders, or is what is named."""
    named = os.path.normcase(os.path.realpath(Path(folder).expanduser()))
    return any(Path(file).is_relative_to(named) for file in files)


def _seconds(pid: int) -> float:
    """Processor time of a process, with that of its children that have ended: what a child took stays in the sum."""
    try:
        return float(sum(psutil.Process(pid).cpu_times()[:4]))
    except psutil.Error:
        return 0.0


def _plain(name: str) -> str:
    """Any program can give itself any bytes as a name, which Python passes on as lone surrogates."""
    short = program_name(name)[:NAME_CHARS_MAX]
    return "".join(each if each.isprintable() else "?" for each in short)


def _bounded(names: Iterable[str]) -> frozenset[str]:
    kept, left = set[str](), PROGRAMS_BYTES_MAX
    for name in sorted(names):
        left -= len(msgspec.json.encode(name)) + 1
        if left < 0:
            break
        kept.add(name)
    return frozenset(kept)
