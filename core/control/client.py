"""A client of a running engine, for the command line."""

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncIterator, Mapping
from http import HTTPStatus
from types import MappingProxyType
from typing import Any

import msgspec
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from core.api.commands import ENGINE_MESSAGE_BYTES_MAX, EngineFile, EngineMessage
from core.api.settings import PortTest, SettingsView, Wish
from core.api.snapshot import Notice, Snapshot
from core.control.engine_file import crowded, engine_of, gone, no_answer, not_running, problem_of_engine, refused
from core.storage.paths import Home

NOTICES_HELD = 500
CONNECT_TIMEOUT_S = 5.0
CALL_TIMEOUT_S = 60.0
CLOSE_TIMEOUT_S = 2.0


class Shown(msgspec.Struct, frozen=True):
    """Somebody asked for the window to come to the front."""


Notification = Snapshot | Notice | Shown


class ControlClient:
    """A connection to the engine of one home.  Made by `connect`."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket = socket
        self._number = 0
        self._waiting: dict[int, asyncio.Future[EngineMessage]] = {}
        self._snapshot: Snapshot | None = None
        self._others: deque[Notice | Shown] = deque(maxlen=NOTICES_HELD)
        self._arrived = asyncio.Event()
        self._closed = False

    @classmethod
    @contextlib.asynccontextmanager
    async def connect(cls, home: Home) -> AsyncIterator["ControlClient"]:
        """Reach the engine that runs on `home`, for the length of an `async with`.

        Args:
            home: The home in which `engine.json` tells the engine's address.

        Raises:
            NotRunning: there is none.
            UserProblem: it speaks another protocol, or refuses this client.
            NoAnswer: it says nothing.
        """
        client = cls(await _open(engine_of(home)))
        reader = asyncio.create_task(client._read())
        try:
            yield client
        finally:
            reader.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await reader
            await client._socket.close()

    async def call(self, method: str, **params: float | str | bool) -> Any:
        """Ask for something.

        Args:
            method: Name of the request, as in `core.api.commands`.
            params: Parameters of the request.

        Returns:
            The answer: what JSON holds, as dict, list, str, int, float, bool or None.

        Raises:
            Problem: the engine's, with its code, message and hint; or the engine is gone, or does not answer in time.
        """
        return msgspec.json.decode((await self._ask(method, params)).result)

    async def snapshot(self) -> Snapshot:
        """Ask for the engine's whole present state."""
        return msgspec.json.decode((await self._ask("snapshot")).result, type=Snapshot)

    async def settings(self, wish: Wish | None = None) -> SettingsView:
        """Ask for the person's network settings, after the wish is fulfilled, if there is one.

        Raises:
            Problem: the wish cannot be fulfilled; nothing has changed.
        """
        message = await (self._ask("configure", wish) if wish else self._ask("settings"))
        return msgspec.json.decode(message.result, type=SettingsView)

    async def test_port(self) -> PortTest:
        """Have others call the engine's computer, which takes some seconds."""
        return msgspec.json.decode((await self._ask("test_port")).result, type=PortTest)

    async def notices(self) -> list[Notice]:
        """All notices that the engine has kept, the oldest first."""
        return msgspec.json.decode((await self._ask("notices", {"since": 0})).result, type=list[Notice])

    async def notifications(self) -> AsyncIterator[Notification]:
        """Snapshots and notices of the engine, until the connection ends.

        Only the newest snapshot is kept while nobody asks, and the newest few hundred notices.
        """
        while True:
            while self._others:
                yield self._others.popleft()
            if self._snapshot is not None:
                snapshot, self._snapshot = self._snapshot, None
                yield snapshot
                continue
            if self._closed:
                return
            self._arrived.clear()
            await self._arrived.wait()

    async def _ask(self, method: str, params: Mapping[str, object] = MappingProxyType({})) -> EngineMessage:
        if self._closed:
            raise gone()
        self._number += 1
        number = self._number
        future: asyncio.Future[EngineMessage] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        request = {"jsonrpc": "2.0", "id": number, "method": method, "params": dict(params)}
        try:
            async with asyncio.timeout(CALL_TIMEOUT_S):
                await self._socket.send(msgspec.json.encode(request).decode())
                message = await future
        except TimeoutError:
            raise no_answer() from None
        except (ConnectionError, ConnectionClosed):
            raise gone() from None
        finally:
            self._waiting.pop(number, None)
        if message.error is not None:
            raise problem_of_engine(message.error)
        return message

    async def _read(self) -> None:
        """Sort what arrives, until the connection ends."""
        try:
            with contextlib.suppress(ConnectionClosed):
                async for frame in self._socket:
                    self._take(msgspec.json.decode(frame, type=EngineMessage))
        finally:
            self._closed = True
            self._arrived.set()
            for future in self._waiting.values():
                if not future.done():
                    future.set_exception(gone())

    def _take(self, message: EngineMessage) -> None:
        match message.method:
            case None:
                future = self._waiting.get(message.id or 0)
                if future is not None and not future.done():
                    future.set_result(message)
                return
            case "snapshot":
                self._snapshot = msgspec.json.decode(message.params, type=Snapshot)
            case "notice":
                self._others.append(msgspec.json.decode(message.params, type=Notice))
            case "show":
                self._others.append(Shown())
        self._arrived.set()


async def _open(file: EngineFile) -> ClientConnection:
    try:
        return await connect(
            f"ws://127.0.0.1:{file.port}/control",
            additional_headers={"Authorization": f"Bearer {file.token}"},
            open_timeout=CONNECT_TIMEOUT_S,
            close_timeout=CLOSE_TIMEOUT_S,
            max_size=ENGINE_MESSAGE_BYTES_MAX,
            compression=None,
            proxy=None,
        )
    except InvalidStatus as error:
        if error.response.status_code == HTTPStatus.SERVICE_UNAVAILABLE:
            raise crowded() from None
        raise refused(file) from None
    except TimeoutError:
        raise no_answer() from None
    except (InvalidHandshake, OSError):
        raise not_running() from None
