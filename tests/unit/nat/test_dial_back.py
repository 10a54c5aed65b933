"""Being called back, and calling back without harming third parties."""

from random import Random
from typing import Any

import pytest

from core.base.ids import PeerId
from core.base.machine import Send, Trace
from core.nat.dial_back import (
    ANSWER_S,
    IPV6_FIRST_S,
    PER_PEER_S,
    SINGLE_REFRESH_S,
    UNRESPONSIVE_S,
    DialBackProbe,
    DialBackService,
)
from core.nat.events import SendDatagramTo, TryDialBack
from core.nat.messages import Address, DialBack, DialBackDatagram, DialBackResult
from core.nat.reachability_probes import ReachabilityProbes

PEERS = {PeerId(bytes([n]) * 32): Address(f"30.{n}.0.1", 31337) for n in range(1, 6)}
ASKER = PeerId(bytes([9]) * 32)
SEEN = Address("20.0.0.7", 40000)


def asking() -> tuple[DialBackProbe, list[Send[DialBack]]]:
    machine = DialBackProbe(random=Random(1))
    for peer, address in PEERS.items():
        machine.candidate(peer, address)
    machine.located(("192.168.1.10",), (5000, 5000), 0.0)
    return machine, [out for out in machine.tick(0.5) if isinstance(out, Send)]


def answer(machine: DialBackProbe, ask: Send[DialBack], *, tcp: bool, datagram: bool) -> None:
    if datagram:
        machine.datagram_arrived(ask.to, DialBackDatagram(ask.message.nonce))
    machine.answered(ask.to, DialBackResult(ask.message.nonce, tcp=tcp, refused=False), 1.0)


def test_two_of_three_must_agree() -> None:
    machine, asks = asking()
    assert len(asks) == 3
    answer(machine, asks[0], tcp=False, datagram=False)
    answer(machine, asks[1], tcp=True, datagram=True)
    answer(machine, asks[2], tcp=True, datagram=True)
    assert (machine.tcp, machine.udp) == (True, True)


def test_two_that_do_not_get_through_decide() -> None:
    machine, asks = asking()
    answer(machine, asks[0], tcp=False, datagram=False)
    answer(machine, asks[1], tcp=False, datagram=False)
    assert (machine.tcp, machine.udp) == (False, False)


def test_silence_proves_nothing() -> None:
    machine, asks = asking()
    answer(machine, asks[0], tcp=True, datagram=True)
    machine.tick(6.0)
    assert machine.tcp is None


def test_a_wrong_sender_and_an_unknown_nonce_change_nothing() -> None:
    machine, asks = asking()
    machine.datagram_arrived(ASKER, DialBackDatagram(asks[0].message.nonce))
    machine.answered(ASKER, DialBackResult(asks[0].message.nonce, tcp=True, refused=False), 1.0)
    machine.answered(asks[0].to, DialBackResult(bytes(16), tcp=True, refused=False), 1.0)
    assert machine.tcp is None


def test_only_the_askers_own_address_is_called() -> None:
    service = DialBackService(trace=Trace())
    outputs = service.requested(ASKER, DialBack(bytes(16), 22, 53), SEEN, 1.0)
    assert outputs == [
        SendDatagramTo(ASKER, Address(SEEN.host, 53), DialBackDatagram(bytes(16)), fresh=True),
        TryDialBack(bytes(16), Address(SEEN.host, 22)),
    ]
    assert service.tried(bytes(16), tcp=True) == [Send(ASKER, DialBackResult(bytes(16), tcp=True, refused=False))]
    assert service.tried(bytes(16), tcp=True) == []


def test_dial_back_cannot_scan_ports_or_flood() -> None:
    service = DialBackService(trace=Trace())
    tries: list[Any] = []
    for port in range(1, 200):
        tries += service.requested(ASKER, DialBack(port.to_bytes(16, "big"), port, 0), SEEN, 1.0 + port / 100)
    assert len(tries) == 1
    for number in range(200):
        peer = PeerId(number.to_bytes(32, "big"))
        tries += service.requested(peer, DialBack(number.to_bytes(16, "little"), 80, 0), SEEN, 2.0)
    assert sum(isinstance(out, TryDialBack) for out in tries) <= 8
    assert service.requested(PeerId(bytes([7]) * 32), DialBack(bytes(16), 80, 0, b""), SEEN, 90.0) == []


def test_ten_computers_of_one_person_keep_nobody_from_being_tried() -> None:
    service = DialBackService(trace=Trace())
    for at in (1.0, 31.5):
        for number in range(10):
            nonce = bytes([number, int(at)]) * 8
            peer = PeerId(number.to_bytes(32, "big"))
            assert len(service.requested(peer, DialBack(nonce, 80, 0), SEEN, at + number / 100)) == 1
            service.tried(nonce, tcp=True)
    assert TryDialBack(bytes(16), Address(SEEN.host, 22)) in service.requested(
        ASKER, DialBack(bytes(16), 22, 0), SEEN, 35.0
    )


