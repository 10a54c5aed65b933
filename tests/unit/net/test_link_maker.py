"""The order of addresses, and what the first byte of a datagram says."""

from core.net.carriers.punch import PUNCH_BYTE
from core.net.datagrams.datagrams import FIRST_OTHER
from core.net.datagrams.envelope import ENVELOPE, NEED_PASS
from core.net.links.link_maker import nearest_first


def test_near_addresses_come_first_and_newer_ones_before_older():
    given = [
        ("example.org", 1),
        ("8.8.8.8", 2),
        ("2606:4700::1", 3),
        ("192.168.1.7", 4),
        ("8.8.4.4", 5),
        ("10.0.0.1", 6),
    ]
    assert [port for _, port in nearest_first(given)] == [4, 6, 3, 2, 5, 1]


def test_first_bytes_tell_apart_what_shares_the_port():
    quic = set(range(0x40, 0x80)) | set(range(0xC0, 0x100))  # of its versions 1 and 2
    ours = {ENVELOPE[0], NEED_PASS[0]}
    assert all(byte < FIRST_OTHER for byte in ours)
    assert PUNCH_BYTE >= FIRST_OTHER
    assert PUNCH_BYTE not in quic
    assert all(byte >= FIRST_OTHER for byte in quic)
