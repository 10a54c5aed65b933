"""`engine.json`: one engine a home.  Made exclusively; a dead engine's is replaced."""

import asyncio
import contextlib
import secrets
from pathlib import Path

import msgspec

from core.api.commands import ENGINE_FILE_BYTES_MAX, EngineFile
from core.api.running import may_answer
from core.base.problems import Busy, UserProblem
from core.control.engine_file import NoAnswer, NoEntry, NotRunning, read_engine_file
from core.control.one_call import call_once
from core.storage.paths import Home
from core.system.atomic_files import make_directory, problem_of, read_bounded, write_new
from core.system.file_lock import held

PROBE_TIMEOUT_S = 5.0
LOCK_TIMEOUT_S = 20.0


class AlreadyRunning(Busy):
    """An engine runs on this home.  `core.control.one_call.call_once` reaches it, say to `show` its window."""

    code = "already_running"


def new_token() -> str:
    """A token that nobody guesses: 256 random bits in letters that a header may carry."""
    return secrets.token_urlsafe(32)


async def claim(home: Home, file: EngineFile) -> None:
    """Write `engine.json`, if no engine runs there.

    Args:
        home: The home that the engine wants for itself.
        file: Address, process and token of the engine.

    Raises:
        AlreadyRunning: one does.
        NoSpace: the disk is full.
        UserProblem: the system does not allow it.
    """
    make_directory(home.directory)
    data = msgspec.json.encode(file)
    async with held(home.claim_file, patience_s=LOCK_TIMEOUT_S, otherwise=_starting()):
        for _attempt in range(2):
            with contextlib.suppress(FileExistsError):
                write_new(home.engine_file, data)
                return
            await _require_dead(home)
            _remove(home.engine_file)
    raise _starting()


def release(home: Home, file: EngineFile) -> None:
    """Remove `engine.json`, if it is still `file`."""
    with contextlib.suppress(OSError, UserProblem, ValueError):
        data = read_bounded(home.engine_file, ENGINE_FILE_BYTES_MAX)
        if data is not None and msgspec.json.decode(data, type=EngineFile) == file:
            home.engine_file.unlink(missing_ok=True)


def _remove(path: Path) -> None:
    try:
        path.unlink(missing_ok=True)
    except OSError as error:
        raise problem_of(error, path) from error


async def _require_dead(home: Home) -> None:
    """Return if the engine of `engine.json` is gone: its process ended, or nothing answers as it would.

    Raises:
        AlreadyRunning: it answers; or its process lives, and does not answer.
    """
    file = read_engine_file(home)
    if file is None or not may_answer(file):
        return
    hint = "Use the window or the command line of the one that runs, or stop it with: potluck quit"
    try:
        await asyncio.to_thread(call_once, home, "settings", timeout_s=PROBE_TIMEOUT_S)
    except (NotRunning, NoEntry):  # or the door is that of another home's engine
        return
    except NoAnswer as problem:
        raise AlreadyRunning(
            "{problem} It is process {pid}.", problem.sentence, file.pid, hint=problem.advice
        ) from None
    except UserProblem as problem:
        raise AlreadyRunning("Potluck is already running. {problem}", problem.sentence, hint=hint) from None
    raise AlreadyRunning("Potluck is already running.", hint=hint)


def _starting() -> AlreadyRunning:
    return AlreadyRunning("Another Potluck is just starting.", hint="Wait a moment.")
