"""Tells a machine where this computer is, as far as the computer and its router know themselves."""

from collections.abc import Iterable

from core.base.ids import Contact, PeerId
from core.nat.events import LocalAddressesChanged, PortMapped, PublicPeerFound
from core.nat.messages import Address
from core.net.addresses.interfaces import has_way, own_hosts
from core.net.host import Host


class Locator:
    """Asks the system for this computer's addresses, at the start and whenever somebody says that they changed.

    Args:
        host: Runs the machine; it listens.
        bind: Where it listens.
        port: Its port, for TCP and UDP.
        second_port: UDP port at which it mirrors too; 0: none.
    """

    def __init__(self, host: Host, *, bind: str, port: int, second_port: int = 0) -> None:
        self._host = host
        self._bind = bind
        self._port = port
        self._second_port = second_port
        self.forwarded = False
        """Whether the router says that it forwards our port to us."""
        self._backbone = ""
        """The host of the collaboration's own peer; empty: not known."""

    def begin(self, public: Iterable[Contact] = ()) -> None:
        """Say where this computer is, and who answers strangers: the first of `public` is the collaboration's own."""
        for number, contact in enumerate(public):
            self._backbone = self._backbone or contact.host
            self._introduce(PeerId(contact.peer_id), (contact.host, contact.port), trusted=number == 0)
        self._locate(moved=True)

    @property
    def has_way(self) -> bool:
        """Whether this computer knows a way to the collaboration's own peer, as long as its line is there."""
        return has_way(self._backbone)

    def moved(self) -> None:
        """The computer has another network, or has woken up."""
        self._host.links.moved()
        self._locate(moved=True)

    def readdressed(self) -> None:
        """It is the same network, but this computer has other addresses beside."""
        self._host.links.moved()
        self._locate(moved=False)

    def mapped(self, address: Address | None) -> None:
        """The router forwards this outer address to us; None: it no longer does."""
        self.forwarded = address is not None
        self._host.deliver(PortMapped(address))

    def _locate(self, *, moved: bool) -> None:
        hosts = tuple(own_hosts(self._bind))
        self._host.deliver(
            LocalAddressesChanged(hosts=hosts, port=self._port, second_port=self._second_port, moved=moved)
        )

    def _introduce(self, peer: PeerId, address: tuple[str, int], *, trusted: bool) -> None:
        def found(place: tuple[str, int]) -> None:
            self._host.deliver(PublicPeerFound(peer, Address(*place), relay=True, trusted=trusted))

        self._host.resolve(address, found)
