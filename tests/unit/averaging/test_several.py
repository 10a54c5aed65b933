"""Members that are always a nuisance cost the first rounds time, and then hardly any, and come back in the end."""

from random import Random
from statistics import median
from typing import Any

import msgspec
import pytest

from core.averaging.allreduce.butterfly import Butterfly
from core.averaging.balance.fleet import Line
from core.averaging.messages import Mean, Part, Status
from core.averaging.penalties.ledger import REST_ROUNDS
from core.averaging.plan import Rates
from core.base.machine import Send
from tests.unit.averaging.liars import Liar
from tests.unit.averaging.several import BYTES_PER_S, Nuisance, Several, Trickle
from tests.unit.averaging.test_sealing import other_payload


def slanders(random: Random) -> Nuisance:
    """Says of the means of one member, each round another's, that it holds other ones."""

    def make(machine: Butterfly, several: Several) -> Liar:
        of = random.choice([m for m, chunks in enumerate(machine.plan.chunks) if chunks and m != several.place])

        def says(send: Send[Any], now: float) -> list[Send[Any]]:
            word = send.message
            if isinstance(word, Status) and word.seals:
                seals = tuple(b"x" * 16 if share == of else seal for share, seal in enumerate(word.seals))
                send = Send(send.to, msgspec.structs.replace(word, seals=seals))
            return [send]

        return Liar(machine, says)

    return make


def cheats(random: Random) -> Nuisance:
    """Gives one of the others, each round another one, other means."""

    def make(machine: Butterfly, several: Several) -> Liar:
        victim = random.choice([peer for peer in several.peers if peer != several.outcast])

        def says(send: Send[Any], now: float) -> list[Send[Any]]:
            word = send.message
            split = isinstance(word, Mean) and send.to == victim and word.chunk == 2
            return [Send(send.to, other_payload(word)) if split else send]

        return Liar(machine, says)

    return make


def trickles(*kinds: type, seconds: float) -> Nuisance:
    """Takes about so long for a round."""

    def make(machine: Butterfly, several: Several) -> Liar:
        plan = machine.plan
        own = plan.chunks[several.place]
        chunks = plan.chunk_total - own if Part in kinds else own * (several.count - 1)
        return Trickle(machine, *kinds, each_s=seconds / max(1, chunks))

    return make


@pytest.mark.parametrize("count", [3, 5])
@pytest.mark.parametrize("kind", [slanders, cheats])
def test_a_liar_about_means_costs_each_leader_one_round(count: int, kind: Any) -> None:
    honest_s = median(Several(count).rounds(2))
    several = Several(count, kind(Random(1)), place=count - 1)
    leaders = count - 1
    seconds = several.rounds((REST_ROUNDS + 2) * leaders)
    first, later = seconds[:leaders], seconds[leaders : REST_ROUNDS * leaders]
    assert min(first) > 1.3 * honest_s, "the share is made anew"
    assert max(later) < 1.2 * honest_s
    assert max(seconds[(REST_ROUNDS + 1) * leaders :]) > 1.3 * honest_s, "it may come back, and is tried again"
    again = several.rounds(2 * REST_ROUNDS * leaders)
    assert max(again) < 1.2 * honest_s, "then it rests for longer"


def test_whoever_was_lied_about_once_reduces_again_and_is_never_sent_home() -> None:
    """The reducer that is accused, and the one that says so, lose a share or a word for some rounds; no more."""
    several = Several(4, cheats(Random(1)), place=3)
    several.round(0)
    held = several.held[several.peers[0]]
    plan = several.plan(0)
    assert [member.spared for member in plan.members] == [False, False, False, True]
    several.nuisance = None
    for _ in range(REST_ROUNDS):
        several.round(0)
    assert several.plan(0).chunks[3] > 0
    assert held.remembered(several.peers).unheeded == frozenset()


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("seconds", [12.0, 20.0, 40.0, 100.0])
def test_who_is_always_late_with_its_parts_costs_two_rounds(count: int, seconds: float) -> None:
    several = Several(count, trickles(Part, seconds=seconds), place=count - 1)
    took = several.rounds(2 + REST_ROUNDS)
    honest_s = median(Several(count).rounds(1))
    assert min(took[:2]) > 11.5
    assert max(took[2:]) < min(3.2 * honest_s, 0.9 * took[0])
    assert several.missing[-1][several.outcast] > 0
    for peer in set(several.peers) - {several.outcast}:
        held = several.held[peer]
        assert {p for p in several.peers if held._slow.level(p, held._rounds)} == {several.outcast}, "nobody else"
        assert not {p for p in several.peers if held._late.level(p, held._rounds)} - {several.outcast}
    assert several.rounds(1)[0] > 0.9 * min(took[:2]), "it may come back, and is tried again"
    assert max(several.rounds(2 * REST_ROUNDS)[:-1]) < 3.2 * honest_s, "then it is hurried for longer"


@pytest.mark.parametrize("count", [2, 3, 5])
@pytest.mark.parametrize("seconds", [12.0, 40.0, 100.0])
def test_a_reducer_that_is_always_late_costs_two_rounds(count: int, seconds: float) -> None:
    several = Several(count, trickles(Mean, seconds=seconds), place=count - 1)
    honest_s = median(Several(count).rounds(1))
    took = several.rounds(2 + REST_ROUNDS)
    assert took[0] > 11.5
    assert max(took[2 : 1 + REST_ROUNDS]) < 1.3 * honest_s
    assert not any(several.missing)


def test_a_slow_line_that_the_plan_knows_is_no_offence() -> None:
    """And one that it does not know is one, until it does."""
    several = Several(4, place=3)
    slow = Line(up_bytes_per_s=BYTES_PER_S / 5, down_bytes_per_s=2 * BYTES_PER_S / 5)
    several.lines = [*several.lines[:3], slow]
    took = several.rounds(4)
    assert all(not held.remembered(several.peers).hurried for held in several.held.values())
    several.rates = [Rates(int(BYTES_PER_S), int(2 * BYTES_PER_S))] * 4
    several.rounds(2)
    assert several.held[several.peers[0]].remembered(several.peers).hurried == {several.peers[3]}
    several.rates = None
    assert several.rounds(2) == pytest.approx(took[:2])
    assert not several.missing[-1], "in time by the plan: it is waited for"
