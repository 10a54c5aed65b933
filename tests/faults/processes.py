"""The processes of a run: which there are, what they hold, and how all of them are killed."""

import contextlib
import os
import time
from collections import defaultdict
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Final

import psutil

from tests.faults.trial import Trial

MARK: Final = "POTLUCK_FAULTS"
"""The variable in the environment of each process of a run that tells the run's folder."""
GONE_S: Final = 5.0
"""A process whose parent was killed is gone so much later."""
SETTLED_S: Final = 20.0
"""A process that has run for so long holds all that it needs."""
GROWTH: Final = {"threads": 2, "files": 8, "mib": 48}
"""What a process may hold more than the first one of its role did when it had settled."""


class ProcessRole(StrEnum):
    """Which of the programs a process runs."""

    BACKBONE = "backbone"
    ENGINE = "engine"
    WORKER = "worker"
    READER = "reader"
    OTHER = "other"


ROLES: Final = {
    "core.training": ProcessRole.WORKER,
    "core.reading": ProcessRole.READER,
    "backbone": ProcessRole.BACKBONE,
    "engine": ProcessRole.ENGINE,
}
"""By a word of their command lines."""


def role_of(process: psutil.Process) -> ProcessRole:
    words = process.cmdline()
    return next((role for word, role in ROLES.items() if word in words), ProcessRole.OTHER)


def processes_of(folder: Path) -> list[psutil.Process]:
    """The living processes of the run in a folder, orphans as well; zombies have ended."""
    found = []
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error):
            if process.environ().get(MARK) == str(folder) and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
    return [process for process in found if process.pid != os.getpid()]


def left_over(folder: Path) -> list[psutil.Process]:
    """The run's processes that are still there `GONE_S` after all of them should have ended."""
    deadline = time.monotonic() + GONE_S
    while (found := processes_of(folder)) and time.monotonic() < deadline:
        time.sleep(0.05)
    return found


def kill_all(folder: Path) -> list[psutil.Process]:
    """Kill each process of a run; those that were started meanwhile end by themselves.

    Returns:
        Those that did not.
    """
    for process in processes_of(folder):
        with contextlib.suppress(psutil.NoSuchProcess):
            process.kill()
    return left_over(folder)


@dataclass(frozen=True, slots=True)
class Held:
    """What a process holds."""

    threads: int
    files: int
    mib: float


class Growth:
    """Compares what processes hold with what the first one of their role did."""

    def __init__(self, trial: Trial) -> None:
        self._folder, self._settled_s = trial.folder, SETTLED_S * trial.patience
        self._first: dict[ProcessRole, Held] = {}
        self._last: dict[ProcessRole, list[Held]] = defaultdict(list)

    def look(self) -> None:
        """Measure the processes that have settled."""
        self._last.clear()
        for process in processes_of(self._folder):
            with contextlib.suppress(psutil.Error):
                if time.time() - process.create_time() < self._settled_s:  # noqa: TID251 - as psutil has it
                    continue
                role = role_of(process)
                held = Held(process.num_threads(), process.num_fds(), process.memory_info().rss / 2**20)
                self._first.setdefault(role, held)
                self._last[role].append(held)

    def figures(self) -> dict[str, dict[str, float]]:
        """By role: the greatest growth of each figure at the last look."""
        return {
            role: {
                figure: round(max(getattr(held, figure) for held in self._last[role]) - getattr(first, figure), 1)
                for figure in GROWTH
            }
            for role, first in self._first.items()
            if self._last[role]
        }

    def problems(self) -> list[str]:
        return [
            f"{role} has grown by {grown} {figure}; at most {GROWTH[figure]} are allowed"
            for role, figures in self.figures().items()
            for figure, grown in figures.items()
            if grown > GROWTH[figure]
        ]
