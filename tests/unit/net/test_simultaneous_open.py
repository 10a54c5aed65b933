"""Both call, nobody was called."""

import asyncio

import pytest

from core.net.links.handshake import SimultaneousOpen
from tests.unit.net.people import credentials, id_of
from tests.unit.net.test_streams import in_loop
from tests.unit.net.wires import Side, connect

HELLO = bytes((22, 3, 1, 0, 6, 1, 0, 0, 2, 9, 9))
ANSWER = bytes((22, 3, 3, 0, 6, 2, 0, 0, 2, 9, 9))


@pytest.mark.parametrize("auto_first", [0, 1])
@in_loop
async def test_two_callers_on_one_connection_agree_who_is_the_caller(auto_first):
    sides = [Side(credentials("anna"), expected=id_of("ben")), Side(credentials("ben"), expected=id_of("anna"))]
    connect(sides[auto_first], sides[1 - auto_first])
    for side, other in (sides, sides[::-1]):
        side.stream.send(b"hello", bulk=False)
        await other.ear.until(lambda ear: ear.received == [b"hello"])
    assert [side.ear.opened[0].peer for side in sides] == [id_of("ben"), id_of("anna")]
    smaller = id_of("anna") < id_of("ben")
    assert [side.stream.initiated for side in sides] == [smaller, not smaller]


@in_loop
async def test_an_impostor_does_not_pass_by_calling_back():
    anna, eve = Side(credentials("anna"), expected=id_of("ben")), Side(credentials("eve"), expected=id_of("anna"))
    connect(anna, eve)
    async with asyncio.timeout(60):
        assert not await anna.stream.settled
    assert anna.ear.opened == []


@pytest.mark.parametrize("size", [1, 3, 5, 6, 7, 100])
@pytest.mark.parametrize("stays", [True, False])
def test_a_greeting_is_recognised_however_it_is_cut(size, stays):
    simultaneous_open = SimultaneousOpen(stays_caller=stays)
    data = HELLO + ANSWER
    told = b"".join(bytes(simultaneous_open.look(data[at : at + size])) for at in range(0, len(data), size))
    assert simultaneous_open.simultaneous
    assert told == (ANSWER if stays else data)


@pytest.mark.parametrize("data", [ANSWER + HELLO, b"HTTP/1.1 400", b"\x15\x03\x03\x00\x02\x02\x28", b"\x00"])
@pytest.mark.parametrize("size", [1, 100])
def test_anything_else_is_passed_on(data, size):
    simultaneous_open = SimultaneousOpen(stays_caller=True)
    told = b"".join(bytes(simultaneous_open.look(data[at : at + size])) for at in range(0, len(data), size))
    assert not simultaneous_open.simultaneous
    assert told == data
