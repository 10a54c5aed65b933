"""Keeping two relays."""

from random import Random

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick
from core.nat.events import RelayLost
from core.nat.messages import Address, Reserved, Unreserved
from core.nat.reservations import BACK_OFF_FIRST_S, BACK_OFF_S, CANDIDATES_MAX, RENEW, Reservations

GRANTED_S = 600
"""Length of the reservations that relays grant here."""


def peer(number: int) -> PeerId:
    return PeerId(number.to_bytes(32, "big"))


def reservations(count: int = 5) -> Reservations:
    machine = Reservations(random=Random(1))
    machine.wanted = True
    for number in range(1, count + 1):
        machine.candidate(peer(number), Address(f"30.{number}.0.1", 31337))
        machine.measured(peer(number), number / 10, 0)
    return machine


def asked(outputs: list[object]) -> list[PeerId]:
    return [out.to for out in outputs if isinstance(out, Send)]


def grant(machine: Reservations, relay: PeerId, now: float) -> None:
    machine.handle(Received(relay, Reserved(GRANTED_S, None, 0)), now)


def test_the_two_nearest_are_taken_and_renewed_before_they_end() -> None:
    machine = reservations()
    assert asked([*machine.settle(0.0)]) == [peer(1), peer(2)]
    grant(machine, peer(1), 0.1)
    grant(machine, peer(2), 0.2)
    assert [relay.peer for relay in machine.held] == [peer(1), peer(2)]
    assert machine.deadline is not None
    assert abs(machine.deadline - RENEW * GRANTED_S) < 1
    assert asked([*machine.handle(Tick(), RENEW * GRANTED_S + 0.2)]) == [peer(1), peer(2)]
    grant(machine, peer(1), RENEW * GRANTED_S + 0.3)
    assert len(machine.held) == 2


def test_load_counts_like_distance() -> None:
    machine = reservations(3)
    machine.measured(peer(1), 0.1, 100)
    assert asked([*machine.settle(0.0)]) == [peer(2), peer(3)]


def test_relays_in_one_network_are_not_both_taken() -> None:
    machine = Reservations(random=Random(1))
    machine.wanted = True
    for number, host in enumerate(("30.1.0.1", "30.1.0.2", "30.2.0.1"), 1):
        machine.candidate(peer(number), Address(host, 31337))
        machine.measured(peer(number), number / 10, 0)
    assert asked([*machine.settle(0.0)]) == [peer(1), peer(3)]


def test_a_lost_relay_is_replaced_at_once() -> None:
    machine = reservations()
    machine.settle(0.0)
    grant(machine, peer(1), 0.1)
    grant(machine, peer(2), 0.1)
    outputs = machine.handle(Lost(peer(1), "gone"), 5.0)
    assert RelayLost(peer(1)) in outputs
    assert asked([*outputs]) == [peer(3)]


def test_the_only_relay_is_asked_again_soon_and_ever_later() -> None:
    machine = reservations(1)
    machine.settle(0.0)
    grant(machine, peer(1), 0.1)
    now, pauses = 5.0, []
    for _ in range(10):
        machine.handle(Lost(peer(1), "our cable"), now)
        assert machine.deadline is not None
        pauses.append(machine.deadline - now)
        now = machine.deadline
        assert asked([*machine.handle(Tick(), now)]) == [peer(1)]
    assert pauses[0] <= BACK_OFF_FIRST_S
    assert BACK_OFF_S / 2 <= pauses[-1] <= BACK_OFF_S
    grant(machine, peer(1), now)
    machine.handle(Lost(peer(1), "our cable"), now)
    assert machine.deadline is not None
    assert machine.deadline - now <= BACK_OFF_FIRST_S


def test_refusals_and_silence_lead_to_the_next() -> None:
    machine = reservations()
    machine.settle(0.0)
    assert asked([*machine.handle(Received(peer(1), Unreserved("full")), 0.1)]) == [peer(3)]
    assert peer(4) in asked([*machine.handle(Tick(), 5.1)])


def test_a_promise_that_was_not_asked_for_is_none() -> None:
    machine = reservations()
    grant(machine, peer(5), 0.1)
    grant(machine, peer(77), 0.1)
    assert machine.held == ()


def test_candidates_are_bounded() -> None:
    machine = reservations(CANDIDATES_MAX * 3)
    assert len(machine.candidates) == CANDIDATES_MAX


def test_a_reachable_peer_asks_nobody() -> None:
    machine = reservations()
    machine.wanted = False
    assert machine.settle(0.0) == []
    assert machine.deadline is None
