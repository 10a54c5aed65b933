"""Whether the engine of a home lives, what it means that it does not answer, and its end by force.

The engine, the command line and the window ask here, so that all of them say the same.  A process is the engine only
where its number, and its beginning or its port, are those of `engine.json`: numbers of processes are used again.
"""

import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from core.api.commands import ENGINE_FILE_BYTES_MAX, EngineFile
from core.api.places import engine_file
from core.api.verdict import NO_ENTRY

if TYPE_CHECKING:
    import psutil

STARTED_S: Final = 5.0
"""How far apart two readings of a process's beginning may lie: the clock may be set between them."""
KILLED_S: Final = 3.0
"""The longest that the end of killed processes is waited for."""
LOOK_S: Final = 0.05


def read_engine_file(home: Path) -> EngineFile | None:
    """Find the engine that says to run on a home; None: there is no valid file, or it cannot be read."""
    try:
        with engine_file(home).open("rb") as source:
            data = source.read(ENGINE_FILE_BYTES_MAX + 1)
        return msgspec.json.decode(data, type=EngineFile) if len(data) <= ENGINE_FILE_BYTES_MAX else None
    except (OSError, ValueError):
        return None


def why_none_answers(home: Path, *, refused: bool = False) -> str:
    """The reason why the engine of a home does not answer, as `core.api.joined.absence` takes it.

    Args:
        home: The home directory.
        refused: What listens at its port has refused who asks.

    Returns:
        "stopped": none says to run there; "killed": it has ended without a goodbye; "no_answer" or `NO_ENTRY`: its
        process lives.
    """
    file = read_engine_file(home)
    if file is None:
        return "stopped"
    if living(file) is None:
        return "killed"
    return NO_ENTRY if refused else "no_answer"


def living(file: EngineFile) -> "psutil.Process | None":
    """The process of an engine; None: it has ended, and what has its number now, if anything, is another one.

    Args:
        file: What the engine says about itself.
    """
    import psutil  # noqa: PLC0415 - where an engine answers nobody needs it, and commands are to be quick

    try:
        process = psutil.Process(file.pid)
        if process.status() == psutil.STATUS_ZOMBIE:
            return None
        apart_s = process.create_time() - file.started
        return process if abs(apart_s) <= STARTED_S or _listens(process, file.port) else None
    except (psutil.NoSuchProcess, ValueError, OverflowError):
        return None
    except psutil.Error:
        return None  # another person's process has that number, or the system does not tell


def own_sandbox() -> str:
    """The namespace of this process's number, as Linux names it; empty on systems that have one for all."""
    try:
        return str(Path("/proc/self/ns/pid").readlink())
    except OSError:
        return ""


def may_answer(file: EngineFile) -> bool:
    """Whether an engine may be at its port: its process lives, or is of another sandbox, which nobody sees from here.

    Else what listens there now may be another person's, and is not to be told the token.

    Args:
        file: What the engine says about itself.
    """
    return file.sandbox not in {"", own_sandbox()} or living(file) is not None


def end_by_force(home: Path, file: EngineFile) -> bool:
    """End an engine and all that it started, without asking; what was saved last stays.

    An engine of another computer is left alone: none of its processes can be reached from here.

    Args:
        home: Its home, whose `engine.json` goes with it: nobody is to take that for a crash.
        file: What the engine says about itself.

    Returns:
        Whether none of them lives any more.
    """
    import psutil  # noqa: PLC0415 - as above

    if file.far or file.pid == os.getpid():
        return False
    engine = living(file)
    if engine is None:
        return True
    spared = {os.getpid()}
    doomed = [engine]
    with contextlib.suppress(psutil.Error):
        spared |= {parent.pid for parent in psutil.Process().parents()} - {engine.pid}
        doomed += [child for child in engine.children(recursive=True) if child.pid not in spared]
    for process in doomed:
        with contextlib.suppress(psutil.Error):
            process.kill()  # psutil looks first whether the number is still the same process's
    end = time.monotonic() + KILLED_S
    while any(map(_runs, doomed)):
        if time.monotonic() > end:
            return False
        time.sleep(LOOK_S)
    if read_engine_file(home) == file:
        with contextlib.suppress(OSError):
            engine_file(home).unlink()
    return True


def _runs(process: "psutil.Process") -> bool:
    import psutil  # noqa: PLC0415 - as above

    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False


def _listens(process: "psutil.Process", port: int) -> bool:
    """Whether it holds the engine's port: then it is the engine, even if somebody has set the clock since."""
    found = process.net_connections(kind="tcp4")
    return any(one.status == "LISTEN" and one.laddr.port == port for one in found)
