"""The network around this computer: the router, neighbours, and that it may be another network in a moment.

Nothing of it is needed to take part, so whatever fails here is counted, and the rest goes on.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine, Iterable
from random import Random
from typing import Any, Final, Protocol

from core.base.ids import PeerId
from core.base.trace import Trace
from core.nat.card import is_private
from core.nat.messages import Address
from core.net.host import Host
from core.net.interfaces import own_hosts
from core.net.lan import LanDiscovery
from core.net.portmap import Mapped, PortMap, known_searches
from core.schedule.senses.changes import LOOK_S, Change, Changes, sight
from core.schedule.senses.network import sense_network
from core.schedule.senses.sense import NetworkSense

SENSE_S: Final = 60.0
"""How often the system is asked about its network."""
AGAIN_S: Final = 60.0
"""How long to rest after something failed."""

_LOG = logging.getLogger(__name__)


class Reacher(Protocol):
    """Who is told what was found (core.net.outward.Outward)."""

    def moved(self) -> None:
        """The computer has another network."""

    def readdressed(self) -> None:
        """It has other addresses beside, in the same network."""

    def mapped(self, address: Address | None) -> None:
        """The router forwards this address to us; None: none."""


class NetworkMonitor:
    """See the module's docstring.

    Args:
        reacher: See there.
        host: Learns where neighbours are.
        me: Who we are.
        manifest_id: Our collaboration.
        bind: Where we listen.
        port: Ours, for both planes.
        peers: Who is in the swarm now.
        sensed: Told what the system says of its network, each time that it is asked.
        now: Unix seconds.
        random: For ports of the router.
        trace: Counts what fails.
    """

    def __init__(  # noqa: PLR0913 - the composition root names each part once
        self,
        *,
        reacher: Reacher,
        host: Host,
        me: PeerId,
        manifest_id: bytes,
        bind: str,
        port: int,
        peers: Callable[[], Iterable[PeerId]],
        sensed: Callable[[NetworkSense], None],
        now: Callable[[], float],
        random: Random,
        trace: Trace,
    ) -> None:
        self._reacher, self._host, self._bind = reacher, host, bind
        self._peers, self._sensed, self._now, self._trace = peers, sensed, now, trace
        self._network = NetworkSense()
        self._sensed_at = 0.0
        self._near: dict[PeerId, tuple[tuple[str, int], ...]] = {}
        own = own_hosts(bind)
        self._lan = LanDiscovery(
            me=me,
            manifest_id=manifest_id,
            port=port,
            changed=self.meet_neighbours,
            trace=trace,
            interfaces=own if bind in own else None,
        )
        searches = known_searches(gateway=lambda: self._network.gateway, own_host=self._inside)
        self._ports = PortMap(port, searches=searches, random=random, tell=self._mapped)

    async def run(self) -> None:
        """Until cancelled; then the router gets its port back, and neighbours a goodbye."""
        await self._soft("senses", self._sense, again=False)
        changes = Changes()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._soft("watch", lambda: self._watch(changes)))
            group.create_task(self._soft("ports", self._ports.run))
            group.create_task(self._soft("lan", self._lan.run))

    def meet_neighbours(self) -> None:
        """Peers of the swarm that are in our own network are called there."""
        near = {peer: found for peer in self._peers() if (found := self._lan.addresses(peer))}
        for peer, found in near.items():
            if self._near.get(peer) != found:
                for host, port in found:
                    self._host.learn(peer, host, port)
                if self._host.links.best(peer) is not None:
                    self._host.improve(peer)
        self._near = near

    # --- inside ------------------------------------------------------------------------------------------------------

    async def _soft(self, name: str, begin: Callable[[], Coroutine[Any, Any, None]], *, again: bool = True) -> None:
        """What fails is begun again after a rest: a computer that wakes up may have no network for a moment."""
        while True:
            try:
                return await begin()
            except Exception:  # noqa: BLE001 - other people's libraries and systems; none of it may end the engine
                self._trace.mark(f"surroundings.{name}.failed")
                _LOG.exception("what watches the %s has failed", name)
            if not again:
                return None
            await asyncio.sleep(AGAIN_S)

    async def _watch(self, changes: Changes) -> None:
        while True:
            match changes.look(sight(), self._now()):
                case Change.MOVED:
                    _LOG.info("this computer's network is another one now")
                    await self._sense()
                    self._reacher.moved()
                    self._lan.network_changed()
                    self._ports.network_changed()
                case Change.ADDRESSES:
                    self._reacher.readdressed()
            if self._now() >= self._sensed_at + SENSE_S:
                await self._sense()
            self.meet_neighbours()
            await asyncio.sleep(LOOK_S)

    async def _sense(self) -> None:
        self._sensed_at = self._now()
        self._network = await sense_network()
        self._sensed(self._network)

    def _mapped(self, mapped: Mapped | None) -> None:
        if mapped is not None:
            _LOG.info("the router forwards port %d to us (%s)", mapped.port, mapped.method)
        self._reacher.mapped(Address(mapped.host, mapped.port) if mapped is not None and mapped.public else None)

    def _inside(self) -> str | None:
        """Our address towards the router, if it is one that a router would have given us."""
        gateway = self._network.gateway
        if gateway is None:
            return None
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((gateway, 9))  # sends nothing
            except OSError:
                return None
            host = str(probe.getsockname()[0])
        return host if is_private(host) else None
