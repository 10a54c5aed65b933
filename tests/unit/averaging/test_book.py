"""One peer's book of lines."""

from typing import Any

import msgspec
import pytest

from core.averaging.bandwidth.book import CHUNKS_LEAST, HALF_LIFE_S, PEERS_MAX, ROUNDS, ROUNDS_LEAST, LineBook, Waits
from core.averaging.bandwidth.demand import demand_of
from core.averaging.bandwidth.known import USUAL_MOST
from core.averaging.bandwidth.proven import DOUBT_FIRST, TRIAL
from core.averaging.bandwidth.records import LineFacts, from_level, mark_of
from core.averaging.messages import Mean, Part
from core.averaging.outcome import Outcome
from core.averaging.plan import Plan, Rates
from core.base.ids import PeerId
from core.base.machine import Send
from core.base.meter import LOOK_S, Glance
from tests.unit.averaging.pump import make_plan, peer_ids

MEGA = 1_000_000


def plan_of(*rates: int, chunks: tuple[int, ...] | None = None) -> Plan:
    plan = make_plan([1] * len(rates), 1_600_000, chunk_numel=16_000)
    lines = tuple(Rates(rate, rate) for rate in rates) if any(rates) else ()
    return msgspec.structs.replace(plan, lines=lines, chunks=chunks or plan.chunks)


def outcome(plan: Plan, seconds: float, **changes: Any) -> Outcome:
    """How it ended for everybody."""
    example: dict[str, Any] = {
        "round": plan.round,
        "versions": (0,) * len(plan.members),
        "contributors": tuple((peer, 1) for peer in plan.peers),
        "missing": (),
        "chunk_total": plan.chunk_total,
        "loss": 1.0,
        "seconds": seconds,
        "payload_bytes": 0,
    }
    fields = {field: example.get(field, ()) for field in Outcome.__dataclass_fields__}
    return Outcome(**(fields | changes))


def played(book: LineBook, plan: Plan, seconds: float, *, last: PeerId | None = None, **changes: Any) -> None:
    """A round as the book's owner sees it; `last` is whose parts come last."""
    book.begun(plan, 100.0)
    mine = plan.peers.index(book._me)
    for chunk in range(plan.chunks[mine] if last is not None else 0):
        part = Part(plan.round, mine, 0, chunk, memoryview(b""))
        mean = Mean(plan.round, mine, 0, chunk, b"\x01", memoryview(b""))
        book.saw(last, part, [Send(last, mean)], 100.0 + chunk)  # type: ignore[arg-type]
    book.finished(plan, outcome(plan, seconds, **changes), 100.0 + seconds)


def test_a_plan_asks_for_what_its_parts_and_means_weigh() -> None:
    """Against a count, chunk by chunk, of what goes over each line."""
    plan = plan_of(MEGA, MEGA, MEGA, MEGA, chunks=(40, 30, 20, 10))
    plan = msgspec.structs.replace(
        plan,
        members=tuple(
            msgspec.structs.replace(m, samples=int(i != 3), receives=i != 2) for i, m in enumerate(plan.members)
        ),
    )
    up, down = [0.0] * 4, [0.0] * 4
    for reducer, count in enumerate(plan.chunks):
        for other in range(4):
            if other == reducer:
                continue
            size = 4.0 * 16_000 * count
            if plan.members[other].samples:
                up[other] += size
                down[reducer] += size
            if plan.members[other].receives:
                up[reducer] += size
                down[other] += size
    demand = demand_of(plan)
    assert demand.up_bytes == pytest.approx(up)
    assert demand.down_bytes == pytest.approx(down)
    assert demand.seconds == pytest.approx(max(*up, *down) / MEGA)
    assert demand_of(plan_of(0, 0)).seconds is None


