"""A peer on the network: the machine, the host that runs it, and how it is reached.

The same for volunteer, helper, backbone and benchmark.  A computer that takes part in several collaborations has a
session for each.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import replace
from random import SystemRandom
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

from core.authority.news import AuthorityDecided, AuthorityNews
from core.authority.records import AuthorityRecords
from core.base.ids import Contact, Observed, PeerId, short
from core.base.machine import Lost, Received, Tick, Trace, earliest
from core.base.meter import Meter
from core.base.problems import RemoteProblem
from core.base.wire import Message, MessageCodec
from core.dht.events import Found, Learned
from core.experts.messages import EXPERT_MESSAGES
from core.nat.events import DialEnded, PeerWanted, Way
from core.nat.reachability import OwnReach
from core.nat.traversal import Traversal
from core.net.admission import Admission, HostOwner, LineUse
from core.net.clock import Clock
from core.net.host import Host
from core.net.limits.pace import Pace
from core.net.links.streams import PeerStream
from core.net.router.locator import Locator
from core.net.traverse import Traverser
from core.session.heeding import Heeding
from core.swarm.words.facts import Seeds
from core.swarm.words.messages import EXPERT_FILE_MESSAGES, SHARD_MESSAGES

PASS_RENEW_S: Final = 3 * 3600.0
"""How often a pass is renewed, at the latest: when the last desk goes, most of its four days are left."""

BESIDE_MESSAGES: Final[tuple[type[Message], ...]] = (*SHARD_MESSAGES, *EXPERT_MESSAGES, *EXPERT_FILE_MESSAGES)
"""What the machines beside a participant say to each other."""

_LOG = logging.getLogger(__name__)


class SessionPeer(Protocol):
    """What a session runs: `core.swarm.participant.Participant`, or what a benchmark puts in its place."""

    MESSAGES: ClassVar[tuple[type[Message], ...]]
    """All that it speaks."""

    @property
    def trace(self) -> Trace:
        """Counters of misuse and incidents, to which the host adds those of the network."""

    @property
    def meter(self) -> Meter | None:
        """To be shown how fast bulk moves; None: it does not want to know."""

    @property
    def traversal(self) -> Traversal | None:
        """Asks for sockets where there may be routers; None: nobody has to be found through them."""

    @property
    def deadline(self) -> float | None:
        """When the machine wants its next Tick, unix seconds; None: not before another event."""

    def start(self, contacts: Sequence[Contact], *, host: str, port: int, now: float) -> Sequence[object]:
        """Join the swarm through `contacts`; others reach it at host and port (empty: they observe it)."""

    def handle(self, event: Any, now: float) -> Sequence[object]:
        """An event moves the machine on; the host carries out what it returns."""


class Companion(Protocol):
    """A machine that runs beside a peer's, with the same host and DHT."""

    TAKES: ClassVar[tuple[type, ...]]
    """Classes of messages and events that are for it alone; ticks and lost peers are told to all."""

    @property
    def deadline(self) -> float | None:
        """When it wants its next Tick, Unix seconds; None: not before another event."""

    def start(self, now: float) -> None:
        """The peer joins the swarm now, so others can be told of what is here."""

    def handle(self, event: Any, now: float) -> Sequence[object]:
        """An event moves the machine on; the host carries out what it returns."""

    def found(self, found: Found, now: float) -> Sequence[object] | None:
        """What follows from records that were read; None: this machine has not asked for the key."""


P = TypeVar("P", bound=SessionPeer)


