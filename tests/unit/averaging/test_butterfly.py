"""A whole round between machines, against a plain float64 mean."""

from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, example, given, settings
from hypothesis import strategies as st

from core.averaging.allreduce.lane import windows_of
from core.averaging.butterfly import Butterfly, RoundInput
from core.averaging.commit.fingerprints import plan_name
from core.averaging.messages import Commit, Leaving, Mean, Open, Order, Part, Status
from core.averaging.outcome import Outcome, RoundFailed, RoundFinished
from core.base.ids import PeerId
from core.base.machine import Lost, Received, Tick, Trace
from core.codecs.registry import CODEC_NAMES, CODECS, codec_of
from tests.unit.averaging.pump import Pump, Round, make_plan


def outcomes(round_: Round) -> dict[PeerId, Outcome]:
    return {
        peer: event.outcome
        for peer, events in round_.pump.events.items()
        for event in events
        if isinstance(event, RoundFinished)
    }


def failures(round_: Round) -> dict[PeerId, RoundFailed]:
    return {p: e for p, events in round_.pump.events.items() for e in events if isinstance(e, RoundFailed)}


def weighted_mean(round_: Round, members: list[int] | None = None) -> np.ndarray:
    chosen = members if members is not None else range(len(round_.plan.members))
    weights = np.array([round_.plan.members[i].samples for i in chosen], dtype=np.float64)
    vectors = round_.before[list(chosen)].astype(np.float64)
    return (weights[:, None] * vectors).sum(axis=0) / weights.sum()


def check_any(round_: Round) -> dict[PeerId, Outcome]:
    """What must hold after every round, whatever happened in it."""
    finished, failed = outcomes(round_), failures(round_)
    for peer, events in round_.pump.events.items():
        assert len(events) == 1 or (not events and peer in round_.pump.dead | round_.pump.frozen), "one end each"
    assert not finished.keys() & failed.keys()
    assert np.array_equal(round_.before, round_.vectors)
    alive = {p: o for p, o in finished.items() if p not in round_.pump.dead}
    assert len({(o.fingerprint, o.contributors, o.missing, o.loss) for o in alive.values()}) <= 1
    rows = [round_.results[round_.plan.peers.index(peer)].tobytes() for peer in alive]
    assert len(set(rows)) <= 1, "bit-identical"
    for outcome in list(alive.values())[:1]:
        check_mean(round_, outcome, np.frombuffer(rows[0], dtype=np.float32))
    windows = windows_of(round_.plan, codec_of(round_.plan.codec, [round_.plan.numel]))
    for machine in round_.machines.values():
        assert machine.open_chunks <= 3 * max(windows)
    return alive


def check_mean(round_: Round, outcome: Outcome, result: np.ndarray) -> None:
    """Every chunk is the mean over some members who include all that are not reported missing."""
    plan = round_.plan
    partly = {plan.peers.index(peer) for peer, _ in outcome.missing}
    whole = [i for i, m in enumerate(plan.members) if m.samples and i not in partly]
    lacking = dict.fromkeys(partly, 0)
    for chunk in range(plan.chunk_total):
        span = plan.span(chunk)
        for bits in range(1 << len(partly)):
            extra = [i for k, i in enumerate(sorted(partly)) if bits >> k & 1]
            members = whole + extra
            expected = weighted_mean(round_, members)[span] if members else np.zeros(1)
            if np.allclose(result[span], expected, rtol=0, atol=3e-6):
                for i in partly - set(extra):
                    lacking[i] += 1
                break
        else:
            raise AssertionError(f"chunk {chunk} is nobody's mean")
    assert {plan.peers[i]: n for i, n in lacking.items()} == dict(outcome.missing)


