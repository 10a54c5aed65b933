"""Where the engine of a home answers, and what it means that none does."""

from typing import Final

import msgspec

from core.api import verdict as verdicts
from core.api.commands import ENGINE_FILE_BYTES_MAX, EngineFile, Failure
from core.api.running import living, may_answer
from core.api.snapshot import PROTOCOL_VERSION
from core.base.problems import Problem, UserProblem
from core.storage.paths import Home
from core.system.atomic_files import read_bounded

END_IT: Final = "End it with: potluck quit --now"
"""What to do about an engine that does not answer."""


class NotRunning(UserProblem):
    """There is no running engine to talk to."""

    code = "not_running"


class NoAnswer(UserProblem):
    """An engine, or what holds its port, says nothing."""

    code = "no_answer"


class NoEntry(NoAnswer):
    """An engine refuses who asks: the token is not its own."""

    code = verdicts.NO_ENTRY


def read_engine_file(home: Home) -> EngineFile | None:
    """Find the engine that says to run on this home; None: there is no valid file.

    Raises:
        UserProblem: the system does not allow reading it.
    """
    try:
        data = read_bounded(home.engine_file, ENGINE_FILE_BYTES_MAX)
        return None if data is None else msgspec.json.decode(data, type=EngineFile)
    except ValueError:
        return None


def engine_of(home: Home, *, any_version: bool = False) -> EngineFile:
    """Find the engine to talk to.

    Args:
        home: Its home.
        any_version: For what every version understands: to quit.

    Raises:
        NotRunning: there is none.
        UserProblem: it speaks another protocol.
    """
    file = read_engine_file(home)
    if file is None:
        raise not_running()
    if file.protocol != PROTOCOL_VERSION and not any_version:
        raise UserProblem("The Potluck that runs is of another version.", hint="Stop it with: potluck quit")
    if not may_answer(file):
        raise not_running()
    return file


def not_running() -> NotRunning:
    """Return the problem that nobody answers where an engine should."""
    return NotRunning("Potluck is not running.", hint="Start it with: potluck")


def gone() -> NotRunning:
    """Return the problem that an engine ended meanwhile."""
    return NotRunning("Potluck has stopped.", hint="Start it with: potluck")


def no_answer() -> NoAnswer:
    """Return the problem that an engine says nothing."""
    silent = verdicts.no_answer()
    return NoAnswer("{headline}. {sentence}", verdicts.headline(silent), verdicts.sentence(silent), hint=END_IT)


def refused(file: EngineFile) -> UserProblem:
    """Return the problem that what listens at an engine's port has refused who asks."""
    if living(file) is None:
        return not_running()  # another program has its port now
    return NoEntry(verdicts.sentence(verdicts.no_answer(verdicts.NO_ENTRY)), hint=END_IT)


def crowded() -> UserProblem:
    """Return the problem that an engine takes no more clients."""
    return UserProblem("Too many windows and commands are connected.", hint="Close one of them.")


def problem_of_engine(error: Failure) -> Problem:
    """Return the engine's problem, as if it had been raised here."""
    if error.data is None:
        return UserProblem(error.message)
    problem = UserProblem(error.data.message, hint=error.data.hint, said=error.data.said)
    problem.code = error.data.code
    return problem