class _Together:
    """Runs several machines as one.

    Args:
        peer: The peer's machine.
        news: Takes its own messages, ticks, and a look at each peer that is seen.
        companions: Run beside both.
    """

    def __init__(self, peer: SessionPeer, news: AuthorityNews, companions: Sequence[Companion]) -> None:
        self._peer = peer
        self._news = news
        self._companions = companions

    @property
    def deadline(self) -> float | None:
        """The earliest deadline of all its machines."""
        return earliest(self._peer.deadline, self._news.deadline, *(one.deadline for one in self._companions))

    def handle(self, event: Any, now: float) -> Sequence[object]:
        """Give each of them what concerns it."""
        told = event.message if isinstance(event, Received) else event
        for companion in self._companions:
            if isinstance(told, companion.TAKES):
                return companion.handle(event, now)
        outputs: list[object] = []
        if isinstance(event, Tick | Lost):
            for companion in self._companions:
                outputs += companion.handle(event, now)
        return [*outputs, *self._handle(event, now)]

    def _handle(self, event: Any, now: float) -> Sequence[object]:
        match event:
            case Received(message=message) if isinstance(message, AuthorityNews.MESSAGES):
                return self._news.handle(event, now)
            case Observed():
                return [*self._news.handle(event, now), *self._peer.handle(event, now)]
            case Tick():
                outputs = list(self._news.handle(event, now))
                deadline = self._peer.deadline
                due = deadline is not None and deadline <= now
                return [*outputs, *(self._peer.handle(event, now) if due else ())]
        return self._peer.handle(event, now)