@pytest.mark.parametrize("count", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("numel", [1, 5, 16, 160, 1003])
def test_mean_is_exact(count: int, numel: int) -> None:
    round_ = Round(make_plan([10 + 7 * i for i in range(count)], numel), seed=count + numel, duplicate=0.1).run()
    alive = check_any(round_)
    assert len(alive) == count
    for row in round_.results:
        np.testing.assert_allclose(row, weighted_mean(round_), rtol=0, atol=1e-6)
    outcome = next(iter(alive.values()))
    assert not outcome.missing
    assert outcome.loss == np.percentile([0.5 + i for i in range(count)], 50, method="lower")


@settings(max_examples=40, deadline=None)
@example([1, 0], 4, 1, 2361015, 0.0, 0.5)  # a request for a mean comes before the part that it waits for
@given(
    samples=st.lists(st.integers(0, 1000), min_size=1, max_size=6),
    numel=st.integers(1, 300),
    chunk_numel=st.integers(1, 40),
    seed=st.integers(0, 2**32 - 1),
    duplicate=st.sampled_from([0.0, 0.3]),
    stagger_s=st.sampled_from([0.0, 0.5]),
)
def test_mean_for_any_shape(
    samples: list[int], numel: int, chunk_numel: int, seed: int, duplicate: float, stagger_s: float
) -> None:
    plan = make_plan(samples, numel, chunk_numel=chunk_numel)
    round_ = Round(plan, seed=seed, duplicate=duplicate, stagger_s=stagger_s, delay_s=(0.0, 0.1)).run()
    assert len(outcomes(round_)) == len(samples)
    assume(not any(outcome.own_scaled for outcome in outcomes(round_).values()))  # chunks of a number or two, by chance
    assert len({row.tobytes() for row in round_.results}) == 1
    np.testing.assert_allclose(round_.results[0], weighted_mean(round_) if sum(samples) else 0.0, rtol=0, atol=2e-6)
    assert not next(iter(outcomes(round_).values())).missing


def test_fp16_is_within_its_error() -> None:
    round_ = Round(make_plan([3, 5, 9, 1], 2000, codec="fp16")).run()
    assert len(outcomes(round_)) == 4
    assert len({row.tobytes() for row in round_.results}) == 1
    bound = 2 * 2.0**-11 * np.abs(round_.before).max() + 1e-6
    assert np.abs(round_.results[0] - weighted_mean(round_)).max() <= bound


def killer(victims: list[PeerId], at: int, *, then: int = 0) -> Any:
    def before(pump: Pump, peer: PeerId, event: Any) -> None:
        for index, victim in enumerate(victims):
            if pump.delivered >= at + index * then and victim not in pump.dead:
                pump.kill(victim)

    return before


def mean_on_the_wire(round_: Round, members: list[int], span: slice) -> np.ndarray:
    """The mean of a chunk in float64, of parts as their codec leaves them, and left as its codec leaves it."""
    plan = round_.plan
    codec = codec_of(plan.codec, (plan.numel,))

    def left(values: np.ndarray) -> np.ndarray:
        out = np.empty(span.stop - span.start, dtype=np.float32)
        codec.decode_into(codec.encode(values.astype(np.float32), span.start), out, span.start)
        return out

    weights = np.array([plan.members[member].samples for member in members], dtype=np.float64)
    parts = np.stack([left(round_.before[member, span]) for member in members]).astype(np.float64)
    return left((weights[:, None] * parts).sum(axis=0) / weights.sum())


@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_means_in_any_codec_are_repeated_bit_for_bit(codec: str) -> None:
    """Whichever member dies, and whenever: the others hold the same bits, and a mean with the dead one or without it.

    In float32 the mean may fall on the other side of a code here and there.
    """
    plan = make_plan([5, 6, 7, 8], 2000, chunk_numel=500, codec=codec)
    repeated = 0
    for at in range(0, Round(plan).run().pump.delivered, 3):
        victim = plan.peers[at % 4]
        round_ = Round(plan, seed=at, before=killer([victim], at)).run()
        finished = {peer: outcome for peer, outcome in outcomes(round_).items() if peer not in round_.pump.dead}
        assert len(finished) == 3
        rows = [round_.results[plan.peers.index(peer)] for peer in finished]
        assert len({row.tobytes() for row in rows}) == 1
        everybody, survivors = range(4), [i for i in range(4) if plan.peers[i] != victim]
        for chunk in range(plan.chunk_total):
            span = plan.span(chunk)
            means = [mean_on_the_wire(round_, list(members), span) for members in (everybody, survivors)]
            errors = [float(np.linalg.norm(rows[0][span] - mean) / np.linalg.norm(mean)) for mean in means]
            assert min(errors) < 0.02
        repeated += any(trace["averaging.member_lost"] for trace in round_.traces)
    assert repeated >= 3


def length_of_quiet_round(count: int, numel: int) -> int:
    return Round(make_plan([5 + i for i in range(count)], numel)).run().pump.delivered


@pytest.mark.parametrize("count", [2, 3, 4])
def test_one_dies_at_every_message(count: int) -> None:
    numel = 16 * 8
    total = length_of_quiet_round(count, numel)
    plan = make_plan([5 + i for i in range(count)], numel)
    leader = plan.peers[plan.leaders[0]]
    for victim in plan.peers:
        for at in range(0, total + 1, 1 if count < 4 else 5):
            round_ = Round(plan, seed=at, before=killer([victim], at)).run()
            alive = check_any(round_)
            survivors = [p for p in plan.peers if p not in round_.pump.dead]
            if count > 2 or victim != leader:
                assert set(alive) == set(survivors), (at, failures(round_))
            assert round_.pump.now - round_.began < plan.stall_timeout_s, "a death is noticed at once"


@pytest.mark.parametrize("seed", range(4))
def test_two_die_at_every_message(seed: int) -> None:
    numel = 16 * 12
    plan = make_plan([1, 2, 3, 4, 5], numel)
    total = length_of_quiet_round(5, numel)
    random = Random(seed)
    for at in range(0, total + 1, 3):
        victims = random.sample(plan.peers, 2)
        before = killer(victims, at, then=random.randrange(12))
        round_ = Round(plan, seed=at, before=before, stagger_s=random.choice([0.0, 0.05])).run()
        alive = check_any(round_)
        assert set(alive) == set(plan.peers) - round_.pump.dead, (seed, at, failures(round_))


def test_too_few_survivors_go_home_at_once() -> None:
    plan = make_plan([1, 2, 3, 4, 5], 16 * 40)
    round_ = Round(plan, before=killer(list(plan.peers[:3]), 20)).run()
    check_any(round_)
    assert set(failures(round_)) == set(plan.peers[3:])
    assert round_.pump.now - round_.began < plan.stall_timeout_s


@pytest.mark.parametrize("count", [3, 5])
def test_one_freezes_without_notice(count: int) -> None:
    plan = make_plan([5 + i for i in range(count)], 16 * 20)
    total = length_of_quiet_round(count, 16 * 20)
    for victim in plan.peers:
        for at in range(0, total, 11 if count < 5 else 31):

            def before(pump: Pump, peer: PeerId, event: Any, *, at: int = at, victim: PeerId = victim) -> None:
                if pump.delivered >= at:
                    pump.frozen.add(victim)

            round_ = Round(plan, seed=at, before=before).run()
            alive = check_any(round_)
            assert set(alive) >= set(plan.peers) - {victim}, (at, failures(round_))
            assert round_.pump.now - round_.began <= plan.round_timeout_s


@pytest.mark.parametrize("seed", range(60))
def test_broken_links_never_make_two_means(seed: int) -> None:
    random = Random(seed)
    count = random.choice([2, 3, 4, 5])
    plan = make_plan([5 + i for i in range(count)], 16 * 20)
    pairs = [random.sample(plan.peers, 2) for _ in range(random.choice([1, 1, 2, 3]))]
    moments = [random.randrange(150) for _ in pairs]

    def before(pump: Pump, peer: PeerId, event: Any) -> None:
        for (a, b), at in zip(pairs, moments, strict=True):
            if pump.delivered >= at and frozenset((a, b)) not in pump.cut:
                pump.break_link(a, b)

    round_ = Round(plan, seed=seed, before=before).run()
    check_any(round_)
    assert round_.pump.now - round_.began <= plan.round_timeout_s + 0.1


def test_one_broken_link_costs_nobody_anything() -> None:
    plan = make_plan([1, 2, 3, 4], 16 * 40)
    a, b = (plan.peers[i] for i in plan.leaders[1:3])

    def before(pump: Pump, peer: PeerId, event: Any) -> None:
        if pump.delivered >= 60 and not pump.cut:
            pump.break_link(a, b)

    round_ = Round(plan, before=before).run()
    assert len(check_any(round_)) == 4


@pytest.mark.parametrize("at", [5, 60, 140, 220])
def test_broken_link_costs_its_ends_at_most_each_others_share(at: int) -> None:
    """Means come from third members, parts do not: what was not sent yet is missing, and said to be."""
    plan = make_plan([3, 4, 5, 6, 7, 8], 16 * 60)
    one, other = plan.leaders[1], plan.leaders[4]
    a, b = plan.peers[one], plan.peers[other]

    def before(pump: Pump, peer: PeerId, event: Any) -> None:
        if pump.delivered >= at and not pump.cut:
            pump.break_link(a, b)

    round_ = Round(plan, seed=at, before=before).run()
    alive = check_any(round_)
    assert len(alive) == 6
    outcome = next(iter(alive.values()))
    missing = dict(outcome.missing)
    assert missing.keys() == {a, b}
    assert missing[a] <= plan.chunks[other]
    assert missing[b] <= plan.chunks[one]
    assert not any(outcome.versions), "nobody had to begin again"
    assert round_.pump.now - round_.began < plan.stall_timeout_s


def test_a_stalled_sender_costs_only_its_own_part() -> None:
    plan = make_plan([1, 2, 3, 4], 16 * 40)
    slow = plan.peers[plan.leaders[3]]

    def before(pump: Pump, peer: PeerId, event: Any) -> None:
        if pump.delivered == 100 and slow not in pump.frozen:
            pump.frozen.add(slow)
            pump.push(pump.now + 3.0, plan.peers[plan.leaders[0]], Tick())
        if pump.now > 1000 + 2.9:
            pump.frozen.discard(slow)

    round_ = Round(plan, before=before).run()
    alive = check_any(round_)
    assert set(alive) >= set(plan.peers) - {slow}
    outcome = next(iter(alive.values()))
    assert {peer for peer, _ in outcome.missing} <= {slow}


def test_leaving_frees_the_others_at_once() -> None:
    plan = make_plan([1, 2, 3], 16 * 40)
    leaver = plan.peers[plan.leaders[0]]
    left: list[bool] = []

    def before(pump: Pump, peer: PeerId, event: Any) -> None:
        if pump.delivered >= 30 and not left:
            left.append(True)
            pump.say(leaver, pump.machines[leaver].leave())

    round_ = Round(plan, before=before).run()
    assert set(failures(round_)) == {leaver}
    assert set(check_any(round_)) == set(plan.peers) - {leaver}
    assert round_.pump.now - round_.began < plan.stall_timeout_s


def test_in_flight_is_bounded() -> None:
    plan = make_plan([1, 2, 3], 16 * 400)
    window = max(windows_of(plan, CODECS[plan.codec]))
    round_ = Round(plan, through_bytes=False)
    most = 0

    def watch(pump: Pump, peer: PeerId, event: Any) -> None:
        nonlocal most
        links: dict[tuple[PeerId, PeerId], int] = {}
        for _, _, to, item in pump.queue:
            if isinstance(item, Received) and isinstance(item.message, Part | Mean):
                links[item.sender, to] = links.get((item.sender, to), 0) + 1
        most = max(most, *links.values(), 0)
        assert all(machine.open_chunks <= window for machine in pump.machines.values())

    inner = round_.pump.before
    assert inner is not None

    def both(pump: Pump, peer: PeerId, event: Any) -> None:
        inner(pump, peer, event)
        watch(pump, peer, event)

    round_.pump.before = both
    round_.run()
    assert len(outcomes(round_)) == 3
    assert 0 < most <= 2 * window  # parts of one share and means of another


@pytest.mark.parametrize(("codec", "bad"), [("raw", np.nan), ("fp16", np.inf)])
def test_a_part_that_is_not_finite_is_left_out(codec: str, bad: float) -> None:
    plan = make_plan([1, 2, 3], 16 * 6, codec=codec)
    round_ = Round(plan)
    round_.vectors.flags.writeable = True
    round_.vectors[0, :] = bad
    round_.pump.run()
    for ended in map(outcomes(round_).get, plan.peers):
        assert ended is not None
        assert dict(ended.missing) == {plan.peers[0]: plan.chunk_total}
        assert plan.peers[0] not in dict(ended.contributors)
    np.testing.assert_allclose(round_.results[1], weighted_mean(round_, [1, 2]), atol=1e-6 if codec == "raw" else 2e-3)


def test_latecomer_of_a_finished_round_hears_the_commit_again() -> None:
    plan = make_plan([1, 2, 3], 100)
    round_ = Round(plan).run()
    member, other = plan.peers[0], plan.peers[1]
    status = Status(plan.round, (0, 0, 0), (0, 1, 2))
    replies = round_.machines[member].handle(Received(other, status), round_.pump.now)
    assert [type(send.message).__name__ for send in replies] == ["Commit"]
    assert round_.machines[member].handle(Lost(other, "x"), round_.pump.now) == []
    assert round_.machines[member].handle(Tick(), round_.pump.now) == []
    assert round_.machines[member].deadline is None


def test_strangers_are_dropped_and_marked() -> None:
    plan = make_plan([1, 2, 3], 100)
    trace = Trace()
    me = plan.peers[0]
    zeros = np.zeros(100, dtype=np.float32)
    machine = Butterfly(me, plan, RoundInput(zeros, zeros.copy(), CODECS["raw"]), trace=trace)
    machine.start(0.0)
    machine.handle(Received(PeerId(bytes(32)), Leaving(plan.round)), 0.0)
    machine.handle(Received(plan.peers[1], Leaving(bytes(32))), 0.0)
    assert trace["averaging.drop.foreign"] == 2
    forged = Mean(plan.round, 2, 0, 0, b"", memoryview(bytes(64)))
    machine.handle(Received(plan.peers[1], forged), 0.0)
    assert trace["averaging.drop.sender"] == 1
    order = Order(plan.round, (0,), (0,), b"\x07")
    machine.handle(Received(plan.peers[1], order), 0.0)
    assert trace["averaging.drop.order"] == 1


def test_our_own_misuse_raises() -> None:
    plan = make_plan([1, 2], 100)
    good = np.zeros(100, dtype=np.float32)
    with pytest.raises(ValueError, match="vector of shape"):
        Butterfly(plan.peers[0], plan, RoundInput(good[:99], good, CODECS["raw"]), trace=Trace())
    with pytest.raises(ValueError, match="lacks this member"):
        Butterfly(PeerId(bytes(32)), plan, RoundInput(good, good, CODECS["raw"]), trace=Trace())


def test_a_mean_that_is_not_finite_is_not_taken() -> None:
    plan = make_plan([1, 1, 1], 48)
    result = np.zeros(48, dtype=np.float32)
    trace = Trace()
    machine = Butterfly(plan.peers[0], plan, RoundInput(np.ones_like(result), result, CODECS["raw"]), trace=trace)
    machine.start(0.0)
    reducer = plan.peers[1]
    machine.handle(Received(reducer, Open(plan.round, plan_name(plan), ((1, 0),))), 0.0)
    payload = np.full(16, np.nan, dtype="<f4").view(np.uint8).data
    machine.handle(Received(reducer, Mean(plan.round, 1, 0, 0, b"\x07", payload)), 0.0)
    assert trace["averaging.drop.not_finite"] == 1
    payload = np.full(16, 3e38, dtype="<f4").view(np.uint8).data
    machine.handle(Received(reducer, Mean(plan.round, 1, 0, 0, b"\x07", payload)), 0.0)
    assert trace["averaging.drop.not_finite"] == 1
    assert trace["averaging.drop.mean"] == 0
    assert result[16] == np.float32(3e38)


def test_commit_of_another_than_the_coordinator_is_dropped() -> None:
    plan = make_plan([1, 1, 1], 48)
    trace = Trace()
    zeros = np.zeros(48, dtype=np.float32)
    machine = Butterfly(plan.peers[0], plan, RoundInput(zeros, zeros.copy(), CODECS["raw"]), trace=trace)
    machine.start(0.0)
    for member, versions in zip([member for member in plan.leaders if member], [(0, 0), (0, 0, 0)], strict=True):
        assert machine.handle(Received(plan.peers[member], Commit(plan.round, versions, (), (), ())), 0.0) == []
    assert trace["averaging.drop.commit"] == 2
    assert machine.deadline is not None
