"""Contacts at IPv6 addresses: counted by network, not preferred to IPv4, and passed over where there is no IPv6."""

import pytest

from core.base.ids import Contact, Key, PeerId
from core.base.machine import Trace
from core.dht.neighbours import Neighbours, PeerAddresses
from core.dht.settings import DhtSettings
from core.dht.space import point, position

ME, ANNA = PeerId(bytes(32)), PeerId(bytes([1]) * 32)
FOUR, SIX = ("11.1.1.1", 5), ("2a00::1", 5)
KEY = Key(bytes(32))


def by_distance(*contacts: Contact) -> list[Contact]:
    return sorted(contacts, key=lambda contact: position(contact.peer) ^ point(KEY))


def test_ipv6_address_does_not_replace_a_working_ipv4_address() -> None:
    book = PeerAddresses()
    book.observed(ANNA, *FOUR)
    assert book.observed(ANNA, *SIX) == Contact(ANNA, *FOUR)
    book.silent(ANNA)
    assert book.observed(ANNA, *SIX) == Contact(ANNA, *SIX)
    assert book.before_send(Contact(ANNA, *SIX)) == Contact(ANNA, *SIX)  # so that the host goes there
    assert book.before_send(Contact(ANNA, *SIX)) is None
    assert book.observed(ANNA, *FOUR) == Contact(ANNA, *FOUR)


@pytest.mark.parametrize("ipv6", [True, False])
def test_peer_without_ipv6_skips_contacts_with_ipv6_only(*, ipv6: bool) -> None:
    trace = Trace()
    neighbours = Neighbours(ME, DhtSettings(), trace=trace)
    neighbours.ipv6 = ipv6
    by = Contact(PeerId(bytes([9]) * 32), "12.1.1.1", 5)
    four, six = Contact(PeerId(bytes([2]) * 32), *FOUR), Contact(PeerId(bytes([3]) * 32), *SIX)
    chosen = neighbours.acceptable(by_distance(four, six), key=KEY, by=by, now=0.0)
    assert set(chosen) == ({four, six} if ipv6 else {four})
    assert trace["dht.drop.contact.ipv6"] == (not ipv6)


def test_contact_known_over_ipv4_is_asked_there_despite_ipv6_hearsay() -> None:
    neighbours = Neighbours(ME, DhtSettings(), trace=Trace())
    neighbours.ipv6 = False
    neighbours.observed(ANNA, *FOUR)
    by = Contact(PeerId(bytes([9]) * 32), "12.1.1.1", 5)
    assert neighbours.acceptable([Contact(ANNA, *SIX)], key=KEY, by=by, now=0.0) == (Contact(ANNA, *FOUR),)


@pytest.mark.parametrize("scope", ["fe80::1", "ff02::1", "::"])
def test_contacts_at_scoped_addresses_are_not_asked(scope: str) -> None:
    trace = Trace()
    neighbours = Neighbours(ME, DhtSettings(), trace=trace)
    by = Contact(PeerId(bytes([9]) * 32), "fd00::9", 5)
    assert neighbours.acceptable([Contact(ANNA, scope, 5)], key=KEY, by=by, now=0.0) == ()
    assert trace["dht.drop.contact.reach"] == 1


def test_one_ipv6_network_cannot_fill_the_routing_table() -> None:
    settings = DhtSettings()
    table = Neighbours(ME, settings, trace=Trace()).table
    for number in range(1, 200):
        peer = PeerId(bytes([number]) * 32)
        table.heard(Contact(peer, f"2a00:{number:x}:2::1", 5), 0.0)
    for number in range(1, 200):
        peer = PeerId(number.to_bytes(2, "big") * 16)
        table.heard(Contact(peer, f"2b00:1:2:{number:x}::{number:x}", 5), 0.0)
    strange = [contact for contact in table.contacts() if contact.host.startswith("2b00:")]
    assert 0 < len(strange) <= settings.prefix_per_table
