"""A relay keeps its word, its limits and its hands off what it carries."""

import tracemalloc
from typing import Any

from core.base.ids import PeerId
from core.base.machine import Lost, Received, Send, Tick, Trace
from core.base.wire import MessageCodec
from core.nat.messages import (
    NAT_MESSAGES,
    AcceptCircuit,
    CircuitAccepted,
    CircuitData,
    CircuitRequested,
    CloseCircuit,
    OpenCircuit,
    PunchOffer,
    Reserve,
    Reserved,
    Unreserved,
)
from core.nat.relay import RelayService, RelaySettings

A, B, C = (PeerId(bytes([number]) * 32) for number in (1, 2, 3))
NOW = 1000.0
CODEC = MessageCodec(NAT_MESSAGES)
OFFER = PunchOffer(bytes(16), (), (), "kept", "kept", quic=True, one_way_ms=20, relays=())


def circuit_id(number: int) -> bytes:
    return number.to_bytes(16, "big")


def relay(**limits: Any) -> RelayService:
    service = RelayService(RelaySettings(**limits), trace=Trace())
    service.handle(Received(B, Reserve()), NOW)
    return service


def opened(service: RelayService, number: int = 1, *, sender: PeerId = A) -> list[Send[Any]]:
    ask = OpenCircuit(circuit_id(number), B, None, carry=True, resume=False, received=0)
    outputs = service.handle(Received(sender, ask), NOW)
    if any(isinstance(out.message, CircuitRequested) for out in outputs):
        outputs = service.handle(Received(B, AcceptCircuit(circuit_id(number), None, 0)), NOW)
    return outputs


def refusals(outputs: list[Send[Any]]) -> list[str]:
    return [out.message.reason for out in outputs if isinstance(out.message, CloseCircuit | Unreserved)]


def test_relay_connects_two_peers_and_passes_bytes_unchanged() -> None:
    service = relay()
    assert opened(service) == [Send(A, CircuitAccepted(circuit_id(1), None, 0, carried=True))]
    carry = CircuitData(circuit_id(1), 0, b"bytes")
    assert service.handle(Received(A, carry), NOW) == [Send(B, carry)]
    assert service.handle(Received(B, carry), NOW) == [Send(A, carry)]


def test_without_reservation_nobody_is_reached() -> None:
    service = relay()
    ask = OpenCircuit(circuit_id(1), C, None, carry=True, resume=False, received=0)
    assert refusals(list(service.handle(Received(A, ask), NOW))) == ["no reservation"]
    late = NOW + service.settings.lifetime_s
    service.handle(Tick(), late)
    ask = OpenCircuit(circuit_id(1), B, None, carry=True, resume=False, received=0)
    assert refusals(list(service.handle(Received(A, ask), late))) == ["no reservation"]


def test_a_stranger_cannot_speak_in_anothers_circuit() -> None:
    service = relay()
    opened(service)
    assert service.handle(Received(C, CircuitData(circuit_id(1), 0, b"evil")), NOW) == []
    assert service.handle(Received(C, CloseCircuit(circuit_id(1), "", final=True)), NOW) == []
    ask = OpenCircuit(circuit_id(1), B, None, carry=True, resume=True, received=0)
    assert refusals(list(service.handle(Received(C, ask), NOW))) == ["refused"]
    assert service.circuits == 1


def test_limits_per_peer_and_in_all() -> None:
    service = relay(circuits=3, circuits_per_peer=2)
    assert not refusals(opened(service, 1))
    assert not refusals(opened(service, 2))
    assert refusals(opened(service, 3)) == ["full"]
    assert not refusals(opened(service, 4, sender=C))
    assert refusals(opened(service, 5, sender=PeerId(bytes(32)))) == ["full"]


def test_a_full_relay_still_introduces() -> None:
    service = relay(circuits=1)
    opened(service, 1)
    ask = OpenCircuit(circuit_id(2), B, OFFER, carry=True, resume=False, received=0)
    (opening,) = service.handle(Received(C, ask), NOW)
    assert isinstance(opening.message, CircuitRequested)
    assert not opening.message.carried
    (accepted,) = service.handle(Received(B, AcceptCircuit(circuit_id(2), OFFER, 0)), NOW)
    assert accepted == Send(C, CircuitAccepted(circuit_id(2), OFFER, 0, carried=False))
    assert service.circuits == 1