def test_ipv6_peers_say_nothing_about_the_ipv4_port() -> None:
    machine = DialBackProbe(random=Random(1))
    machine.candidate(ASKER, Address("2a00::1", 5000))
    machine.located(("192.168.1.10", "2a00::2"), (5000, 5000), 0.0)
    assert machine.tick(0.5) == []


class Round:
    """A machine that asks, and peers of which each says the same every time, or nothing."""

    def __init__(self, *trusted: PeerId) -> None:
        self.machine = DialBackProbe(random=Random(1))
        self.machine.located(("20.0.0.7",), (5000, 5000), 0.0)
        self.words: dict[PeerId, bool | None] = {}
        self.trusted = trusted
        self.now = 0.0
        self.asked_at: dict[PeerId, float] = {}

    def meet(self, peer: PeerId, *, word: bool | None) -> None:
        self.words[peer] = word
        self.machine.candidate(peer, PEERS[peer], trusted=peer in self.trusted)

    def run(self, seconds: float) -> None:
        end = self.now + seconds
        while (deadline := self.machine.deadline) is not None and deadline <= end:
            self.now = max(self.now, deadline)
            for out in self.machine.tick(self.now):
                if isinstance(out, Send):
                    self.reply(out)
        self.now = end

    def reply(self, ask: Send[DialBack]) -> None:
        word = self.words[ask.to]
        if word is None or self.now < self.asked_at.get(ask.to, -PER_PEER_S) + PER_PEER_S:
            return
        self.asked_at[ask.to] = self.now
        if word:
            self.machine.datagram_arrived(ask.to, DialBackDatagram(ask.message.nonce))
        self.machine.answered(ask.to, DialBackResult(ask.message.nonce, tcp=word, refused=False), self.now)


ONE, TWO, THREE, *_ = PEERS


@pytest.mark.parametrize("word", [True, False])
def test_single_trusted_peer_decides_at_once(*, word: bool) -> None:
    stage = Round(ONE)
    stage.meet(ONE, word=word)
    stage.run(2)
    assert (stage.machine.single_verdict, stage.machine.tcp) == (word, None)


@pytest.mark.parametrize("word", [True, False])
def test_single_stranger_decides_by_the_same_answer_twice(*, word: bool) -> None:
    stage = Round()
    stage.meet(ONE, word=word)
    stage.run(SINGLE_REFRESH_S - 1)
    assert stage.machine.single_verdict is None
    stage.run(ANSWER_S)
    assert stage.machine.single_verdict is word


def test_a_stranger_that_changes_its_word_is_not_believed() -> None:
    stage = Round()
    stage.meet(ONE, word=True)
    stage.run(10)
    stage.words[ONE] = False
    stage.run(SINGLE_REFRESH_S)
    assert stage.machine.single_verdict is None


@pytest.mark.parametrize("trusted", [(), (ONE,)])
def test_one_liar_does_not_decide_where_others_exist(trusted: tuple[PeerId, ...]) -> None:
    """Not even while the others say nothing for a while: each of two is enough to doubt the other."""
    stage = Round(*trusted)
    stage.meet(ONE, word=True)
    stage.meet(TWO, word=False)
    stage.meet(THREE, word=False)
    stage.run(300)
    assert (stage.machine.single_verdict, stage.machine.tcp) == (None, False)
    quiet = Round(*trusted)
    quiet.meet(ONE, word=True)
    quiet.meet(TWO, word=None)
    quiet.run(UNRESPONSIVE_S - 1)
    assert (quiet.machine.single_verdict, quiet.machine.tcp) == (None, None)


def test_two_that_disagree_leave_it_open() -> None:
    stage = Round()
    stage.meet(ONE, word=True)
    stage.meet(TWO, word=False)
    stage.run(300)
    assert (stage.machine.single_verdict, stage.machine.tcp) == (None, False)


def test_unresponsive_candidate_does_not_count_as_another() -> None:
    stage = Round(ONE)
    stage.meet(ONE, word=True)
    stage.meet(TWO, word=None)
    stage.run(UNRESPONSIVE_S + 2 * SINGLE_REFRESH_S)
    assert stage.machine.single_verdict is True


def test_single_verdict_ends_when_others_come() -> None:
    stage = Round(ONE)
    stage.meet(ONE, word=True)
    stage.run(2)
    assert stage.machine.single_verdict is True
    stage.meet(TWO, word=False)
    stage.meet(THREE, word=False)
    stage.run(2 * SINGLE_REFRESH_S)
    assert (stage.machine.single_verdict, stage.machine.tcp) == (None, False)


def test_another_network_forgets_what_one_said_alone() -> None:
    stage = Round(ONE)
    stage.meet(ONE, word=True)
    stage.run(2)
    stage.machine.located(("20.0.0.8",), (5000, 5000), stage.now)
    assert stage.machine.single_verdict is None


