"""Members that move, but so slowly that a round would never end; and whom a round names when it has failed."""

from types import SimpleNamespace
from typing import Any

import msgspec
import pytest

from core.averaging.allreduce.butterfly import Butterfly
from core.averaging.allreduce.laggards import Laggards
from core.averaging.allreduce.overtime import Overtime
from core.averaging.commit.blame import Blame
from core.averaging.commit.sealing import plan_name
from core.averaging.commit.steering import COMMIT_BY
from core.averaging.commit.waiting import Waiting
from core.averaging.messages import Leaving, Mean, Open, Order, Part, Stalled, Status, Tally
from core.averaging.outcome import RoundFailed
from core.base.ids import PeerId
from core.base.machine import Received, Send, Tick
from core.base.trace import Trace
from tests.unit.averaging.liars import corrupt, ends, finished
from tests.unit.averaging.pump import Pump, Round, make_plan

SAMPLES = [3, 4, 5, 6]


def trickle(round_: Round, liar: int, kind: type, *, each_s: float) -> PeerId:
    """Let a member's words of one kind leave one by one."""
    kept: list[Send[Any]] = []

    def says(send: Send[Any], now: float) -> list[Send[Any]]:
        if isinstance(send.message, kind):
            kept.append(send)
            return []
        return [send]

    name = corrupt(round_, liar, says)

    def before(pump: Pump, peer: PeerId, event: Any) -> None:
        inner(pump, peer, event)
        while kept and times and pump.now >= times[0]:
            del times[0]
            send = kept.pop(0)
            pump.push(pump.now, send.to, Received(name, send.message))

    inner = round_.pump.before
    assert inner is not None
    round_.pump.before = before
    times = [round_.began + each_s * beat for beat in range(int(round_.plan.round_timeout_s / each_s))]
    for at in times:
        round_.pump.push(at, name, Tick())
    return name


@pytest.mark.parametrize("liar", range(4))
def test_a_reducer_that_only_says_that_it_is_there_is_replaced(liar: int) -> None:
    plan = make_plan(SAMPLES, 16 * 40)
    round_ = Round(plan)
    name = corrupt(round_, liar, lambda send, now: [] if isinstance(send.message, Mean) else [send])
    others = [peer for peer in plan.peers if peer != name]
    for second in range(1, 20):
        for other in others:
            word = Open(plan.round, plan_name(plan), ((liar, 0),))
            round_.pump.push(round_.began + second, other, Received(name, word))
    round_.run()
    outcomes = finished(round_, but=name)
    assert {outcome.makers[liar] for outcome in outcomes} != {liar}
    took = max(outcome.seconds for outcome in outcomes)
    assert took < 3 * plan.stall_timeout_s


@pytest.mark.parametrize("liar", range(4))
def test_a_reducer_that_sends_a_mean_now_and_then_is_replaced_at_half_time(liar: int) -> None:
    plan = make_plan(SAMPLES, 16 * 400, round_timeout_s=40.0)
    round_ = Round(plan)
    name = trickle(round_, liar, Mean, each_s=0.2)
    round_.run()
    outcomes = finished(round_, but=name)
    assert {outcome.makers[liar] for outcome in outcomes} != {liar}
    assert {outcome.seen.late for outcome in outcomes} == {(name,)}
    assert max(outcome.seconds for outcome in outcomes) < COMMIT_BY * plan.round_timeout_s


@pytest.mark.parametrize("liar", range(3))
def test_a_sender_that_sends_a_part_now_and_then_is_left_behind(liar: int) -> None:
    """Its reducers would be blamed for it, were it not dropped before."""
    plan = make_plan(SAMPLES, 16 * 400, round_timeout_s=40.0)
    round_ = Round(plan)
    liar = [m for m in range(4) if m != plan.leaders[0]][liar]
    name = trickle(round_, liar, Part, each_s=0.2)
    round_.run()
    outcomes = finished(round_, but=name)
    assert {outcome.makers for outcome in outcomes} == {(0, 1, 2, 3)}
    missing = dict(outcomes[0].missing)
    assert missing.pop(name) > 200
    assert sum(missing.values()) < plan.chunks[liar], "but for what it makes of its own share"
    assert max(outcome.seconds for outcome in outcomes) < COMMIT_BY * plan.round_timeout_s


def test_whoever_is_slow_but_in_time_is_let_be() -> None:
    laggards = Laggards(100.0, 50.0)
    found = []
    for look in range(1, 10):
        at = 100.0 + 5.0 * look
        left = {(0, 0): 110 - 11 * look, (1, 0): 115 - 5 * look}
        found.append(laggards.look(at, left.copy))
    assert [number for number, _ in found] == [0, 2, 3, 4, 5, 6, 7, 8, 9]
    assert all(late == {(1, 0)} for number, late in found if number > 3)
    assert laggards.deadline is None


@pytest.mark.parametrize("at", [3, 4, 5, 6, 7])
def test_one_tenth_in_which_nothing_moves_makes_nobody_late(at: int) -> None:
    laggards = Laggards(100.0, 50.0)
    left = 110
    for look in range(1, 10):
        left -= 0 if look == at else 15
        number, late = laggards.look(100.0 + 5.0 * look, lambda left=left: {(0, 0): max(1, left)})
        assert not late, number


def test_who_has_slept_through_several_looks_takes_nobody_for_late() -> None:
    laggards = Laggards(100.0, 50.0)
    assert [laggards.look(at, lambda: {(0, 0): 10})[1] for at in (110.0, 129.0)] == [set(), set()]
    assert laggards.look(130.0, lambda: {(0, 0): 10}) == (6, set()), "one second is no pace"
    assert laggards.look(135.0, lambda: {(0, 0): 10}) == (7, {(0, 0)})


