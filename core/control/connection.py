"""One client of the control service: its requests are answered, and unread answers are bounded."""

import asyncio
import logging
from collections import deque

from aiohttp import WSCloseCode, WSMsgType, web

from core.api.commands import ERROR_REQUEST, EngineRequest
from core.api.snapshot import ProblemView
from core.control.handlers import Methods, Refusal, answer, read_request, refused

OUTBOX_MAX = 600
"""Answers and notices that wait for a client; one that lets more wait is dropped."""
CALLS_MAX = 8
"""Number of requests of one client that may be in progress."""
SEND_TIMEOUT_S = 10.0

_LOG = logging.getLogger(__name__)


class Connection:
    """A connected, admitted client.

    Args:
        socket: Its WebSocket, prepared.
        transport: Its TCP connection, to be cut when it does not read.
        methods: Answers its requests.
    """

    def __init__(
        self, socket: web.WebSocketResponse, transport: asyncio.BaseTransport | None, methods: Methods
    ) -> None:
        self._socket = socket
        self._transport = transport
        self._methods = methods
        self.waiting: deque[str] = deque()
        """Answers and notices that the client has not taken yet; at most `OUTBOX_MAX`."""
        self._snapshot: str | None = None
        self._wake = asyncio.Event()
        self._finishing = False
        self._calls = 0

    def offer_snapshot(self, text: str) -> None:
        """Send this snapshot, unless a newer one comes before the client has room."""
        self._snapshot = text
        self._wake.set()

    def send(self, text: str) -> None:
        """Send an answer or a notice; a client with too many waiting is dropped."""
        if len(self.waiting) >= OUTBOX_MAX:
            self._drop("too slow")
            return
        self.waiting.append(text)
        self._wake.set()

    def finish(self) -> None:
        """Send what waits, then say goodbye."""
        self._finishing = True
        self._wake.set()

    async def run(self) -> None:
        """Serve the client until one of both sides ends."""
        async with asyncio.TaskGroup() as group:
            tasks = {group.create_task(self._write())}
            async for frame in self._socket:
                if frame.type in {WSMsgType.TEXT, WSMsgType.BINARY}:
                    text = frame.data if isinstance(frame.data, str) else ""
                    if (task := self._take(text, group)) is not None:
                        tasks.add(task)
                        task.add_done_callback(tasks.discard)
            await asyncio.sleep(0)  # a client that asks and leaves at once is heeded where nothing is waited for
            for task in tuple(tasks):
                task.cancel()

    def _take(self, text: str, group: asyncio.TaskGroup) -> asyncio.Task[None] | None:
        """Begin to answer a client's message."""
        try:
            request = read_request(text)
        except Refusal as refusal:
            self.send(refused(refusal))
            return None
        if self._calls >= CALLS_MAX:
            view = ProblemView("busy", "Too many requests are under way.", "Wait for their answers.")
            self.send(refused(Refusal(ERROR_REQUEST, view, request.id)))
            return None
        self._calls += 1
        return group.create_task(self._answer(request))

    async def _answer(self, request: EngineRequest) -> None:
        try:
            result = await self._methods.call(request)
        except Refusal as refusal:
            text = refused(refusal)
        else:
            text = answer(request.id, result)
        finally:
            self._calls -= 1
        if request.id is not None:
            self.send(text)

    async def _write(self) -> None:
        """Send what waits: answers first, then the newest snapshot."""
        try:
            while True:
                while self.waiting or self._snapshot is not None:
                    await self._send_one()
                if self._finishing:
                    await self._socket.close(code=WSCloseCode.GOING_AWAY, message=b"engine stops")
                    return
                self._wake.clear()
                await self._wake.wait()
        except TimeoutError:
            self._drop("does not read")
        except ConnectionError:
            self._drop("gone")

    async def _send_one(self) -> None:
        if self.waiting:
            text = self.waiting.popleft()
        else:
            text, self._snapshot = self._snapshot or "", None
        async with asyncio.timeout(SEND_TIMEOUT_S):
            await self._socket.send_str(text)

    def _drop(self, why: str) -> None:
        """Cut the connection; `run` then ends."""
        _LOG.info("a client of the control service is dropped: %s", why)
        if isinstance(self._transport, asyncio.WriteTransport):
            self._transport.abort()
