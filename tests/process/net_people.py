"""A host with a machine that notes everything; run as a program, it is a peer in a process of its own.

python -m tests.process.net_people NAME     prints its port, then runs until stdin closes
"""

import asyncio
import sys
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import wraps
from typing import Annotated, Any, ClassVar, Self

from msgspec import Meta

from core.backbone.authority import Authority
from core.base.ids import Observed, PeerId, hashed_key
from core.base.machine import Lost, Received, Send, Tick, Trace
from core.base.meter import Meter
from core.base.signing import KeyPair
from core.base.wire import Message, MessageCodec, Plane
from core.nat.messages import NAT_MESSAGES
from core.net.admission import Admission, HostOwner, LineUse
from core.net.clock import Clock
from core.net.host import Host
from core.net.identity.passes import pass_request
from core.net.limits.pace import Pace

RUN = hashed_key(b"process tests")


class Say(Message, frozen=True, tag="test.say"):
    text: Annotated[str, Meta(max_length=1000)]


class Load(Message, frozen=True, tag="test.load"):
    bulk: ClassVar[bool] = True

    data: memoryview


class Beside(Load, frozen=True, tag="test.beside"):
    beside: ClassVar[bool] = True


class Ask(Message, frozen=True, tag="test.ask"):
    plane: ClassVar[Plane] = "datagram"

    text: Annotated[str, Meta(max_length=1000)]


class Answer(Message, frozen=True, tag="test.answer"):
    plane: ClassVar[Plane] = "datagram"

    text: Annotated[str, Meta(max_length=1000)]


CODEC = MessageCodec([Say, Load, Beside, Ask, Answer, *NAT_MESSAGES])


def keys(name: str) -> KeyPair:
    return KeyPair(hashed_key(b"process test key", name.encode()))


def id_of(name: str) -> PeerId:
    return keys(name).peer_id


AUTHORITY = Authority(keys("authority"), RUN)


def admission_of(name: str, *, now: float, authority: Authority = AUTHORITY) -> Admission:
    """What lets a peer of that name in."""
    own = keys(name)
    pass_der = authority.issue(pass_request(own), username=name, device="", now=now)
    return Admission(keys=own, pass_der=pass_der, authority_id=authority.id, manifest_id=RUN)


class Notebook:
    """A machine: notes what it is told, answers an Ask with an Answer, and a Say that ends in "?" with a Say."""

    def __init__(self) -> None:
        self.heard: list[tuple[PeerId, Message]] = []
        self.lost: list[Lost] = []
        self.observed: list[Observed] = []
        self.ticks: list[float] = []
        self.deadline: float | None = None
        self.changed = asyncio.Event()

    def handle(self, event: Any, now: float) -> list[Any]:
        self.changed.set()
        if isinstance(event, Received) and event.message in [Say("fail"), Ask("fail")]:
            raise ZeroDivisionError("our own mistake")
        match event:
            case Received(sender=sender, message=Ask(text=text)):
                self.heard.append((sender, event.message))
                return [Send(sender, Answer(text))]
            case Received(sender=sender, message=Say(text=text)) if text.endswith("?"):
                return [Send(sender, Say(text[:-1] + "!"))]
            case Received(sender=sender, message=message):
                self.heard.append((sender, message))
            case Lost():
                self.lost.append(event)
            case Observed():
                self.observed.append(event)
            case Tick():
                self.ticks.append(now)
                self.deadline = None
        return []

    async def until(self, condition: Callable[["Notebook"], Any]) -> None:
        async with asyncio.timeout(20):
            while not condition(self):
                self.changed.clear()
                await self.changed.wait()


class Peer:
    """A host, its machine and its trace."""

    def __init__(
        self,
        name: str,
        *,
        authority: Authority = AUTHORITY,
        age_s: float = 0.0,
        bind: str = "127.0.0.1",
        clock: Clock | None = None,
        pace: Pace | None = None,
        meter: Meter | None = None,
        **told: Any,
    ) -> None:
        self.name, self.id, self.bind = name, id_of(name), bind
        self.book, self.trace, self.clock = Notebook(), Trace(), clock or Clock()
        self.events: list[Any] = []
        self.host = Host(
            self.book,
            admission=admission_of(name, now=self.clock.now() - age_s, authority=authority),
            codec=CODEC,
            clock=self.clock,
            owner=HostOwner(trace=self.trace, event=lambda event, _: self.events.append(event), **told),
            line=LineUse(pace=pace, meter=meter),
        )
        self.port = 0

    async def __aenter__(self) -> Self:
        self.port = await self.host.start(bind=self.bind)
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.host.close()

    def say(self, to: "Peer | PeerId", message: Message) -> None:
        self.host.perform([Send(to.id if isinstance(to, Peer) else to, message)])

    def knows(self, other: "Peer", *, at: str = "127.0.0.1") -> None:
        self.host.learn(other.id, at, other.port)

    async def ask(self, other: "Peer", text: str) -> None:
        """Say something that ends in "?", and wait for an answer."""
        count = len(self.book.heard)
        self.say(other, Say(text))
        await self.book.until(lambda book: len(book.heard) > count)

    def texts(self) -> list[str]:
        return [message.text for _, message in self.book.heard if isinstance(message, Say | Ask | Answer)]


@asynccontextmanager
async def acquainted() -> AsyncIterator[tuple[Peer, Peer]]:
    """Anna and ben, whose address she knows."""
    async with Peer("anna") as anna, Peer("ben") as ben:
        anna.knows(ben)
        yield anna, ben


def in_loop(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        asyncio.run(test(*args, **kwargs))

    return run


async def eventually(condition: Callable[[], Any]) -> None:
    """For what no machine hears of."""
    async with asyncio.timeout(60):
        while not condition():  # noqa: ASYNC110 - a look in each turn of the loop; there is no event to wait for
            await asyncio.sleep(0)


async def _main(name: str) -> None:
    async with Peer(name) as peer:
        sys.stdout.write(f"{peer.port}\n")
        sys.stdout.flush()
        await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)


if __name__ == "__main__":
    asyncio.run(_main(sys.argv[1]))
