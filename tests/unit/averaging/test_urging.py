"""A member that lacks means when the others are done gets them elsewhere before anything is held against it."""

from statistics import median
from typing import Any

import msgspec
import pytest

from core.averaging.allreduce.butterfly import Butterfly
from core.averaging.allreduce.overtime import GRACE_PLAN, GRACE_STALL, HURRIED, SLOWER, URGED_BY, Overtime
from core.averaging.commit.leadership import Leadership
from core.averaging.commit.urging import Urging
from core.averaging.messages import Mean, Order, Part, Stalled, Status, Tally, from_bits
from core.averaging.outcome import RoundFinished
from core.averaging.plan import Rates
from core.base.ids import PeerId
from core.base.machine import Received, Send
from core.base.trace import Trace
from tests.unit.averaging.liars import Liar, corrupt, ends
from tests.unit.averaging.pump import Pump, Round, make_plan
from tests.unit.averaging.several import Nuisance, Several, Trickle

NEVER_S = 1e4
STALL_S = 8.0
PLAN = make_plan([1] * 5, 16 * 20, stall_timeout_s=STALL_S)
PLANNED_S = 10.0
BEGAN_AT = 100.0
GRACE_S = GRACE_PLAN * PLANNED_S + GRACE_STALL * STALL_S


class TrickleToOne(Trickle):
    """Only what is for one member, from some chunk on, leaves slowly."""

    def __init__(self, machine: Butterfly, *, to: PeerId, first: int, each_s: float) -> None:
        super().__init__(machine, Mean, each_s=each_s)
        self._to = to
        self._first = first

    def _keeps(self, send: Send[Any]) -> bool:
        return super()._keeps(send) and send.to == self._to and send.message.chunk >= self._first


def starves(victim: int, *, seconds: float, last: float) -> Nuisance:
    """The means of the last part of its share take so long to one member."""

    def make(machine: Butterfly, several: Several) -> Liar:
        own = machine.plan.chunks[several.place]
        first = int(own * (1 - last))
        return TrickleToOne(machine, to=several.peers[victim], first=first, each_s=seconds / max(1, own))

    return make


def whines(*, shrinks: bool) -> Nuisance:
    """Always says that it lacks means of everybody's, and complains of all when it is urged."""

    def make(machine: Butterfly, several: Several) -> Liar:
        lacking = 1000

        def says(send: Send[Any], now: float) -> list[Send[Any]]:
            nonlocal lacking
            word = send.message
            if isinstance(word, Status):
                lacking -= shrinks
                word = msgspec.structs.replace(word, complete=False, lacking=lacking, salt=b"", salts=(), seals=())
            return [Send(send.to, word)]

        class Whiner(Liar):
            def handle(self, event: Any, now: float) -> list[Any]:
                outputs = super().handle(event, now)
                word = event.message if isinstance(event, Received) else None
                if isinstance(word, Order) and from_bits(word.urged) >> several.place & 1:
                    shares = (share for share in range(several.count) if share != several.place)
                    outputs += [Send(event.sender, Stalled(word.round, share, 0)) for share in shares]
                return outputs

        return Whiner(machine, says)

    return make


@pytest.mark.parametrize("count", [3, 5])
@pytest.mark.parametrize(("seconds", "last"), [(12.0, 1.0), (40.0, 0.4), (NEVER_S, 0.4), (NEVER_S, 0.1)])
def test_to_whom_alone_a_reducer_gives_slowly_is_not_left_behind(count: int, seconds: float, last: float) -> None:
    """`Several` asserts that everybody but the reducer holds the mean of each round."""
    several = Several(count, starves(0, seconds=seconds, last=last), place=count - 1)
    took = several.rounds(2 * count)
    honest_s = median(Several(count).rounds(1))
    assert max(took) < 3.2 * honest_s
    assert max(sum(missing.values()) for missing in several.missing) <= 6, "of 125: what the reducer itself leaves out"
    victim, liar = several.peers[0], several.outcast
    for peer in set(several.peers) - {liar}:
        held = several.held[peer]
        assert not any(held._slow.level(p, held._rounds) for p in several.peers), "nobody is held up by the victim"
        assert not any(held._late.level(p, held._rounds) for p in several.peers if p != liar)
    held = several.held[victim]
    assert held._late.level(liar, held._rounds) > 1
    assert any(plan.leaders[0] == 0 and not plan.chunks[count - 1] for plan in several.plans), "the victim's plans"


@pytest.mark.parametrize("shrinks", [False, True])
def test_whoever_says_that_it_lacks_means_gets_no_more_time_by_that(*, shrinks: bool) -> None:
    several = Several(3, whines(shrinks=shrinks), place=2)
    took = several.rounds(6)
    honest_s = median(Several(3).rounds(1))
    assert max(took[:4]) < (5.0 if shrinks else 3.2) * honest_s, "twice for each leader"
    assert max(took[4:]) < 1.7 * honest_s
    for peer in several.peers[:2]:
        held = several.held[peer]
        assert held.remembered(several.peers).hurried == {several.outcast}
        assert not any(held._late.level(p, held._rounds) for p in several.peers), "nobody else pays for it"