class Session(Generic[P]):
    """Runs one peer's machine on the network: opens its ports, joins the swarm, renews its pass.

    Args:
        peer: The machine.
        admission: Lets it into the collaboration.
        clock: The process's.
        owner: Takes what the machine reports, except what concerns the network only.
        pace: The volunteer's limits; None: there are none.
        companions: Machines that run beside it.
    """

    def __init__(
        self,
        peer: P,
        *,
        admission: Admission,
        clock: Clock,
        owner: Callable[[Any, float], None],
        pace: Pace | None = None,
        companions: Sequence[Companion] = (),
    ) -> None:
        self.peer = peer
        self._companions = companions
        self._clock = clock
        self._owner = owner
        reaches = peer.traversal is not None
        self.authority = AuthorityRecords(admission.authority_id, admission.manifest_id)
        """What the collaboration's moderators have said."""
        self._news = AuthorityNews(self.authority, random=SystemRandom(), trace=peer.trace)
        self.host = Host(
            _Together(peer, self._news, companions),
            admission=admission,
            codec=MessageCodec((*peer.MESSAGES, *AuthorityNews.MESSAGES, *BESIDE_MESSAGES)),
            clock=clock,
            owner=HostOwner(
                event=self._event,
                trace=peer.trace,
                wanted=self._wanted if reaches else None,
                opened=self._opened if reaches else None,
            ),
            line=LineUse(pace=pace, meter=peer.meter),
        )
        self._heeding = Heeding(self.host, self.authority, renew_soon=self.renew_soon)
        self._traverser = None if peer.traversal is None else Traverser(self.host, peer.traversal, now=clock.now)
        self._records = admission.records
        self._bind = ""
        self._renew_now = asyncio.Event()
        self.locator: Locator | None = None
        """Knows where this computer is; None before `join`, and where nobody has to be found through routers."""

    # --- its life ----------------------------------------------------------------------------------------------------

    async def listen(self, *, bind: str, port: int = 0) -> int:
        """Open the ports; returns the one that it is, for both planes.

        Args:
            bind: An address of this computer; see `Host.start`.
            port: 0 for any that is free.

        Raises:
            Busy: the port is taken.
            BadInput: this computer has no such address.
        """
        self._bind = bind
        port = await self.host.start(bind=bind, port=port)
        self.learn_records(self._records, again=True)
        self._heeding.at_once(self._clock.now())  # they know
        return port

    async def join(
        self,
        contacts: Sequence[Contact],
        *,
        address: str = "",
        public: Iterable[Contact] = (),
        mirrors: bool = False,
    ) -> None:
        """Meet the swarm; `listen` goes before.

        Args:
            contacts: Peers that may be there.
            address: IP address or name that others are told; empty: they observe it.
            public: Peers that strangers can call, the collaboration's own first.
            mirrors: Tell others at a second UDP port too where they are seen.
        """
        for contact in contacts:
            self.host.learn(contact.peer_id, contact.host, contact.port)
        if self._traverser is not None:
            second_port = await self.host.open_second(self._bind) if mirrors else 0
            self.locator = Locator(self.host, bind=self._bind, port=self.host.port, second_port=second_port)
            self.locator.begin(public)
        now = self._clock.now()
        for companion in self._companions:
            companion.start(now)
        self.host.perform(self.peer.start(contacts, host=address, port=self.host.port, now=now))

    async def run(self) -> None:
        """Wait until the session is closed.

        Raises:
            ExceptionGroup: a mistake of ours ended it.
        """
        await self.host.run()

    async def keep_pass(self, renewed: Callable[[], Awaitable[bytes | None]], *, at_once: bool = False) -> None:
        """Renew this peer's pass before it ends, until cancelled.

        With a full disk a new one cannot be shown: then the one before, which holds for days, is until the next time.

        Args:
            renewed: Gets a new pass; None: there is none this time.
            at_once: Get the first one now.
        """
        if at_once:
            self.renew_soon()
        while True:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(PASS_RENEW_S * SystemRandom().uniform(0.5, 1.0)):
                    await self._renew_now.wait()
            self._renew_now.clear()
            try:
                pass_der = await renewed()
                if pass_der is not None:
                    self.host.renew(pass_der)
            except OSError as error:
                _LOG.warning("the new pass is not used: %s", error)

    def renew_soon(self) -> None:
        """Have `keep_pass` renew the pass now: what the backbone says beside it is wanted."""
        self._renew_now.set()

    def meet(self, contacts: Sequence[Contact]) -> None:
        """Look for further peers of the swarm; `join` goes before."""
        for contact in contacts:
            self.host.learn(contact.peer_id, contact.host, contact.port)
        self.deliver(Seeds(tuple(contacts)))

    async def close(self) -> None:
        """Leave: tell the others, give the ports back."""
        await self.host.close()

    # --- for its owner -----------------------------------------------------------------------------------------------

    def deliver(self, event: Any) -> None:
        """Give the machine an event, and perform what follows."""
        self.host.deliver(event)

    def learn_records(self, kept: bytes, *, again: bool = False) -> bool:
        """Take what moderators have said, if it is new, and hand it on; returns whether it is new.

        Args:
            kept: As the backbone gave it, or as a moderator here has signed it; empty: there is nothing.
            again: It was learned before, whatever the clock says now.
        """
        try:
            outputs = self._news.learn(kept, self._clock.now(), again=again)
        except RemoteProblem as problem:
            _LOG.warning("the records of the authority are not taken: %s", problem)
            return False
        self.host.perform(outputs)
        return bool(outputs)

    @property
    def reach(self) -> OwnReach | None:
        """How others can reach this computer; None: all are on it."""
        if self.peer.traversal is None:
            return None
        return replace(self.peer.traversal.reach, has_way=self.locator is None or self.locator.has_way)

    # --- inside ------------------------------------------------------------------------------------------------------

    def _event(self, event: Any, now: float) -> None:
        if self._traverser is not None and self._traverser.perform(event):
            return
        match event:
            case AuthorityDecided():
                for told in self._heeding.decided(event, now):
                    self.deliver(told)
                self._owner(event, now)
            case Found():
                said = next((said for one in self._companions if (said := one.found(event, now)) is not None), None)
                self.host.perform(said) if said is not None else self._owner(event, now)
            case Learned(contact=contact):
                self.host.learn(contact.peer_id, contact.host, contact.port)
            case DialEnded(peer=peer, way=None, reason=reason):
                _LOG.debug("%s not reached: %s", short(peer), reason)
            case DialEnded(peer=peer, way=Way() as way):
                _LOG.info("%s reached by %s", short(peer), way.name.lower())
            case _:
                self._owner(event, now)

    def _wanted(self, peer: PeerId) -> None:
        self.host.deliver(PeerWanted(peer))

    def _opened(self, stream: PeerStream) -> None:
        assert self._traverser is not None
        self._traverser.opened(stream)
