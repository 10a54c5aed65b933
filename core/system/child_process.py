"""What every process that this program starts of itself needs: its command, an end, and a log that stays small."""

import contextlib
import importlib.util
import os
import sys
import threading
from pathlib import Path
from typing import BinaryIO, Final

from core.base.problems import NoTrainingPart
from core.system.atomic_files import problem_of

LOG_BYTES_MAX: Final = 4 * 1024 * 1024
"""Upper bound on a log before it is begun anew, bytes; the one before it is kept."""

_TRAINS: Final = ("core.training", "core.tasks", "core.text.sources.hub_split")


def trains() -> bool:
    """Whether torch is here, for processes that this one starts: this one does not import it."""
    return importlib.util.find_spec("torch") is not None


def own_command(frozen: str = "", module: str = "core") -> list[str]:
    """Return the command that starts another part of this program, from a checkout or frozen into one executable.

    Args:
        frozen: First word for the executable; empty: `potluck` itself.
        module: What Python runs in a checkout.

    Raises:
        NoTrainingPart: it needs the training part, which is not here.
    """
    if module.startswith(_TRAINS) and not trains():
        raise NoTrainingPart
    if getattr(sys, "frozen", False):
        return [sys.executable, *([frozen] if frozen else [])]
    return [sys.executable, "-m", module]


def installed_command() -> list[str]:
    """Return the command by which the system starts Potluck: a package's launcher outlives its updates."""
    launcher = os.environ.get("POTLUCK_LAUNCHER", "")
    return [launcher] if launcher else own_command()


def end_with_parent() -> None:
    """From now on the end of standard input ends this process, whatever it is doing."""

    def watch() -> None:
        with contextlib.suppress(OSError):
            while os.read(0, 4096):
                pass
        os._exit(0)

    threading.Thread(target=watch, name="parent watch", daemon=True).start()


def open_log(path: Path) -> BinaryIO:
    """Open a log to append to, begun anew when it has grown beyond `LOG_BYTES_MAX`.

    Raises:
        NoSpace: the disk is full.
        UserProblem: the system does not allow it.
    """
    try:
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_size > LOG_BYTES_MAX:
                path.replace(path.with_suffix(".old.log"))
        return path.open("ab")
    except OSError as error:
        raise problem_of(error, path) from error