def test_a_round_proves_to_all_what_its_members_lines_carry() -> None:
    plan = plan_of(0, 0, 0)
    book = LineBook(plan.peers[0])
    played(book, plan, 4.0)
    demand = demand_of(plan)
    known = book.known(plan.peers)
    for index in (1, 2):
        assert known.lines[plan.peers[index]].up == pytest.approx(demand.up_bytes[index] / 4, rel=0.01)


@pytest.mark.parametrize("changes", [{"versions": (0, 0, 1, 0)}, {"missing": ((peer_ids(4)[2], 4),)}])
def test_partly_failed_round_proves_the_traffic_between_the_other_members(changes: dict[str, Any]) -> None:
    """Against a count, chunk by chunk, of what goes over each line without the one that failed."""
    plan = plan_of(0, 0, 0, 0, chunks=(40, 30, 20, 10))
    book = LineBook(plan.peers[0])
    played(book, plan, 4.0, **changes)
    up = [0.0] * 4
    for reducer in (0, 1, 3):
        for other in {0, 1, 3} - {reducer}:
            size = 4.0 * 16_000 * plan.chunks[reducer]
            up[other] += size
            up[reducer] += size
    seen = {found.peer: from_level(found.up) for found in book.facts().seen}
    assert seen[mark_of(plan.peers[1])] == pytest.approx(up[1] / 4, rel=0.04)
    assert seen[mark_of(plan.peers[3])] == pytest.approx(up[3] / 4, rel=0.04)
    assert not seen[mark_of(plan.peers[2])], "it has shown nothing"


def test_lossy_round_takes_the_floor_only_of_failing_members() -> None:
    plan = plan_of(0, 0, 0)
    _, sound, gone = plan.peers
    book = LineBook(plan.peers[0])
    played(book, plan, 4.0)
    before = book.known(plan.peers).lines
    for peer in (sound, gone):
        book.heard(peer, LineFacts(Rates(1, 1)))
    played(book, plan, 100.0, versions=(0, 0, 1))
    after = book.known(plan.peers).lines
    ours = pytest.approx(before[sound].up, rel=0.01)
    assert after[sound].up == ours, "a slow round is no upper limit when somebody failed"
    assert after[gone].up == 1, "it may say that it has become slower"


def test_after_a_round_that_failed_less_is_believed_of_everybody() -> None:
    plan = plan_of(0, 0, 0)
    book = LineBook(plan.peers[0])
    played(book, plan, 4.0)
    for peer in plan.peers[1:]:
        book.heard(peer, LineFacts(Rates(1, 1)))
    assert all(book.known(plan.peers).lines[peer].up > 1000 for peer in plan.peers[1:])
    book.begun(plan, 200.0)
    book.failed(plan, 201.0)
    assert all(book.known(plan.peers).lines[peer].up == 1 for peer in plan.peers[1:])


def test_a_round_that_asks_for_nothing_teaches_nothing() -> None:
    """All but one were gone before it began."""
    plan = plan_of(MEGA)
    book = LineBook(plan.peers[0])
    played(book, plan, 0.5)
    assert book.known(plan.peers).lines == {}


def test_what_was_seen_long_ago_counts_for_less() -> None:
    plan = plan_of(0, 0, 0)
    book = LineBook(plan.peers[0])
    played(book, plan, 4.0)
    before = book.known(plan.peers).lines[plan.peers[1]].up
    book.aged(1000.0)
    book.aged(1000.0 + 2 * HALF_LIFE_S)
    assert book.known(plan.peers).lines[plan.peers[1]].up == pytest.approx(before / 4, rel=0.01)


def test_rounds_always_longer_than_planned_cast_doubt_on_no_member() -> None:
    """All lose half of their time to what is no line's fault, and somebody is always last."""
    plan = plan_of(MEGA, MEGA, MEGA, MEGA)
    book = LineBook(plan.peers[0])
    seconds = demand_of(plan).seconds
    assert seconds is not None
    for number in range(12):
        for peer in plan.peers[1:]:
            book.heard(peer, LineFacts(Rates(MEGA, MEGA)))
        played(book, plan, 1.8 * seconds, last=plan.peers[1 + number % 3])
    up = [book.known(plan.peers).lines[peer].up for peer in plan.peers[1:]]
    assert up == [MEGA] * 3


