"""The control service of an engine: a loopback socket, and `engine.json` that says where it is."""

import asyncio
import logging
import os
from collections.abc import Callable

import psutil
from aiohttp import web

from core.api.commands import EngineFile
from core.api.running import own_sandbox
from core.api.snapshot import COUNTERS_S, PROTOCOL_VERSION, Notice, Snapshot
from core.control.claim import claim, new_token, release
from core.control.connection import Connection
from core.control.handlers import Methods, notification
from core.control.intents import Intents
from core.control.notices import NoticeRing
from core.control.server import GOODBYE_S, Server
from core.storage.paths import Home

_LOG = logging.getLogger(__name__)


INTERVAL_S = 0.25


class Announcer:
    """Calls `publish` once for many marks.

    Args:
        publish: Sends the whole snapshot.  Called from the loop, never from within `mark`.
        later: Calls a function after a delay in seconds (`loop.call_later`).
        now: The clock of `later`, in seconds (`loop.time`).
        interval_s: Least time between two calls of `publish`.
    """

    def __init__(
        self,
        publish: Callable[[], None],
        *,
        later: Callable[[float, Callable[[], None]], object],
        now: Callable[[], float],
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._publish = publish
        self._later = later
        self._now = now
        self._interval_s = interval_s
        self._next = now()
        self._pending = False

    def mark(self) -> None:
        """Note a change, to be published soon."""
        if self._pending:
            return
        self._pending = True
        self._later(max(0.0, self._next - self._now()), self._fire)

    def _fire(self) -> None:
        self._pending = False
        self._next = self._now() + self._interval_s
        self._publish()


class ControlService:
    """Lets clients of this computer see and steer an engine.

    Args:
        home: Home whose `engine.json` is written.
        intents: The engine.
        notices: Sent to every client as they come.
        interval_s: Least time between two snapshots.
    """

    def __init__(
        self,
        *,
        home: Home,
        intents: Intents,
        notices: NoticeRing,
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._home = home
        self._intents = intents
        self._interval_s = interval_s
        self.connections: set[Connection] = set()
        self._methods = Methods(intents, notices, self._show)
        self._token = new_token()
        self._server = Server(self._token, self._serve, self._methods.answered)
        self._file: EngineFile | None = None
        self._announcer: Announcer | None = None
        self._published: Snapshot | None = None
        self._published_at = 0.0
        self._empty = asyncio.Event()
        notices.listen(self._notice)

    async def open(self) -> None:
        """Listen, and claim the home.

        Raises:
            AlreadyRunning: an engine runs on this home.
            NoSpace: the disk is full.
            UserProblem: the system does not allow it.
        """
        loop = asyncio.get_running_loop()
        self._announcer = Announcer(self._publish, later=loop.call_later, now=loop.time, interval_s=self._interval_s)
        await self._server.open()
        file = EngineFile(
            pid=os.getpid(),
            port=self._server.port,
            token=self._token,
            protocol=PROTOCOL_VERSION,
            started=psutil.Process().create_time(),
            sandbox=own_sandbox(),
        )
        try:
            await claim(self._home, file)
        except BaseException:
            await self._server.close()
            raise
        self._file = file

    def announce(self) -> None:
        """Something changed: the clients get a new snapshot soon.  Cheap, however often it is called."""
        if self.connections and self._announcer is not None:
            self._announcer.mark()

    async def close(self) -> None:
        """Say goodbye to the clients, stop listening, and remove `engine.json` if this engine wrote it."""
        if self._file is not None:
            release(self._home, self._file)
            self._file = None
        for connection in self.connections:
            connection.finish()
        if self.connections:
            self._empty.clear()
            try:
                async with asyncio.timeout(2 * GOODBYE_S):
                    await self._empty.wait()
            except TimeoutError:
                _LOG.info("%d clients did not say goodbye", len(self.connections))
        await self._server.close()

    async def _serve(self, socket: web.WebSocketResponse, transport: asyncio.BaseTransport | None) -> None:
        connection = Connection(socket, transport, self._methods)
        connection.offer_snapshot(notification("snapshot", self._intents.snapshot()))
        self.connections.add(connection)
        try:
            await connection.run()
        finally:
            self.connections.discard(connection)
            if not self.connections:
                self._empty.set()

    def _publish(self) -> None:
        snapshot = self._intents.snapshot()
        if snapshot.says_the_same(self._published) and snapshot.time - self._published_at < COUNTERS_S:
            return
        self._published, self._published_at = snapshot, snapshot.time
        text = notification("snapshot", snapshot)
        for connection in self.connections:
            connection.offer_snapshot(text)

    def _notice(self, notice: Notice) -> None:
        self._tell(notification("notice", notice))
        self.announce()

    def _show(self) -> int:
        return self._tell(notification("show", {}))

    def _tell(self, text: str) -> int:
        """Send to every client; returns how many there are."""
        for connection in tuple(self.connections):
            connection.send(text)
        return len(self.connections)