def test_the_time_to_ask_elsewhere_comes_before_anything_is_counted() -> None:
    counted = Overtime(PLAN, planned_s=PLANNED_S, began_at=BEGAN_AT, hurried=0b100)
    since = BEGAN_AT + 3 * PLANNED_S
    at = counted.urged_at(1, since)
    assert at == since + GRACE_S
    counted.count([], since, of=4)
    counted.count([1], at, of=4)
    assert counted.slow == 0
    counted.urged(1, at)
    counts_from = at + (SLOWER - HURRIED) * PLANNED_S
    counted.count([1], counts_from + GRACE_S, of=4)
    assert counted.slow == 0
    counted.count([1], counts_from + GRACE_S + 0.01, of=4)
    assert counted.slow == 0b10
    assert counted.urged_at(2, BEGAN_AT) == BEGAN_AT + HURRIED * PLANNED_S, "when its patience begins"


@pytest.mark.parametrize(
    ("planned_s", "took_s", "after_s"),
    [
        (0.0, 4.0, GRACE_PLAN * 4.0 + GRACE_STALL * STALL_S),
        (0.0, 100.0, URGED_BY * STALL_S),
        (100.0, 100.0, URGED_BY * STALL_S),
        (100.0, 4.0, GRACE_PLAN * 4.0 + GRACE_STALL * STALL_S),
    ],
)
def test_who_is_still_is_urged_before_it_is_left_behind(planned_s: float, took_s: float, after_s: float) -> None:
    """Also where no lines are known: then what the others took is the measure."""
    counted = Overtime(PLAN, planned_s=planned_s, began_at=BEGAN_AT)
    since = BEGAN_AT + took_s
    assert counted.urged_at(1, since) - since == pytest.approx(after_s)
    assert after_s < STALL_S


def test_whoever_is_hurried_is_urged_as_well_where_no_lines_are_known() -> None:
    """As under a successor, who knows no planned time either."""
    counted = Overtime(PLAN, planned_s=0.0, began_at=BEGAN_AT, hurried=0b10)
    assert counted.urged_at(1, BEGAN_AT + 4.0) == counted.urged_at(2, BEGAN_AT + 4.0) < BEGAN_AT + 4.0 + STALL_S


def test_each_is_urged_when_its_time_has_come_and_granted_time_once() -> None:
    urging = Urging(Overtime(PLAN, planned_s=PLANNED_S, began_at=BEGAN_AT, hurried=0b100))
    since = BEGAN_AT + PLANNED_S
    urging.lack([1, 2], since)
    assert urging.deadline == BEGAN_AT + HURRIED * PLANNED_S
    assert not urging.urge(since)
    assert urging.urge(BEGAN_AT + HURRIED * PLANNED_S)
    assert urging.urged == 0b100
    urging.lack([1, 2], since + 1.0)
    assert urging.deadline == since + GRACE_S, "since it lacks them"
    assert urging.urge(since + GRACE_S)
    assert urging.urged == 0b110
    assert urging.deadline is None
    urging.restart()
    assert urging.urged == 0
    granted = urging._overtime._begins_at[1]
    urging.lack([1], since + 50.0)
    assert urging.urge(since + 60.0)
    assert urging._overtime._begins_at[1] == granted
    urging.lack([], since + 61.0)
    assert urging.deadline is None


def leadership(*, chunks: tuple[int, ...]) -> Leadership:
    """Led by member 0 of five."""
    lines = (Rates(1, 100), *[Rates(100, 100)] * 4)
    plan = msgspec.structs.replace(PLAN, leaders=(0, 1, 2, 3, 4), chunks=chunks, lines=lines)
    return Leadership(
        plan=plan,
        rank=0,
        live=0b11111,
        versions=[0] * 5,
        reducers=list(range(5)),
        settled=True,
        now=BEGAN_AT,
        trace=Trace(),
        overtime=Overtime(plan, planned_s=PLANNED_S, began_at=BEGAN_AT),
    )


def status(leads: Leadership, *, complete: bool) -> Status:
    lacking = 0 if complete else 3
    return Status(leads.plan.round, 0, (0,) * 5, tuple(leads.reducers), b"\x1f", complete, False, lacking, b"s" * 8)