def test_usual_overrun_is_the_least_of_the_last_rounds() -> None:
    plan = plan_of(MEGA, MEGA, MEGA, MEGA)
    book = LineBook(plan.peers[0])
    seconds = demand_of(plan).seconds
    assert seconds is not None
    for number in range(ROUNDS_LEAST):
        assert book.usual == 1.0, "little is known yet"
        played(book, plan, (1.6 + 0.1 * number) * seconds)
    assert book.usual == pytest.approx(1.6)
    played(book, plan, seconds)
    assert book.usual == 1.0
    for _ in range(ROUNDS):
        played(book, plan, 100 * seconds)
    assert book.usual == USUAL_MOST, "whatever rounds lose, no line is believed beyond this"


def test_member_that_delayed_a_round_is_no_longer_believed() -> None:
    plan = plan_of(0, 0, 0)
    me, slow, other = plan.peers
    book = LineBook(me)
    played(book, plan, 8.0)
    boast = Rates(100 * MEGA, 100 * MEGA)
    for peer in (slow, other):
        book.heard(peer, LineFacts(boast))
    seen = int(demand_of(plan).up_bytes[1] / 8)
    assert book.known(plan.peers).lines[slow].up == pytest.approx(2 * seen, rel=0.01)
    believing = msgspec.structs.replace(plan, lines=(Rates(), *[Rates(2 * seen, 2 * seen)] * 2))
    played(book, believing, 8.0, last=slow)
    lines = book.known(plan.peers).lines
    assert lines[slow].up == pytest.approx(seen, rel=0.01)
    assert lines[other].up == pytest.approx(2 * seen, rel=0.01), "the other is not blamed"
    modest = msgspec.structs.replace(plan, lines=tuple(lines[peer] for peer in plan.peers))
    for _ in range(DOUBT_FIRST):
        played(book, modest, 8.0)
    assert book.known(plan.peers).lines[slow].up == pytest.approx(TRIAL * seen, rel=0.02), "and gets a small chance"


def test_own_claims_of_late_stand_for_a_while() -> None:
    plan = plan_of(0, 0)
    book = LineBook(plan.peers[0])
    for rate in (8 * MEGA, 2 * MEGA):
        book.begun(plan, 0.0)
        for look in range(9):
            flows = [Glance(i, plan.peers[1], int(rate / 2 * look * LOOK_S), 0, waiting=True) for i in (1, 2)]
            flows.append(Glance(3, peer_ids(9)[8], int(rate / 2 * look * LOOK_S), 0, waiting=True))
            book.own.meter.look(look * LOOK_S, flows)
        book.finished(plan, outcome(plan, 1.0), 1.0)
        book.facts()  # told
    assert book.own.offered.up == pytest.approx(3 * MEGA, rel=0.05)
    assert book.claimed.up == pytest.approx(12 * MEGA, rel=0.05)


def test_the_person_s_limit_holds_at_once() -> None:
    book = LineBook(peer_ids(1)[0])
    book.own.up.learn(8.0 * MEGA, pressed=True)
    book.own.meter.cap_up = 1.0 * MEGA
    assert book.own.offered.up == MEGA


def test_strangers_cannot_make_a_book_grow() -> None:
    book = LineBook(peer_ids(1)[0])
    for number in range(PEERS_MAX + 50):
        book.heard(PeerId(number.to_bytes(32, "big")), LineFacts(Rates(1, 1)))
    assert len(book._facts) == PEERS_MAX
    book.forget([PeerId((5).to_bytes(32, "big"))])
    assert len(book._facts) == 1


