"""The system's lock on a file, on a drive that gives none."""

import asyncio
import errno
import os

import pytest

from core.base.problems import Busy, UserProblem
from core.system import file_lock

pytestmark = pytest.mark.skipif(os.name == "nt", reason="a drive of Linux and macOS")


def test_drive_without_locks_is_told(tmp_path, monkeypatch):
    """Some network drives answer each lock like this (flock(2))."""

    def refuse(descriptor: int, how: int) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    async def take() -> None:
        async with file_lock.held(tmp_path / "lock", patience_s=5, otherwise=Busy("Another one runs.")):
            raise AssertionError

    monkeypatch.setattr("fcntl.flock", refuse)
    with pytest.raises(UserProblem, match=r"gives no locks: No locks available") as told:
        asyncio.run(take())
    assert not isinstance(told.value, Busy)
    assert "POTLUCK_HOME" in told.value.hint
    assert not file_lock.is_held(tmp_path / "lock")
