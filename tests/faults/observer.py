"""Observation of one engine from outside: what it says of itself, over all of its runs."""

import asyncio
import contextlib
import ctypes
import os
import threading
import time
from pathlib import Path
from typing import Final

from core.api.snapshot import Notice, Snapshot
from core.api.verdict import VerdictCode
from core.base.problems import Problem
from core.control.client import ControlClient
from core.storage.paths import Home
from tests.process.swarm import alive

CLONE_NEWNET: Final = 0x40000000
"""The kind of namespace, as setns(2) has it."""
LOOK_S: Final = 0.1
"""Between two looks for an engine that does not answer."""


class Observer:
    """Follows the engine of one home, in a thread of its own.

    Args:
        home: The engine's home.
        volunteers: Number of volunteers that the engine has to see before its contributions count as made together.
        namespace: The network namespace in which the engine runs; None: ours.
    """

    def __init__(self, home: Home, *, volunteers: int, namespace: Path | None = None) -> None:
        self._home, self._volunteers, self._namespace = home, volunteers, namespace
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self.last: Snapshot | None = None
        """The newest snapshot of any run."""
        self.acknowledged = 0
        """The newest epoch at which the engine said to contribute."""
        self._contributed: tuple[float, int] = (0.0, 0)
        """When its share of the work last grew while it saw all others, of the steady clock; and by which worker."""
        self.notices: list[str] = []
        self.steps_back: list[tuple[int, int]] = []
        """Epochs to which the engine went back while it contributed, from and to."""
        self._thread.start()

    def contributes(self, since: float) -> bool:
        """Whether it has contributed since a time, with all others, by the worker that it has now."""
        at, worker = self._contributed
        return at > since and alive(worker)

    def close(self) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        if self._namespace is not None:
            _enter(self._namespace)
        asyncio.run(self._follow())

    async def _follow(self) -> None:
        while not self._ended.is_set():
            with contextlib.suppress(Problem, TimeoutError):
                async with ControlClient.connect(self._home) as client:
                    following = asyncio.create_task(self._listen(client))
                    while not self._ended.is_set() and not following.done():
                        await asyncio.wait({following}, timeout=LOOK_S)
                    following.cancel()
                    with contextlib.suppress(asyncio.CancelledError):
                        await following
            await asyncio.sleep(LOOK_S)

    async def _listen(self, client: ControlClient) -> None:
        async for news in client.notifications():
            match news:
                case Notice():
                    self.notices.append(news.text)
                case Snapshot():
                    self._take(news)

    def _take(self, news: Snapshot) -> None:
        before, self.last = self.last, news
        if news.verdict.code is not VerdictCode.CONTRIBUTING:
            return
        if news.epoch < self.acknowledged:
            self.steps_back.append((self.acknowledged, news.epoch))
        self.acknowledged = news.epoch
        worker = news.me.worker_pid
        if before is None or worker is None or (before.pid, before.me.worker_pid) != (news.pid, worker):
            return
        if before.me.epochs < news.me.epochs and news.volunteers == self._volunteers:
            self._contributed = (time.monotonic(), worker)


def _enter(namespace: Path) -> None:
    """Move this thread into a network namespace; os.setns comes with Python 3.12 only."""
    with namespace.open() as file:
        if ctypes.CDLL(None, use_errno=True).setns(file.fileno(), CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