SIX = Address("2a00::7", 40000)


def asking_ipv6(*own: str) -> tuple[ReachabilityProbes, list[SendDatagramTo]]:
    machine = ReachabilityProbes(random=Random(1))
    for number, peer in enumerate(PEERS):
        machine.candidate(peer, Address(f"2b00:{number}::1", 5000))
    machine.located(own, (5000, 5000), 0.0)
    return machine, [out for out in machine.tick(IPV6_FIRST_S) if isinstance(out, SendDatagramTo)]


def told(machine: ReachabilityProbes, asks: list[SendDatagramTo], *, tcp: bool) -> None:
    for ask in asks:
        assert isinstance(ask.message, DialBack)
        machine.received(ask.to, DialBackDatagram(ask.message.nonce), 1.0)
        machine.received(ask.to, DialBackResult(ask.message.nonce, tcp=tcp, refused=False), 1.0)


def test_ipv6_dial_back_is_asked_over_ipv6_only() -> None:
    machine, asks = asking_ipv6("192.168.1.10", "2a00::2")
    assert len(asks) == 3
    assert all(":" in ask.address.host and isinstance(ask.message, DialBack) and ask.message.ipv6 for ask in asks)
    told(machine, asks, tcp=True)
    assert (machine.ipv6.tcp, machine.ipv4.tcp, machine.tcp) == (True, None, None)


def test_a_firewall_that_lets_nobody_in_over_ipv6_is_noticed() -> None:
    machine, asks = asking_ipv6("192.168.1.10", "2a00::2")
    told(machine, asks[:2], tcp=False)
    assert (machine.ipv6.tcp, machine.ipv4.tcp) == (False, None)


def test_where_there_is_only_ipv6_its_word_counts() -> None:
    machine, asks = asking_ipv6("2a00::2")
    told(machine, asks, tcp=True)
    assert machine.tcp is True


def test_nobody_is_asked_about_ipv6_that_is_not_there() -> None:
    machine, asks = asking_ipv6("192.168.1.10", "fd00::2")
    assert asks == []
    assert not machine.ipv6.needs_candidates
    empty = ReachabilityProbes(random=Random(1))
    empty.located(("2a00::2",), (5000, 5000), 0.0)
    assert empty.ipv6.needs_candidates


def test_dial_back_of_the_other_family_is_dropped() -> None:
    trace = Trace()
    service = DialBackService(trace=trace)
    assert service.requested(ASKER, DialBack(bytes(16), 22, 53, ipv6=True), SEEN, 1.0) == []
    assert service.requested(ASKER, DialBack(bytes(16), 22, 53), SIX, 1.0) == []
    assert trace["nat.dial_back.family"] == 2
    datagram, dial = service.requested(ASKER, DialBack(bytes(16), 22, 53, ipv6=True), SIX, 1.0)
    assert (datagram.address, dial.address) == (Address(SIX.host, 53), Address(SIX.host, 22))
    assert len(service.requested(ASKER, DialBack(bytes([1]) * 16, 22, 53), SEEN, 1.0)) == 2
    assert service.requested(ASKER, DialBack(bytes([2]) * 16, 22, 53, ipv6=True), SIX, 2.0) == []
    assert trace["nat.dial_back.refused"] == 1


def test_asking_again_skips_peers_that_would_refuse() -> None:
    machine, asks = asking()
    machine.again(1.0)
    assert machine.asking
    assert machine.tick(1.1) == []  # a round is under way
    for ask in asks[:2]:
        answer(machine, ask, tcp=False, datagram=False)
    assert not machine.asking
    assert machine.concluded_at == 1.0
    machine.again(20.0)
    assert machine.tick(20.0) == []
    machine.again(31.0)
    again = [out for out in machine.tick(31.0) if isinstance(out, Send)]
    assert len(again) == 3
    assert (machine.tcp, machine.udp) == (False, False)  # what was found stands until there is news
    for ask in again[:2]:
        answer(machine, ask, tcp=True, datagram=True)
    assert (machine.tcp, machine.udp) == (True, True)


def test_later_ipv6_network_is_probed_and_its_daily_addresses_not() -> None:
    machine, asks = asking_ipv6("192.168.1.10")
    assert asks == []
    machine.readdressed(("192.168.1.10", "2a00::2"), (5000, 5000), 10.0)
    told(machine, [out for out in machine.tick(10.0 + IPV6_FIRST_S) if isinstance(out, SendDatagramTo)], tcp=True)
    assert machine.ipv6.tcp is True
    machine.readdressed(("192.168.1.10", "2a00::2", "2a00::3"), (5000, 5000), 20.0)
    assert machine.ipv6.tcp is True
    machine.readdressed(("192.168.1.10", "2a00:0:0:7::3"), (5000, 5000), 30.0)
    assert machine.ipv6.tcp is None
