"""The lab's machine and the traversal machine behind one host; the lab's director hands the cards out, no DHT."""

import asyncio
from collections.abc import Callable
from typing import Any

from core.base.ids import Observed, PeerId
from core.base.machine import Lost, Received, Tick, earliest
from core.nat import events as nat
from core.nat.messages import NAT_MESSAGES, Address
from core.nat.peer_record import AddressCandidate, PeerRecord, kind_of
from core.nat.traversal import Traversal
from core.net.addresses.interfaces import own_hosts
from core.net.host import Host
from core.net.links.streams import PeerStream
from core.net.listening import ANY
from core.net.traverse import Traverser


class Bridge:
    """A machine for the host: traversal beside `inner`.

    Args:
        inner: Gets everything that is not about being reached.
        traversal: See there.
        now: Unix seconds.
    """

    def __init__(self, inner: Any, *, traversal: Traversal, now: Callable[[], float]) -> None:
        self._inner, self.traversal, self._now = inner, traversal, now
        self._host: Host | None = None
        self._traverser: Traverser | None = None
        self.peer_records: dict[PeerId, PeerRecord] = {}
        self.reasons: dict[PeerId, str] = {}
        self.lost: dict[PeerId, asyncio.Event] = {}
        self.changed = asyncio.Event()
        """Something became known about ourselves."""

    # --- as the host's machine ---------------------------------------------------------------------------------------

    @property
    def deadline(self) -> float | None:
        return earliest(self._inner.deadline, self.traversal.deadline)

    def handle(self, event: Any, now: float) -> list[Any]:
        match event:
            case Observed(peer=peer, host=host, port=port):
                return list(self.traversal.handle(nat.AddressSeen(peer, Address(host, port)), now))
            case Tick() | Lost():
                if isinstance(event, Lost):
                    self.reasons.setdefault(event.peer, event.reason)
                    if event.peer in self.lost:
                        self.lost[event.peer].set()
                return [*self.traversal.handle(event, now), *self._inner.handle(event, now)]
            case Received(message=message) if not isinstance(message, NAT_MESSAGES):
                return list(self._inner.handle(event, now))
            case _:
                return list(self.traversal.handle(event, now))

    # --- for its owner -----------------------------------------------------------------------------------------------

    def begin(self, host: Host, port: int) -> None:
        """The host is started."""
        self._host, self._traverser = host, Traverser(host, self.traversal, now=self._now)
        host.deliver(nat.AddressesChanged(addresses=_own_addresses(port), tcp_port=port, udp_port=port))

    def volunteer(self, peer: PeerId, host: str, port: int) -> None:
        """Note that a peer is public."""
        assert self._host is not None
        self._host.perform(
            self.traversal.handle(nat.PublicPeerFound(peer, Address(host, port), relay=True), self._now())
        )

    # --- for the host ------------------------------------------------------------------------------------------------

    def wanted(self, peer: PeerId) -> None:
        """The host does not reach that peer."""
        assert self._host is not None
        self._host.deliver(nat.PeerWanted(peer))

    def opened(self, stream: PeerStream) -> None:
        """A link stands."""
        assert self._traverser is not None
        self._traverser.opened(stream)

    def act(self, event: Any, now: float) -> None:
        """Do what the traversal machine asks."""
        del now
        assert self._traverser is not None
        assert self._host is not None
        match event:
            case nat.FindPeerRecord(peer=peer):
                found = nat.PeerRecordFound(peer, self.peer_records.get(peer))
                asyncio.get_running_loop().call_soon(self._host.deliver, found)
            case nat.DialEnded(peer=peer, way=None, reason=reason):
                self.reasons[peer] = reason
            case _:
                if not self._traverser.perform(event):
                    self.changed.set()


def _own_addresses(port: int) -> tuple[AddressCandidate, ...]:
    return tuple(
        AddressCandidate(kind, Address(host, port)) for host in own_hosts(ANY) if (kind := kind_of(host)) is not None
    )
