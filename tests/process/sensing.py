"""The real process of the senses, and what it tells."""

import asyncio
import contextlib
import os
import time
from random import Random

import pytest

from core.schedule.senses.child import SensesChild

PATIENCE_S = 30.0
"""Bounds a failure only: other tests compute on the same cores."""


class Senses:
    """A child, and what it tells."""

    def __init__(self, child):
        self.child = child
        self.told = asyncio.Queue()
        self.unfollow = child.follow(lambda sensed: self.told.put_nowait((sensed, time.monotonic())))

    async def until(self, that):
        """The next finding for which `that` holds, and when it came."""
        async with asyncio.timeout(PATIENCE_S):
            while not that((found := await self.told.get())[0]):
                pass
        return found


@contextlib.asynccontextmanager
async def senses(tmp_path, environ, command=None, **settings):
    with pytest.MonkeyPatch.context() as patch:
        for name in {*os.environ, *environ}:
            patch.delenv(name, raising=False)
        for name, value in environ.items():
            patch.setenv(name, value)
        child = SensesChild(tmp_path / "senses.log", Random(0), command, **settings)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(child.run())
            yield Senses(child)
            task.cancel()


def without_screen():
    hidden = {"DISPLAY", "WAYLAND_DISPLAY", "DBUS_SESSION_BUS_ADDRESS", "XDG_RUNTIME_DIR"}
    return {name: value for name, value in os.environ.items() if name not in hidden}
