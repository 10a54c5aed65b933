"""The network around this computer: the router, neighbours, and that it may be another network in a moment.

Nothing of it is needed to take part, so whatever fails here is counted, and the rest goes on.
"""

import asyncio
import logging
import socket
from collections.abc import Callable, Coroutine, Iterable
from random import SystemRandom
from typing import Any, Final

from core.base.ids import PeerId
from core.base.machine import Trace
from core.engine.installation import Installation
from core.nat.messages import Address
from core.nat.peer_record import is_private
from core.net.addresses.interfaces import own_hosts
from core.net.host import Host
from core.net.router.lan import LanDiscovery
from core.net.router.locator import Locator
from core.net.router.portmap import Mapped, PortMap, known_searches
from core.schedule.senses.changes import LOOK_S, Change, Changes, sight
from core.schedule.senses.findings import NetworkSense
from core.schedule.senses.network import sense_network
from core.session.session import Session
from core.swarm.participant import Participant

SENSE_S: Final = 60.0
"""How often the system is asked about its network."""
AGAIN_S: Final = 60.0
"""How long to rest after something failed."""

_LOG = logging.getLogger(__name__)


class SensedNetwork:
    """What the system says of its network.

    Args:
        metered: Told whether its use costs the person; None: the system does not say.
    """

    def __init__(self, metered: Callable[[bool | None], None]) -> None:
        self._metered = metered
        self._sense = NetworkSense()

    async def look(self) -> None:
        """Asks the system about its network, and passes on whether its use costs the person."""
        self._sense = await sense_network()
        self._metered(self._sense.metered)

    @property
    def gateway(self) -> str | None:
        """The default router's IPv4 address; None: not known."""
        return self._sense.gateway

    def inside(self) -> str | None:
        """This computer's address towards the router, if it is one that a router would have given it."""
        if self.gateway is None:
            return None
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
            try:
                probe.connect((self.gateway, 9))  # sends nothing
            except OSError:
                return None
            host = str(probe.getsockname()[0])
        return host if is_private(host) else None


class LanNeighbours:
    """Peers of the swarm that are in our own network, by mDNS; they are called there.

    Args:
        host: Learns where they are.
        peers: Who is in the swarm now.
        lan: Makes what discovers them, given what to call when it has news.
    """

    def __init__(
        self,
        host: Host,
        *,
        peers: Callable[[], Iterable[PeerId]],
        lan: Callable[[Callable[[], None]], LanDiscovery],
    ) -> None:
        self._host = host
        self._peers = peers
        self._lan = lan(self.meet)
        self._near: dict[PeerId, tuple[tuple[str, int], ...]] = {}

    async def run(self) -> None:
        """Discovers neighbours by mDNS until the owner cancels it."""
        await self._lan.run()

    def network_changed(self) -> None:
        """This computer is in another network."""
        self._lan.network_changed()

    def meet(self) -> None:
        """Call those who are new, or have moved."""
        near = {peer: found for peer in self._peers() if (found := self._lan.addresses(peer))}
        for peer, found in near.items():
            if self._near.get(peer) != found:
                for host, port in found:
                    self._host.learn(peer, host, port)
                self._host.links.to(peer).improve()
        self._near = near


class NetworkMonitor:
    """Finds neighbours and keeps a port open, anew whenever the network around this computer changes.

    Args:
        place: Told what becomes of this computer's addresses.
        network: Asks the system.
        neighbours: Peers in the same network.
        ports: Has the router forward a port.
        now: Unix seconds.
        trace: Counts what fails.
    """

    def __init__(
        self,
        place: Locator,
        *,
        network: SensedNetwork,
        neighbours: LanNeighbours,
        ports: PortMap,
        now: Callable[[], float],
        trace: Trace,
    ) -> None:
        self._place = place
        self._network = network
        self._neighbours = neighbours
        self._ports = ports
        self._now = now
        self._trace = trace
        self._sensed_at = 0.0

    async def run(self) -> None:
        """Watch it until cancelled; then the router gets its port back, and neighbours a goodbye."""
        await self._soft("senses", self._sense, again=False)
        changes = Changes()
        async with asyncio.TaskGroup() as group:
            group.create_task(self._soft("watch", lambda: self._watch(changes)))
            group.create_task(self._soft("ports", self._ports.run))
            group.create_task(self._soft("lan", self._neighbours.run))

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
                    self._place.moved()
                    self._neighbours.network_changed()
                    self._ports.network_changed()
                case Change.ADDRESSES:
                    self._place.readdressed()
            if self._now() >= self._sensed_at + SENSE_S:
                await self._sense()
            self._neighbours.meet()
            await asyncio.sleep(LOOK_S)

    async def _sense(self) -> None:
        self._sensed_at = self._now()
        await self._network.look()


def outer_address(mapped: Mapped | None) -> Address | None:
    """The address that the router forwards to us, if the Internet can call it."""
    if mapped is None:
        return None
    _LOG.info("the router forwards port %d to us (%s)", mapped.port, mapped.method)
    return Address(mapped.host, mapped.port) if mapped.public else None


def network_monitor_of(session: Session[Participant], locator: Locator, installation: Installation) -> NetworkMonitor:
    """What sees to the router, the neighbours and changes of the network.

    Args:
        session: It has joined.
        locator: Told what becomes of this computer's addresses.
        installation: Its usage policy hears whether the network's use costs the person.
    """
    bind, now = installation.options.bind, installation.clock.now
    participant, port, own = session.peer, session.host.port, own_hosts(bind)
    network = SensedNetwork(installation.usage_policy.metered)

    def lan(changed: Callable[[], None]) -> LanDiscovery:
        return LanDiscovery(
            me=participant.me,
            manifest_id=participant.settings.run,
            port=port,
            changed=changed,
            trace=participant.trace,
            interfaces=own if bind in own else None,
        )

    return NetworkMonitor(
        locator,
        network=network,
        neighbours=LanNeighbours(session.host, peers=lambda: list(participant.view(now()).peers), lan=lan),
        ports=PortMap(
            port,
            searches=known_searches(gateway=lambda: network.gateway, own_host=network.inside),
            random=SystemRandom(),
            tell=lambda mapped: locator.mapped(outer_address(mapped)),
        ),
        now=now,
        trace=participant.trace,
    )
