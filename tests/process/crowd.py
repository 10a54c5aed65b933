"""Many who join a real backbone at once, each from an address of its own, and note what was acknowledged."""

import asyncio
import ssl
from dataclasses import dataclass, field
from itertools import count

import aiohttp
import msgspec

from core.backbone.desk_messages import GRANTS, PassGrant, PassRequest
from core.backbone.link import Link, parse_link
from core.base.signing import KeyPair
from core.base.wire import PROTOCOL
from core.net.identity.passes import pass_request


def careless() -> ssl.SSLContext:
    """TLS without a look at who answers: the desk is not what is tried here."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@dataclass
class Crowd:
    """Newcomers with the names that a backbone has acknowledged."""

    link: Link
    numbers: count = field(default_factory=count)
    acknowledged: dict[str, KeyPair] = field(default_factory=dict)
    refused: list[str] = field(default_factory=list)
    more: asyncio.Condition = field(default_factory=asyncio.Condition)

    @classmethod
    def at(cls, link: str) -> "Crowd":
        return cls(parse_link(link))

    async def join_one(self) -> None:
        """Join as somebody new; an answer that does not come in whole was not given."""
        number, key = next(self.numbers), KeyPair.generate()
        name = f"newcomer {number}"
        if (await self.ask(key, name, self.link.invite, number)) is not None:
            self.acknowledged[name] = key
            async with self.more:
                self.more.notify_all()

    async def has(self, number: int) -> None:
        """Return as soon as so many were let in."""
        async with self.more:
            await self.more.wait_for(lambda: len(self.acknowledged) >= number)

    async def ask(self, key: KeyPair, name: str, invite: str, number: int) -> PassGrant | None:
        """A pass, or None with the reason among those refused."""
        asked = PassRequest(invite, pass_request(key), name, "", PROTOCOL)
        address = f"127.{1 + number // 62_500 % 200}.{1 + number // 250 % 250}.{1 + number % 250}"
        connector = aiohttp.TCPConnector(ssl=careless(), local_addr=(address, 0), force_close=True)
        try:
            async with (
                aiohttp.ClientSession(connector=connector, timeout=aiohttp.ClientTimeout(20)) as session,
                session.post(
                    f"https://{self.link.host}:{self.link.port}/v1/pass", data=msgspec.json.encode(asked)
                ) as answer,
            ):
                body = await answer.read()
                if answer.status != 200:
                    self.refused.append(body.decode())
                    return None
                return GRANTS.decode(body)
        except (aiohttp.ClientError, TimeoutError, OSError) as error:
            self.refused.append(repr(error))
            return None
