"""The system's lock on a file: one process has it at a time, and it ends with its process, however that ends."""

import asyncio
import contextlib
import os
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

from core.base.problems import Problem, UserProblem
from core.system.atomic_files import PRIVATE_FILE, problem_of

_RETRY_S = 0.05


@contextlib.asynccontextmanager
async def held(path: Path, *, patience_s: float, otherwise: Problem) -> AsyncIterator[None]:
    """Hold the lock on `path`, which is made if it is not there; its holder may delete it.

    Raises:
        Problem: `otherwise`, when another process has held it for all of `patience_s`.
        NoSpace: the disk is full.
        UserProblem: the system does not allow it.
    """
    try:
        async with asyncio.timeout(patience_s):
            while (descriptor := _opened(path)) is None:  # noqa: ASYNC110 - the lock is another process's
                await asyncio.sleep(_RETRY_S)
    except TimeoutError:
        raise otherwise from None
    try:
        with _unlocking(descriptor):
            yield
    finally:
        os.close(descriptor)


def _opened(path: Path) -> int | None:
    """A descriptor that has the lock; None: another one has it, or had it and has deleted the file."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT, PRIVATE_FILE)
    except OSError as error:
        raise problem_of(error, path) from error
    try:
        if _locked(descriptor) and _is_at(descriptor, path):
            return descriptor
    except OSError as error:
        os.close(descriptor)
        hint = "Have Potluck keep its things on a drive of this computer: set POTLUCK_HOME."
        told = "The drive of {folder} gives no locks: {error}."
        raise UserProblem(told, path.parent, error.strerror, hint=hint) from error
    os.close(descriptor)
    return None


def is_held(path: Path) -> bool:
    """Whether a process has the lock on `path`; it is not made."""
    try:
        descriptor = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        if not _locked(descriptor):
            return True
        with _unlocking(descriptor):
            return False
    except OSError:  # a drive without locks
        return False
    finally:
        os.close(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _locked(descriptor: int) -> bool:
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _is_at(descriptor: int, path: Path) -> bool:
        del descriptor, path  # nobody can delete a file here that is open
        return True

    @contextlib.contextmanager
    def _unlocking(descriptor: int) -> Iterator[None]:
        try:
            yield
        finally:
            os.lseek(descriptor, 0, os.SEEK_SET)
            msvcrt.locking(descriptor, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _locked(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except (BlockingIOError, PermissionError):  # the second one from drives of Windows
            return False
        return True

    def _is_at(descriptor: int, path: Path) -> bool:
        try:
            return os.path.samestat(os.fstat(descriptor), path.stat())
        except FileNotFoundError:
            return False

    @contextlib.contextmanager
    def _unlocking(descriptor: int) -> Iterator[None]:
        try:
            yield
        finally:
            fcntl.flock(descriptor, fcntl.LOCK_UN)