@pytest.mark.parametrize("liar", range(3))
def test_who_never_says_that_it_is_complete_is_excluded_and_told(liar: int) -> None:
    plan = make_plan(SAMPLES, 16 * 40)
    liar = [m for m in range(4) if m != plan.leaders[0]][liar]

    def says(send: Send[Any], now: float) -> list[Send[Any]]:
        if isinstance(send.message, Status):
            word = msgspec.structs.replace(send.message, complete=False, lacking=5, salt=b"")
            send = Send(send.to, word)
        return [send]

    round_ = Round(plan)
    name = corrupt(round_, liar, says)
    round_.run()
    assert max(outcome.seconds for outcome in finished(round_, but=name)) < 2 * plan.stall_timeout_s
    end = ends(round_)[name]
    assert isinstance(end, RoundFailed)
    assert "without this computer" in end.reason


@pytest.mark.parametrize("liar", range(3))
def test_who_never_says_what_its_means_are_is_excluded(liar: int) -> None:
    plan = make_plan(SAMPLES, 16 * 40)
    liar = [m for m in range(4) if m != plan.leaders[0]][liar]
    round_ = Round(plan)

    def says(send: Send[Any], now: float) -> list[Send[Any]]:
        sealed = isinstance(send.message, Status) and send.message.seals
        return [Send(send.to, msgspec.structs.replace(send.message, salts=(), seals=())) if sealed else send]

    name = corrupt(round_, liar, says)
    round_.run()
    assert max(outcome.seconds for outcome in finished(round_, but=name)) < 2 * plan.stall_timeout_s


def test_waiting_ends_without_movement_and_after_twice_the_time_of_the_others() -> None:
    waiting = Waiting(Overtime(make_plan(SAMPLES, 160), planned_s=0.0, began_at=0.0), of=3)
    waiting.begin(None, 4.0)
    assert waiting.too_long(4.0, began_at=0.0, patience_s=2.0) == []
    found = []
    for step in range(40):
        now = 10.0 + 0.5 * step
        waiting.heard(1, 100 - step, now)
        waiting.heard(2, 50, now)
        waiting.begin([1, 2], now)
        found.append(waiting.too_long(now, began_at=6.0, patience_s=2.0))
    still = found.index([2])
    assert 10.0 + 0.5 * still == 12.0
    assert 10.0 + 0.5 * found.index([1, 2]) == 10.0 + 2.0 + 2 * 4.0
    waiting.restart()
    waiting.begin([1, 2], 50.0)
    assert waiting.too_long(50.0, began_at=6.0, patience_s=2.0) == []


@pytest.mark.parametrize("helper", range(4))
def test_a_helper_that_is_not_told_blocks_nobody(helper: int) -> None:
    samples = list(SAMPLES)
    samples[helper] = 0
    plan = make_plan(samples, 16 * 40)
    members = list(plan.members)
    members[helper] = msgspec.structs.replace(members[helper], receives=False)
    plan = msgspec.structs.replace(plan, members=tuple(members))
    round_ = Round(plan)
    name = plan.peers[helper]
    round_.machines[name] = Butterfly(name, plan, contribution=None, result=None, trace=Trace())
    for member in range(4):
        if member != helper:
            corrupt(round_, member, lambda send, now: [] if isinstance(send.message, Tally) else [send])
    round_.run()
    assert max(outcome.seconds for outcome in finished(round_, but=name)) < plan.stall_timeout_s
    assert isinstance(ends(round_)[name], RoundFailed)


def test_a_leader_that_never_commits_is_named() -> None:
    plan = make_plan(SAMPLES, 16 * 40)
    round_ = Round(plan)
    leads = (Open, Part, Mean)
    leader = corrupt(round_, plan.leaders[0], lambda send, now: [send] if isinstance(send.message, leads) else [])
    for beat in range(1, 45):
        order = Order(plan.round, 0, 1000 + beat, True, (0,) * 4, (0, 1, 2, 3), b"\x0f")
        for peer in plan.peers:
            if peer != leader:
                round_.pump.push(round_.began + beat / 2, peer, Received(leader, order))
    round_.run()
    failed = [end for peer, end in ends(round_).items() if peer != leader]
    assert [end.suspects for end in failed if isinstance(end, RoundFailed)] == [(leader,)] * 3


def test_a_reducer_whose_means_do_not_come_is_named() -> None:
    """It leads, and so nobody else is given its share."""
    plan = make_plan(SAMPLES[:2], 16 * 40)
    round_ = Round(plan)
    deaf = Received(plan.peers[0], Leaving(bytes(32)))
    liar = corrupt(
        round_,
        plan.leaders[0],
        lambda send, now: [] if isinstance(send.message, Mean) else [send],
        hears=lambda event: deaf if isinstance(event.message, Stalled) else event,
    )
    round_.run()
    failed = [end for peer, end in ends(round_).items() if peer != liar]
    assert [end.suspects for end in failed if isinstance(end, RoundFailed)] == [(liar,)]


def test_who_leaves_by_itself_names_nobody() -> None:
    plan = make_plan(SAMPLES, 160)
    round_ = Round(plan)
    machine = round_.machines[plan.peers[0]]
    machine.start(0.0)
    [*_, end] = machine.leave(10.0)
    assert end == RoundFailed(plan.round, "this computer left the round")


def test_who_was_complained_of_is_named_although_it_has_hung_up_since() -> None:
    plan = make_plan(SAMPLES, 160)
    blame = Blame(plan, 0)
    blame.bits = 0b1000
    named = blame.suspects(SimpleNamespace(patience=SimpleNamespace(blamed=0b0100)), None, lost=0b1100)  # type: ignore[arg-type]
    assert named == (plan.peers[2],)
