"""Observations of a peer's address by others, and its mapping."""

from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.base.ids import PeerId
from core.base.machine import Send
from core.nat.events import SendDatagramTo
from core.nat.messages import Address, Mapping, Mirror, Mirrored
from core.nat.mirror import AGAIN_S, ANSWERS_BURST, ASK_S, KEEP_S, REFRESH_S, Mirroring, MirrorService, mapping_of

OUT, OTHER = "20.0.0.7", "20.0.0.8"
MIRRORS = {PeerId(bytes([n]) * 32): Address(f"30.{n}.0.1", 31337) for n in range(1, 6)}


@pytest.mark.parametrize(
    ("seen", "mapping"),
    [
        ([], "unknown"),
        ([(OUT, 5000)], "unknown"),
        ([("9.9.9.9", 5000)], "none"),
        ([(OUT, 5000)] * 2, "kept"),
        ([(OUT, 777)] * 2, "moved"),
        ([(OUT, 777), (OUT, 778)], "symmetric"),
        ([(OUT, 777), (OTHER, 777)], "symmetric"),
        ([(OUT, 5000), (OUT, 5000), ("66.6.6.6", 1)], "kept"),
        ([(OUT, 1), (OUT, 2), (OUT, 3), (OUT, 4)], "symmetric"),
    ],
)
def test_mapping(seen: list[tuple[str, int]], mapping: Mapping) -> None:
    assert mapping_of([Address(*one) for one in seen], ["9.9.9.9", "192.168.1.2"], 5000) == mapping


@given(st.lists(st.integers(1, 65535), min_size=1, max_size=1), st.integers(2, 6))
def test_one_liar_is_outvoted(lie: list[int], honest: int) -> None:
    seen = [Address(OUT, 5000)] * honest + [Address("66.6.6.6", lie[0])]
    assert mapping_of(seen, [], 5000) == "kept"


def mirroring() -> Mirroring:
    machine = Mirroring(random=Random(1))
    for peer, address in MIRRORS.items():
        machine.candidate(peer, address)
    machine.located(("192.168.1.10",), 5000, 0.0)
    return machine


def test_mirroring_asks_several_and_learns() -> None:
    machine = mirroring()
    asked = [out for out in machine.tick(0.0) if isinstance(out, Send)]
    assert len(asked) == 4
    for out in asked:
        rtt_s, _ = machine.answered(out.to, Mirrored(out.message.nonce, Address(OUT, 777), 0, 10), 0.1)
        assert rtt_s == pytest.approx(0.1)
    assert machine.mapping == "moved"
    assert machine.external == Address(OUT, 777)


def test_an_answer_that_nobody_asked_for_changes_nothing() -> None:
    machine = mirroring()
    (one, *_) = [out for out in machine.tick(0.0) if isinstance(out, Send)]
    wrong = next(peer for peer in MIRRORS if peer != one.to)
    assert machine.answered(wrong, Mirrored(one.message.nonce, Address(OUT, 1), 0, 0), 0.1) == (None, [])
    assert machine.observations == []


def test_a_lonely_mirror_is_asked_at_its_second_port() -> None:
    machine = Mirroring(random=Random(1))
    peer, address = next(iter(MIRRORS.items()))
    machine.candidate(peer, address)
    machine.located(("192.168.1.10",), 5000, 0.0)
    asked = next(out for out in machine.tick(0.0) if isinstance(out, Send))
    _, more = machine.answered(peer, Mirrored(asked.message.nonce, Address(OUT, 5000), 4444, 0), 0.1)
    (second,) = more
    assert isinstance(second, SendDatagramTo)
    assert second.address == Address(address.host, 4444)
    assert isinstance(second.message, Mirror)
    machine.answered(peer, Mirrored(second.message.nonce, Address(OUT, 5001), 4444, 0), 0.2)
    assert machine.mapping == "symmetric"


