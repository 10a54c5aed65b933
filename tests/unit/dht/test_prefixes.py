import pytest

from core.dht.prefixes import AddressScope, counted_prefix, may_name, prefix, reach


@pytest.mark.parametrize(
    ("host", "network", "kind"),
    [
        ("203.0.113.9", "203.0.113", AddressScope.PUBLIC),
        ("::ffff:203.0.113.9", "::ffff:203.0.113", AddressScope.PUBLIC),
        ("2001:db8:1:2::3", "2001:db8:1::/48", AddressScope.PUBLIC),
        ("10.1.2.3", "10.1.2", AddressScope.LOCAL),
        ("192.168.7.1", "192.168.7", AddressScope.LOCAL),
        ("fd00:1:2:3::4", "fd00:1:2::/48", AddressScope.LOCAL),
        ("fe80::1", "fe80::/48", AddressScope.NOWHERE),
        ("127.0.0.1", "127.0.0", AddressScope.LOOPBACK),
        ("::1", "::/48", AddressScope.LOOPBACK),
        ("0.0.0.0", "0.0.0", AddressScope.NOWHERE),
        ("224.0.0.1", "224.0.0", AddressScope.NOWHERE),
        ("255.255.255.255", "255.255.255", AddressScope.NOWHERE),
        ("sim-7", "sim-7", AddressScope.PUBLIC),
    ],
)
def test_networks_and_reach(host, network, kind):
    assert prefix(host) == network
    assert reach(host) is kind


def test_local_addresses_count_only_where_they_are_not_free():
    assert counted_prefix("10.1.2.3", local_is_free=True) is None
    assert counted_prefix("127.0.0.1", local_is_free=True) is None
    assert counted_prefix("10.1.2.3", local_is_free=False) == "10.1.2"
    assert counted_prefix("203.0.113.9", local_is_free=True) == "203.0.113"


def test_distant_peer_cannot_name_local_addresses():
    assert may_name("203.0.113.9", AddressScope.PUBLIC)
    assert not may_name("192.168.1.1", AddressScope.PUBLIC)
    assert may_name("192.168.1.1", AddressScope.LOCAL)
    assert not may_name("127.0.0.1", AddressScope.LOCAL)
    assert may_name("127.0.0.1", AddressScope.LOOPBACK)
    assert not may_name("224.0.0.1", AddressScope.LOOPBACK)
