"""The copies of the model that a backbone keeps in its charter (docs/protocols/states.md).

The newest is given to newcomers when nobody trains.  Older ones are for the organiser to go back to, lest a member that
was alone with the backbone for a while has the last word: the older, the fewer.
"""

import contextlib
import logging
import math
import os
from pathlib import Path
from typing import Final

from core.base.problems import Problem, RemoteProblem, WireProblem
from core.base.state_header import HEADER_BYTES_MAX, epoch_of, header_of, names_digest, state_file_name
from core.swarm.facts import StateKept
from core.swarm.keeper import REST_MIN_S
from core.swarm.orders import Keep
from core.swarm.states import StateName
from core.system.atomic_files import make_directory, move_synced, problem_of, set_aside
from core.workers.state_files import DiskStateFile

_LOG = logging.getLogger(__name__)
STATES: Final = "states"
AGES: Final = 16
"""Of those copies of which none is so many times as old as another, the oldest stays: four for two weeks."""


class KeptStates:
    """See the module's docstring.

    Args:
        folder: The charter's.
        manifest: The collaboration's id; a copy of another is not kept.
    """

    def __init__(self, folder: Path, *, manifest: bytes) -> None:
        self._folder = folder / STATES
        self._manifest = manifest.hex()

    def newest(self) -> StateKept | None:
        """The copy that was taken last, of those that are whole; None: there is none.  Damaged ones are set aside."""
        try:
            for path in self._newest_first():
                called, file = _called(path), DiskStateFile(path, None)
                if called is not None and names_digest(path.name, file.digest):
                    return StateKept(called[0], file)
                _LOG.warning("a damaged copy of the model is set aside as %s", set_aside(path).name)
        except (OSError, Problem) as error:  # what cannot be read is no reason to welcome nobody
            _LOG.warning("copies of the model cannot be read: %s", error)
        return None

    def keep(self, copy: Keep, now: float) -> StateKept:
        """Take a copy into the folder, and delete those of which there are enough of about their age.

        Args:
            copy: What was fetched.
            now: Unix seconds.

        Raises:
            RemoteProblem: it calls itself otherwise than it was called, and is deleted.
            Damaged: it cannot be read.
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        location = Path(copy.location)
        path = self._folder / state_file_name(copy.name.epoch, copy.name.lineage, copy.digest)
        try:
            if _called(location) != (copy.name, self._manifest):
                location.unlink()
                raise RemoteProblem("What was given as a copy of the model calls itself otherwise.")
            make_directory(self._folder)
            stamp = max([now, *(1 + other.stat().st_mtime for other in self._newest_first())])
            os.utime(location, (stamp, stamp))  # it is the newest, whatever the clock said before
            move_synced(location, path)
        except OSError as error:
            raise problem_of(error, location) from error
        self._thin(now)
        return StateKept(copy.name, DiskStateFile(path, copy.digest))

    def _thin(self, now: float) -> None:
        with contextlib.suppress(OSError):  # Windows keeps what somebody reads; the next copy tries again
            others = self._newest_first()[1:]
            oldest = {_generation(now - path.stat().st_mtime): path for path in others}
            for path in others:
                if path not in oldest.values():
                    path.unlink()

    def _newest_first(self) -> list[Path]:
        """The copies, the one that was taken last first.

        Raises:
            OSError: the system does not allow it.
        """
        if not self._folder.is_dir():
            return []
        found = [path for path in self._folder.iterdir() if epoch_of(path.name) is not None]
        return sorted(found, key=lambda path: (path.stat().st_mtime_ns, path.name), reverse=True)


def _generation(age_s: float) -> int:
    return max(0, int(math.log(max(age_s, REST_MIN_S) / REST_MIN_S, AGES)))


def _called(path: Path) -> tuple[StateName, str] | None:
    """What the state in a file calls itself, and its collaboration; None: it is no state."""
    with path.open("rb") as file:
        head = file.read(HEADER_BYTES_MAX)
    try:
        header = header_of(head)
        return StateName(header.epoch, bytes.fromhex(header.lineage)), header.manifest
    except (WireProblem, ValueError):
        return None