def answer(machine: Mirroring, outputs: list[Any], now: float, *, dead: PeerId | None = None) -> list[Any]:
    """Feed the answers of all but one mirror, each with a second port."""
    more: list[Any] = []
    for out in outputs:
        if isinstance(out, Send | SendDatagramTo) and out.to != dead:
            more += machine.answered(out.to, Mirrored(out.message.nonce, Address(OUT, 5000), 4444, 0), now)[1]
    return more


def test_single_mirror_votes_with_both_its_ports() -> None:
    machine = Mirroring(random=Random(1))
    (one, first), (two, second) = list(MIRRORS.items())[:2]
    machine.candidate(one, first)
    machine.candidate(two, second)
    machine.located(("192.168.1.10",), 5000, 0.0)
    answer(machine, answer(machine, machine.tick(0.0), 0.1), 0.2)
    assert len(machine.observations) == 2
    again = REFRESH_S
    answer(machine, machine.tick(again), again + 0.1, dead=two)
    assert machine.mapping == "kept"
    gone = again + ASK_S
    machine.tick(gone)
    assert machine.mapping == "unknown"
    assert machine.deadline == gone + AGAIN_S
    answer(machine, answer(machine, machine.tick(gone + AGAIN_S), gone + 1.1, dead=two), gone + 1.2)
    assert machine.mapping == "kept"
    machine.tick(gone + AGAIN_S + ASK_S)
    assert machine.mapping == "kept"


def test_mirrors_in_our_own_house_are_not_asked() -> None:
    machine = Mirroring(random=Random(1))
    machine.candidate(PeerId(bytes(32)), Address("192.168.1.44", 31337))
    machine.located(("192.168.1.10",), 5000, 0.0)
    assert machine.tick(0.0) == []


def test_the_mapping_is_kept_alive_between_rounds() -> None:
    machine = mirroring()
    for out in machine.tick(0.0):
        if isinstance(out, Send):
            machine.answered(out.to, Mirrored(out.message.nonce, Address(OUT, 5000), 0, 10), 0.1)
    assert machine.deadline == KEEP_S
    assert sum(isinstance(out, Send) for out in machine.tick(KEEP_S)) == 1


def test_a_new_network_forgets_the_old_one() -> None:
    machine = mirroring()
    for out in machine.tick(0.0):
        if isinstance(out, Send):
            machine.answered(out.to, Mirrored(out.message.nonce, Address(OUT, 5000), 0, 10), 0.1)
    machine.located(("10.0.0.2",), 5000, 50.0)
    assert machine.mapping == "unknown"
    assert machine.deadline == 50.0


def test_answers_are_no_longer_than_questions_and_limited() -> None:
    service = MirrorService()
    asker = PeerId(bytes(32))
    assert service.asked(asker, Mirror(bytes(16)), 0, 1.0) == []
    service.seen(asker, Address(OUT, 99))
    answers = [service.asked(asker, Mirror(bytes(16)), 0, 1.0) for _ in range(200)]
    assert sum(map(len, answers)) <= ANSWERS_BURST
    assert service.asked(asker, Mirror(bytes(16), b""), 0, 9.0) == []


def test_member_that_asks_without_end_silences_no_mirror() -> None:
    service, flooder, newcomer = MirrorService(), PeerId(bytes(32)), PeerId(bytes([1]) * 32)
    for peer in (flooder, newcomer):
        service.seen(peer, Address(OUT, 99))
    for number in range(6000):
        service.asked(flooder, Mirror(bytes(16)), 0, number / 100)
        if number % 500 == 0:
            assert service.asked(newcomer, Mirror(bytes(16)), 0, number / 100)


def test_new_mirrors_replace_old_observations_only_when_they_answer() -> None:
    machine = mirroring()
    for out in machine.tick(0.0):
        if isinstance(out, Send):
            machine.answered(out.to, Mirrored(out.message.nonce, Address(OUT, 5000), 0, 10), 0.1)
    asked = [out for out in machine.tick(120.0) if isinstance(out, Send)]
    assert machine.mapping == "kept"
    for out in asked:
        machine.answered(out.to, Mirrored(out.message.nonce, Address(OTHER, 700), 0, 10), 120.1)
    assert machine.external == Address(OTHER, 700)
    assert len(machine.observations) == 4