def test_the_rate_holds_and_circuits_take_turns() -> None:
    service = relay(rate_bytes_per_s=100_000.0)
    opened(service, 1)
    opened(service, 2, sender=C)
    sent: list[Send[Any]] = []
    for number in range(32):
        for sender, circuit in ((A, 1), (C, 2)):
            carry = CircuitData(circuit_id(circuit), number * 10_000, bytes(10_000))
            sent += service.handle(Received(sender, carry), NOW)
    now = NOW
    while service.deadline is not None and now < NOW + 3:
        now = max(now, service.deadline)
        sent += service.handle(Tick(), now)
    moved = sum(len(out.message.payload) for out in sent)
    assert 300_000 <= moved <= 340_000
    shares = [sum(out.message.circuit == circuit_id(number) for out in sent) for number in (1, 2)]
    assert abs(shares[0] - shares[1]) <= 3


def test_bytes_held_by_the_relay_are_bounded() -> None:
    service = relay(rate_bytes_per_s=1.0, held_bytes=100_000)
    opened(service)
    for number in range(100):
        service.handle(Received(A, CircuitData(circuit_id(1), number * 30_000, bytes(30_000))), NOW)
    assert service.queue.held_bytes <= 100_000


def test_tiny_messages_take_no_more_memory_than_the_bound() -> None:
    service = relay(rate_bytes_per_s=1.0, held_bytes=2_000_000)
    opened(service)
    tracemalloc.start()
    for number in range(20_000):
        message = CODEC.decode(CODEC.encode(CircuitData(circuit_id(1), number, b"x")))
        service.handle(Received(A, message), NOW)
    taken, _ = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert taken < 3_000_000


def test_circuit_over_its_hourly_bytes_ends_for_take_over() -> None:
    service = relay(bytes_per_peer_and_hour=50_000)
    opened(service)
    outputs = [
        out for n in range(6) for out in service.handle(Received(A, CircuitData(circuit_id(1), n, bytes(10_000))), NOW)
    ]
    assert refusals(outputs)[:2] == ["used up", "used up"]
    assert not any(out.message.final for out in outputs if isinstance(out.message, CloseCircuit))
    assert refusals(opened(service, 2)) == ["full"]


def test_one_leaving_peer_harms_only_its_own_circuits() -> None:
    service = relay()
    opened(service, 1)
    opened(service, 2, sender=C)
    outputs = service.handle(Lost(A, "gone"), NOW)
    assert outputs == [Send(B, CloseCircuit(circuit_id(1), "the other end has gone", final=False))]
    assert service.circuits == 1


def test_too_many_opens_are_refused() -> None:
    service = relay()
    answers = [refusals(opened(service, number)) for number in range(1, 60)]
    assert answers[-1] == ["refused"]


def test_punches_without_a_circuit_are_bounded() -> None:
    service = relay()
    answers = [
        service.handle(
            Received(
                PeerId(number.to_bytes(32, "big")),
                OpenCircuit(circuit_id(number), B, OFFER, carry=False, resume=False, received=0),
            ),
            NOW,
        )
        for number in range(1, 1000)
    ]
    passed_on = [out for outputs in answers for out in outputs if isinstance(out.message, CircuitRequested)]
    assert len(passed_on) == 2 * service.settings.circuits + 16
    assert refusals(answers[-1]) == ["full"]


def test_reservations_are_bounded_and_renewed() -> None:
    service = relay(reservations=2)
    assert isinstance(service.handle(Received(A, Reserve()), NOW)[0].message, Reserved)
    assert refusals(list(service.handle(Received(C, Reserve()), NOW))) == ["full"]
    assert isinstance(service.handle(Received(A, Reserve()), NOW)[0].message, Reserved)


def test_a_person_may_allow_none() -> None:
    service = RelayService(RelaySettings(circuits=0), trace=Trace())
    assert refusals(list(service.handle(Received(A, Reserve()), NOW))) == ["not a relay"]
    assert service.load == 100


def test_stop_tells_all() -> None:
    service = relay()
    opened(service)
    assert {out.to for out in service.limit(RelaySettings(circuits=0))} == {A, B}
    assert service.circuits == 0


def test_idle_circuits_and_unanswered_ones_end() -> None:
    service = relay(lifetime_s=10_000)
    opened(service, 1)
    ask = OpenCircuit(circuit_id(2), B, None, carry=True, resume=False, received=0)
    service.handle(Received(A, ask), NOW)
    assert service.deadline == NOW + 10
    assert len(service.handle(Tick(), NOW + 10)) == 2
    assert len(service.handle(Tick(), NOW + 180)) == 2
    assert service.circuits == 0


def test_a_person_may_change_their_mind() -> None:
    service = relay()
    opened(service)
    assert {out.to for out in service.limit(RelaySettings(circuits=0))} == {A, B}
    assert refusals(list(service.handle(Received(B, Reserve()), NOW))) == ["not a relay"]
    assert service.limit(RelaySettings()) == []
    assert isinstance(service.handle(Received(B, Reserve()), NOW)[0].message, Reserved)
