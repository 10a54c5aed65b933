"""Where this computer is, as far as it knows itself."""

from typing import Any

from core.base.ids import Contact, PeerId, hashed_key
from core.nat.events import LocalAddressesChanged, PortMapped, PublicPeerFound
from core.nat.messages import Address
from core.net.router.locator import Locator

ANNA, BEN = (PeerId(hashed_key(name)) for name in (b"anna", b"ben"))
HOST, PORT = "10.0.0.7", 4000


class PretendedHost:
    def __init__(self) -> None:
        self.told: list[Any] = []
        self.moves = 0
        self.links = self

    def deliver(self, event: Any) -> None:
        self.told.append(event)

    def moved(self) -> None:
        self.moves += 1

    def resolve(self, address: tuple[str, int], found: Any) -> None:
        if address[0] != "nowhere.name":
            found(("11.9.9.9", address[1]) if address[0] == "a.name" else address)


def located(*, second_port: int = 0) -> tuple[Locator, PretendedHost]:
    host = PretendedHost()
    return Locator(host, bind=HOST, port=PORT, second_port=second_port), host


def test_it_begins_with_this_computers_addresses_and_ports():
    locator, host = located(second_port=4001)
    locator.begin()
    assert host.told == [LocalAddressesChanged(hosts=(HOST,), port=PORT, second_port=4001, moved=True)]
    assert host.moves == 0


def test_the_first_public_peer_is_the_collaborations_own():
    locator, host = located()
    locator.begin([Contact(ANNA, "a.name", 7), Contact(BEN, "11.1.1.1", 8), Contact(BEN, "nowhere.name", 9)])
    anna, ben, _ = host.told
    assert anna == PublicPeerFound(ANNA, Address("11.9.9.9", 7), relay=True, trusted=True)
    assert ben == PublicPeerFound(BEN, Address("11.1.1.1", 8), relay=True, trusted=False)


def test_way_is_asked_to_the_collaborations_own_peer():
    locator, _ = located()
    locator.begin([Contact(ANNA, "127.0.0.1", 7), Contact(BEN, "not an address", 8)])
    assert locator.has_way


def test_change_of_network_is_told_apart_from_change_of_addresses():
    locator, host = located()
    locator.moved()
    locator.readdressed()
    assert [event.moved for event in host.told] == [True, False]
    assert host.moves == 2


def test_a_mapped_port_is_told_until_it_goes():
    locator, host = located()
    assert not locator.forwarded
    locator.mapped(Address("11.0.0.1", 4001))
    assert locator.forwarded
    locator.mapped(None)
    assert not locator.forwarded
    assert host.told == [PortMapped(Address("11.0.0.1", 4001)), PortMapped(None)]
