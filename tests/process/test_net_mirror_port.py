"""A second port tells others where it sees them, and confuses nobody about where its peer is."""

import socket

import pytest

from core.nat.events import SendDatagramTo
from core.nat.messages import Address, DialBackDatagram, Mirror, Mirrored
from core.net.limits.pace import Pace
from tests.process.net_people import Ask, Peer, eventually, in_loop

pytestmark = pytest.mark.process
NONCE = bytes(range(16))


@in_loop
async def test_mirror_port_answers_and_teaches_no_address():
    pace = Pace(now=lambda: 1.8e9)
    async with Peer("anna", pace=pace) as anna, Peer("ben") as ben:
        second = await anna.host.open_second("127.0.0.1")
        assert second not in {0, anna.port}
        ben.knows(anna)
        there = Address("127.0.0.1", second)
        for message in (DialBackDatagram(NONCE), Mirror(NONCE, b""), Mirror(NONCE)):
            ben.host.send_at(SendDatagramTo(anna.id, there, message, fresh=False))
        await ben.book.until(lambda book: book.heard)
        assert ben.book.heard == [(anna.id, Mirrored(NONCE, Address("127.0.0.1", ben.port), 0, 0))]
        assert ben.host.address_book.addresses(anna.id) == (("127.0.0.1", anna.port),)
        assert not ben.book.observed
        assert not anna.book.observed
        assert not anna.book.heard
        assert anna.trace["net.drop.second"] == 2
        assert pace.used.used_bytes > 500


@in_loop
async def test_dial_back_from_a_fresh_port_teaches_no_address():
    async with Peer("anna") as anna, Peer("ben") as ben:
        ben.host.send_at(SendDatagramTo(anna.id, Address("127.0.0.1", anna.port), Ask("here"), fresh=False))
        await anna.book.until(lambda book: book.heard)
        ben.host.send_at(SendDatagramTo(anna.id, Address("127.0.0.1", anna.port), DialBackDatagram(NONCE), fresh=True))
        await anna.book.until(lambda book: len(book.heard) == 2)
        assert anna.book.heard[1] == (ben.id, DialBackDatagram(NONCE))
        assert anna.host.address_book.addresses(ben.id) == (("127.0.0.1", ben.port),)


@in_loop
async def test_mirror_port_follows_the_first_and_closes_with_the_host():
    async with Peer("anna") as anna:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as neighbour:
            neighbour.bind(("127.0.0.1", anna.port + 1))
            second = await anna.host.open_second("127.0.0.1")
            assert second not in {0, anna.port, anna.port + 1}
    await eventually(lambda: _is_free(second))


def _is_free(port: int) -> bool:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True