@pytest.mark.parametrize(("chunks", "giver"), [((4, 4, 4, 4, 4), 0), ((1, 5, 5, 5, 4), 1)])
def test_the_leader_gives_the_means_itself_if_it_has_the_line_for_it(chunks: tuple[int, ...], giver: int) -> None:
    leads = leadership(chunks=chunks)
    for member in range(4):
        leads.note(member, status(leads, complete=True), BEGAN_AT + PLANNED_S)
    leads.note(4, status(leads, complete=False), BEGAN_AT + PLANNED_S)
    leads.complain(4, 2, 0)
    assert leads.reducers[2] == 1, "whoever holds them and has the best line gives them"
    leads = leadership(chunks=chunks)
    for member in range(5):
        leads.note(member, status(leads, complete=member < 4), BEGAN_AT + PLANNED_S)
    assert leads.deadline <= BEGAN_AT + PLANNED_S + GRACE_S
    leads.urge(BEGAN_AT + PLANNED_S + GRACE_S)
    assert leads.order(BEGAN_AT + 20.0).urged == b"\x10"
    leads.complain(4, 2, 0)
    assert leads.reducers[2] == giver
    assert leads.versions == [0] * 5


def test_for_one_that_is_urged_nothing_is_made_anew() -> None:
    """In a group of two everybody's complaint would be enough."""
    plan = msgspec.structs.replace(make_plan([1, 1], 320), leaders=(0, 1))
    overtime = Overtime(plan, planned_s=PLANNED_S, began_at=BEGAN_AT)
    leads = Leadership(
        plan=plan,
        rank=0,
        live=0b11,
        versions=[0, 0],
        reducers=[0, 1],
        settled=True,
        now=BEGAN_AT,
        trace=Trace(),
        overtime=overtime,
    )
    word = Status(plan.round, 0, (0, 0), (0, 1), b"\x03", True, False, 0, b"s" * 8)
    leads.note(0, word, BEGAN_AT + PLANNED_S)
    leads.urge(BEGAN_AT + 3 * PLANNED_S)
    assert leads.order(BEGAN_AT + 3 * PLANNED_S).urged == b"\x02"
    leads.complain(1, 0, 0)
    assert leads.versions == [0, 0]


@pytest.mark.parametrize("count", [3, 5])
@pytest.mark.parametrize("silent", ["helper", "trainer"])
def test_helpers_that_lack_nothing_do_not_keep_a_share_from_being_made_anew(count: int, silent: str) -> None:
    """They are most of the group, but nobody holds the means, or only the one who keeps them back."""
    plan = make_plan([1] * count, 16 * 4 * count)
    members = tuple(
        msgspec.structs.replace(member, samples=0, receives=False) if index > 1 else member
        for index, member in enumerate(plan.members)
    )
    plan = msgspec.structs.replace(plan, members=members, leaders=tuple(range(count)))
    round_ = Round(plan)
    keeps = count - 1 if silent == "helper" else 1
    corrupt(round_, keeps, lambda send, _: [] if isinstance(send.message, (Mean, Tally)) else [send])
    round_.run()
    ended = ends(round_)
    assert all(isinstance(ended[peer], RoundFinished) for peer in plan.peers if peer != plan.peers[keeps])


def test_whoever_lacks_means_of_most_does_not_ask_again() -> None:
    """Its own line is the slow one.  Of few reducers it complains, once, and blames them if it has waited for them."""
    plan = msgspec.structs.replace(PLAN, lines=(Rates(100, 100),) * 5)
    exchange = Round(plan).machines[plan.peers[0]]._exchange
    exchange.start(0.0)
    exchange._reducers.clear()
    late_at = exchange.patience.planned_s + 0.6 * (GRACE_PLAN * exchange.patience.planned_s + GRACE_STALL * STALL_S)
    arrived = [1, 2]
    for share in arrived:
        for chunk in range(exchange.lanes[share].count):
            exchange.lanes[share].arrive(chunk, 0b11111, 1.0)
    assert exchange.patience.urged(1.0, rank=0) == []
    for chunk in range(exchange.lanes[3].count):
        exchange.lanes[3].arrive(chunk, 0b11111, 1.0)
    exchange.patience.count_means(exchange.patience.planned_s + 0.001)
    assert exchange.patience.urged(exchange.patience.planned_s + 0.002, rank=0) == [(4, 0)]
    assert exchange.patience.behind == 0
    assert exchange.patience.urged(late_at, rank=0) == [], "once"
    assert exchange.patience.behind == 0b10000
    assert exchange.patience.urged(late_at, rank=1) == [(4, 0)], "another leader, who was told nothing"