def test_for_whom_a_round_waits() -> None:
    plan = plan_of(MEGA, MEGA, MEGA, MEGA, MEGA)
    a, b, c, d, e = plan.peers
    waits = Waits(plan, 0.0)
    for chunk in range(CHUNKS_LEAST):
        part = Part(plan.round, 0, 0, chunk, memoryview(b""))
        mean = Mean(plan.round, 0, 0, chunk, b"", memoryview(b""))
        waits.saw(b, part, [], 1.0)
        waits.saw(c, part, [Send(b, mean)], 2.0)
    assert waits.kept_waiting(10.0) == {c}
    few = Waits(plan, 0.0)
    for chunk, sender in enumerate((b, c, b, d)):
        mean = Mean(plan.round, 0, 0, chunk, b"", memoryview(b""))
        few.saw(sender, Part(plan.round, 0, 0, chunk, memoryview(b"")), [Send(b, mean)], 2.0)
    assert few.kept_waiting(10.0) == set(), "somebody is always last: two of four chunks are nothing"
    means = Waits(plan, 0.0)
    for share, at in ((1, 3.0), (2, 4.0), (3, 3.5), (4, 9.9)):
        means.saw(plan.peers[share], Mean(plan.round, share, 0, 0, b"", memoryview(b"")), [], at)
    means.saw(b, Mean(plan.round, 2, 0, 0, b"", memoryview(b"")), [], 9.9)  # not its share: it would blame c
    assert means.kept_waiting(10.0) == {e}
    assert means.kept_waiting(4.2) == set(), "all were done at about the same time"
    assert Waits(plan, 0.0).kept_waiting(5.0) == set()
    assert a != d


def moving(book: LineBook, peers: tuple[PeerId, ...], *, up: float, down: float) -> None:
    """Half a second to each of these, to whom bytes wait all along."""
    for look in range(5):
        shares = [int(rate / len(peers) * look * LOOK_S) for rate in (up, down)]
        book.own.meter.look(look * LOOK_S, [Glance(i, peer, *shares, waiting=True) for i, peer in enumerate(peers)])


def known_book(plan: Plan) -> LineBook:
    book = LineBook(plan.peers[0])
    book.own.up.learn(float(MEGA), pressed=True)
    book.own.down.learn(float(MEGA), asked=2.0 * MEGA)
    assert book.own.offered == Rates(MEGA, MEGA)
    return book


def test_failed_round_bounds_facts_told_of_the_own_line() -> None:
    plan = plan_of(MEGA, MEGA, MEGA)
    seconds = demand_of(plan).seconds
    assert seconds is not None
    book = known_book(plan)
    book.begun(plan, 100.0)
    moving(book, plan.peers[1:], up=MEGA / 10, down=MEGA / 10)
    book.failed(plan, 100.0 + seconds)
    assert book.own.offered.up == pytest.approx(MEGA / 10, rel=0.01), "its own queue has shown the limit"
    assert book.own.offered.down == pytest.approx(MEGA / 2, rel=0.01), "others may have been to blame"
    assert book.facts().own == book.own.offered


@pytest.mark.parametrize("case", ["early", "plain", "one peer", "fast"])
def test_a_round_that_fails_by_others_fault_bounds_nothing(case: str) -> None:
    plan = plan_of(*((0,) * 3 if case == "plain" else (MEGA,) * 3))
    seconds = demand_of(plan).seconds or 2.0
    book = known_book(plan)
    book.begun(plan, 100.0)
    slow = 2.0 if case == "fast" else 0.1
    moving(book, plan.peers[1:2] if case == "one peer" else plan.peers[1:], up=MEGA * slow, down=MEGA * slow)
    book.failed(plan, 100.0 + seconds * (0.5 if case == "early" else 1.0))
    if case == "one peer":
        assert book.own.offered == Rates(MEGA, MEGA // 2)
    else:
        assert min(book.own.offered.up, book.own.offered.down) >= MEGA
