"""The desk that the reader of data asks (`core.base.data_desk`): may it use the network, does a peer have a shard.

The reader's traffic counts like that of the swarm: the same limit of the download, the same month, the same times in
which the network rests (`core.net.limits.pace`).  So a person's limits hold for all of Potluck together.
"""

import asyncio
import hmac
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Protocol, TypeVar

import msgspec
from aiohttp import web

from core.base.data_desk import ASKED_BYTES_MAX, AllowAnswer, AllowAsk, KeptAnswer, KeptAsk, NextAnswer, NextAsk
from core.base.ids import PeerId
from core.base.problems import WireProblem
from core.base.wire import Schema
from core.net.addresses.interfaces import LOOPBACK
from core.net.limits.pace import Pace
from core.session.session import Companion

TOKEN_BYTES: Final = 32
ALLOW_S: Final = 10.0
"""A question whose bytes are not all allowed by then is answered with what is left of them."""

Asked = TypeVar("Asked", AllowAsk, NextAsk, KeptAsk)
_ALLOW: Final = Schema(AllowAsk, named="a question for bytes", bytes_max=1024, form="json")
_NEXT: Final = Schema(NextAsk, named="a question for a shard", bytes_max=ASKED_BYTES_MAX, form="json")
_KEPT: Final = Schema(KeptAsk, named="a shard that was kept", bytes_max=32 * 1024, form="json")


@dataclass(frozen=True, slots=True)
class ShardTally:
    """What a computer shares of a collaboration's data."""

    stored_bytes: int = 0
    """Bytes of the shards that lie here, for others too."""
    given_bytes: int = 0
    """Bytes of shards sent to others in this run."""


class ShardSource(Protocol):
    """Knows which shards lie on this computer, and has others brought."""

    @property
    def companions(self) -> Sequence[Companion]:
        """The machine that shares them, if anything is shared."""

    def take(self, event: object) -> bool:
        """Take in what the machine reports; False: it is not about shards."""

    @property
    def tally(self) -> ShardTally:
        """What is shared at this moment."""

    def credits(self, peers: Iterable[PeerId], now: float) -> Mapping[PeerId, int]:
        """Bytes of shards that these have given to others today, as these say and as can be true."""

    async def next(self, ask: NextAsk) -> NextAnswer:
        """Which shard to read; waits no longer than the question says."""

    async def keep(self, ask: KeptAsk) -> bool:
        """Keep a copy for others; False: there is no room, or it is not the shard."""


class OriginOnly:
    """Answers for a collaboration whose shards are not shared: all of them come from the origin."""

    companions: Sequence[Companion] = ()
    tally = ShardTally()

    def credits(self, peers: Iterable[PeerId], now: float) -> Mapping[PeerId, int]:
        """Nobody has given anything to anybody."""
        del peers, now
        return {}

    def take(self, event: object) -> bool:
        """There is no machine that would report anything."""
        del event
        return False

    async def next(self, ask: NextAsk) -> NextAnswer:
        """The reader's first choice, at the origin."""
        return NextAnswer(ask.wanted[0])

    async def keep(self, ask: KeptAsk) -> bool:
        """There is nobody to keep it for."""
        del ask
        return False


class DataDesk:
    """Answers the reader of data over HTTP: whether it may use the network, and where a shard is.

    Args:
        pace: The person's limits.
        shards: What peers share.
    """

    def __init__(self, pace: Pace, shards: ShardSource) -> None:
        self._pace = pace
        self._shards = shards
        self.token = secrets.token_urlsafe(TOKEN_BYTES)
        """Another one at each start."""
        self.url = ""
        """Where it answers; empty until `open`."""
        self._runner: web.AppRunner | None = None

    async def open(self) -> None:
        """Listen at any free port of this computer."""
        app = web.Application(client_max_size=ASKED_BYTES_MAX)
        app.add_routes(
            [
                web.post("/v1/allow", self._allow),
                web.post("/v1/next", self._next),
                web.post("/v1/kept", self._keep),
            ]
        )
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=0.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, LOOPBACK, 0)
        await site.start()
        port: int = self._runner.addresses[0][1]
        self.url = f"http://{LOOPBACK}:{port}"

    async def close(self) -> None:
        """Stop listening; one that never listened may be closed as well."""
        if self._runner is not None:
            await self._runner.cleanup()

    # --- inside ------------------------------------------------------------------------------------------------------

    async def _read(self, request: web.Request, schema: Schema[Asked]) -> Asked:
        told = request.headers.get("Authorization", "").encode()
        if not hmac.compare_digest(told, f"Bearer {self.token}".encode()):
            raise web.HTTPUnauthorized
        try:
            return schema.decode(await request.read())
        except WireProblem as problem:
            raise web.HTTPBadRequest(text=str(problem)) from problem

    async def _allow(self, request: web.Request) -> web.Response:
        ask = await self._read(request, _ALLOW)
        return _answer(await self.allow(ask.bytes))

    async def _next(self, request: web.Request) -> web.Response:
        return _answer(await self._shards.next(await self._read(request, _NEXT)))

    async def _keep(self, request: web.Request) -> web.Response:
        return _answer(KeptAnswer(await self._shards.keep(await self._read(request, _KEPT))))

    async def allow(self, count: int) -> AllowAnswer:
        """Wait until bytes may be read from the network, no longer than `ALLOW_S`; those that may are counted.

        Bytes pass in small turns, as those of the swarm do, so that a slow line stays open for what cannot wait.

        Args:
            count: Number of bytes.
        """
        loop = asyncio.get_running_loop()
        turn, ends_at = asyncio.Event(), loop.time() + ALLOW_S
        flow = self._pace.download.flow(turn.set)
        try:
            while count and self._pace.hindrance is None:
                turn.clear()
                room = min(flow.room(loop.time()), count)
                if room:
                    flow.spent(room, loop.time())
                    count -= room
                    continue
                async with asyncio.timeout_at(ends_at):
                    await turn.wait()
        except TimeoutError:
            pass
        finally:
            flow.leave()
        return AllowAnswer(count, (self._pace.hindrance or "") if count else "")


def _answer(value: msgspec.Struct) -> web.Response:
    return web.Response(body=msgspec.json.encode(value), content_type="application/json")
