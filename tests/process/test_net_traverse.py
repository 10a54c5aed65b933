"""Outputs of the traversal machine are performed, and their results are reported."""

from typing import Any

import pytest

from core.nat.events import (
    AddAddress,
    AttemptFailed,
    BirthdaySide,
    CancelAttempt,
    Dial,
    DialBackTried,
    LinkUp,
    Punch,
    SendDatagramTo,
    TryDialBack,
    Way,
)
from core.nat.messages import Address
from core.net.traverse import Traverser
from tests.process.net_people import Ask, Peer, eventually, id_of, in_loop

pytestmark = pytest.mark.process
NONCE = bytes(range(16))


class Ear:
    """Notes the answers."""

    def __init__(self, peer: Peer) -> None:
        self.told: list[Any] = []
        peer.book.handle = self._noting(peer.book.handle)  # type: ignore[method-assign]
        self.traverser = Traverser(peer.host, None, now=peer.clock.now)  # type: ignore[arg-type]

    def _noting(self, handle: Any) -> Any:
        def noting(event: Any, now: float) -> Any:
            self.told.append(event)
            return handle(event, now)

        return noting

    def of(self, kind: type) -> list[Any]:
        return [event for event in self.told if isinstance(event, kind)]


def peers(*names: str) -> list[tuple[Peer, Ear]]:
    made = []
    for name in names:
        holder: list[Ear] = []
        peer = Peer(name, opened=lambda stream, holder=holder: holder[0].traverser.opened(stream))
        holder.append(Ear(peer))
        made.append((peer, holder[0]))
    return made


def at(peer: Peer) -> Address:
    return Address("127.0.0.1", peer.port)


@in_loop
async def test_a_dial_is_reported_with_its_number_and_way():
    (anna, ear), (ben, bens) = peers("anna", "ben")
    async with anna, ben:
        assert ear.traverser.perform(Dial(7, ben.id, at(ben), Way.MAPPED))
        await eventually(lambda: ear.of(LinkUp) and bens.of(LinkUp))
        (up,) = ear.of(LinkUp)
        assert (up.peer, up.way, up.called, up.attempt) == (ben.id, Way.MAPPED, True, 7)
        (up,) = bens.of(LinkUp)
        assert (up.peer, up.way, up.called, up.attempt) == (anna.id, Way.LAN, False, 0)


@in_loop
async def test_failed_dial_is_reported_and_a_cancelled_one_is_not():
    (anna, ear), (ben, _) = peers("anna", "ben")
    async with anna:
        async with ben:
            nowhere = at(ben)
        ear.traverser.perform(Dial(8, ben.id, nowhere, Way.PUBLIC))
        await eventually(lambda: ear.of(AttemptFailed))
        assert ear.of(AttemptFailed)[0].attempt == 8
        ear.traverser.perform(Dial(9, ben.id, nowhere, Way.PUBLIC))
        ear.traverser.perform(CancelAttempt(9))
        await eventually(lambda: not anna.host.links.connections)
        assert len(ear.of(AttemptFailed)) == 1


@pytest.mark.parametrize("birthday", [False, True])
@in_loop
async def test_a_punch_makes_a_link(birthday):
    (anna, ear), (ben, bens) = peers("anna", "ben")
    async with anna, ben:
        now = anna.clock.now()
        for peer, ears, other, mine in (
            (anna, ear, ben, BirthdaySide(4, ())),
            (ben, bens, anna, BirthdaySide(0, tuple(range(40000, 40016)), 1000)),
        ):
            ears.traverser.perform(
                Punch(
                    attempt=3, peer=other.id, nonce=NONCE, tcp=(), udp=(at(other),), at=now, until=now + 5,
                    caller=peer.id < other.id, birthday=mine if birthday else None,
                )
            )  # fmt: skip
        await eventually(lambda: ear.of(LinkUp) and bens.of(LinkUp))
        caller = ear if anna.id < ben.id else bens
        assert caller.of(LinkUp)[0].way is (Way.BIRTHDAY if birthday else Way.QUIC_PUNCH)
        assert caller.of(LinkUp)[0].attempt == 3


@in_loop
async def test_one_is_called_back_and_written_to():
    (anna, ear), (ben, _) = peers("anna", "ben")
    async with anna, ben:
        ear.traverser.perform(TryDialBack(NONCE, at(ben)))
        await eventually(lambda: ear.of(DialBackTried))
        assert ear.of(DialBackTried) == [DialBackTried(NONCE, tcp=True)]
        ear.traverser.perform(SendDatagramTo(ben.id, at(ben), Ask("fresh"), fresh=True))
        await ben.book.until(lambda book: book.observed)
        assert ben.book.observed[0].port != anna.port
        ear.traverser.perform(SendDatagramTo(ben.id, at(ben), Ask("usual"), fresh=False))
        await eventually(lambda: ben.book.observed[-1].port == anna.port)
        ear.traverser.perform(AddAddress(id_of("eve"), at(ben)))
        assert anna.host.address_book.addresses(id_of("eve")) == (("127.0.0.1", ben.port),)
        assert not ear.traverser.perform(object())