@pytest.mark.parametrize("dies", [False, True])
def test_whoever_has_told_a_leader_that_is_gone_what_it_lacks_tells_its_successor(*, dies: bool) -> None:
    round_ = Round(msgspec.structs.replace(PLAN, leaders=(0, 1, 2, 3, 4), round_timeout_s=60.0))
    peers, last = round_.plan.peers, round_.plan.chunks[3] - 1

    def keeps(send: Send[Any], _: float) -> list[Send[Any]]:
        return [] if isinstance(send.message, Mean) and (send.to, send.message.chunk) == (peers[4], last) else [send]

    def kills(pump: Pump, peer: PeerId, event: Any) -> None:
        start(pump, peer, event)
        if dies and peer == peers[0] and isinstance(getattr(event, "message", None), Stalled):
            pump.kill(peer)

    start = round_.pump.before
    assert start is not None
    round_.pump.before = kills
    corrupt(round_, 3, keeps)
    round_.run()
    assert (peers[0] in round_.pump.dead) is dies
    assert isinstance(ends(round_)[peers[4]], RoundFinished)


def test_a_leader_that_lacks_means_of_most_when_it_is_to_ask_asks_when_it_is_few() -> None:
    """As the others do, whom it tells again with each of its orders."""
    round_ = Round(msgspec.structs.replace(PLAN, leaders=(0, 1, 2, 3, 4), round_timeout_s=60.0))
    peers, chunks = round_.plan.peers, round_.plan.chunks
    kept: list[Send[Any]] = []

    def last(send: Send[Any], share: int) -> bool:
        return isinstance(send.message, Mean) and (send.to, send.message.chunk) == (peers[0], chunks[share] - 1)

    def delays(send: Send[Any], now: float) -> list[Send[Any]]:
        if last(send, 2) and now < round_.began + 2.0:
            kept.append(send)
            return []
        said = [*kept, send] if now > round_.began + 2.0 else [send]
        kept[:] = [] if now > round_.began + 2.0 else kept
        return said

    corrupt(round_, 2, delays)
    corrupt(round_, 3, lambda send, _: [] if last(send, 3) else [send])
    round_.run()
    assert all(isinstance(end, RoundFinished) for end in ends(round_).values())
    assert round_.pump.now - round_.began < STALL_S


def test_a_reducer_that_lied_is_not_free_of_blame_because_another_repeats_the_rest() -> None:
    """It gives one member other means, but for the last, for which that one has to ask elsewhere."""
    round_ = Round(msgspec.structs.replace(PLAN, leaders=(0, 1, 2, 3, 4), round_timeout_s=60.0))
    peers, last = round_.plan.peers, round_.plan.chunks[3] - 1

    def lies(send: Send[Any], _: float) -> list[Send[Any]]:
        word = send.message
        if not isinstance(word, Mean) or send.to != peers[4] or word.version:
            return [send]
        other = msgspec.structs.replace(word, payload=memoryview(bytes(word.payload.nbytes)))
        return [] if word.chunk == last else [Send(send.to, other)]

    corrupt(round_, 3, lies)
    round_.run()
    end = ends(round_)[peers[0]]
    assert isinstance(end, RoundFinished)
    assert peers[3] in end.outcome.seen.doubtful
    assert end.outcome.makers[3] != 3, "nor does it make them again"


def test_whoever_repeats_means_needs_no_parts_and_is_never_late() -> None:
    plan = msgspec.structs.replace(PLAN, lines=(Rates(100, 100),) * 5)
    exchange = Round(plan).machines[plan.peers[0]]._exchange
    exchange.start(0.0)
    exchange._reducers.clear()
    exchange._opened |= {(share, share): 0 for share in range(1, 5)} | {(4, 1): 0}
    for share in (1, 2, 3):
        for chunk in range(exchange.lanes[share].count):
            exchange.lanes[share].arrive(chunk, 0b11111, 1.0)
    sends = exchange.assign((0,) * 5, (0, 1, 2, 3, 1), 0b11111, now=2.0)
    parts = [send.message for send in sends if isinstance(send.message, Part)]
    assert parts
    assert all(part.share == 4 and not part.payload.nbytes for part in parts)
    exchange.patience.count_means(exchange.patience.planned_s + 1.0)
    exchange.patience.count_means(100 * exchange.patience.planned_s)
    assert exchange.patience.behind == 0


@pytest.mark.parametrize("anew", [0, 2])
def test_where_a_share_is_made_anew_no_reducer_is_late(anew: int) -> None:
    """No plan knows how long that takes; `anew`: the version of a share that I do not wait for."""
    plan = msgspec.structs.replace(PLAN, lines=(Rates(100, 100),) * 5)
    exchange = Round(plan).machines[plan.peers[0]]._exchange
    exchange.start(0.0)
    exchange._reducers.clear()
    exchange.assign((0, anew, 0, 0, 0), range(5), 0b11111, now=1.0)
    for share in (1, 2, 3):
        for chunk in range(exchange.lanes[share].count):
            exchange.lanes[share].arrive(chunk, 0b11111, 1.0)
    exchange.patience.count_means(exchange.patience.planned_s + 0.001)
    exchange.patience.count_means(100 * exchange.patience.planned_s)
    assert exchange.patience.behind == (0 if anew else 0b10000)
