"""What a coarse codec loses comes later: conservation, against sums in float64, and convergence."""

from collections.abc import Collection
from random import Random

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

from core.averaging.balance.shares import apportion
from core.averaging.butterfly import Butterfly, RoundInput
from core.averaging.feedback import RESIDUAL_CODEC, Carry, MemoryStore
from core.averaging.messages import Commit, Mean, Open, Part
from core.averaging.outcome import Outcome, RoundFailed, RoundFinished
from core.averaging.plan import Plan
from core.base.ids import PeerId, hashed_key
from core.base.machine import Received, Trace
from core.codecs.registry import codec_of
from core.swarm.rounds.in_doubt import InDoubtRound, state_after
from tests.unit.averaging.pump import Pump, make_plan

CHUNK = 256
NUMEL = 3000
CHUNKS = -(-NUMEL // CHUNK)


def residual(store: MemoryStore) -> NDArray[np.float64]:
    whole = np.zeros(NUMEL, dtype=np.float32)
    for chunk in range(CHUNKS):
        payload = store.read(chunk)
        if payload is not None:
            RESIDUAL_CODEC.decode_into(payload, whole[chunk * CHUNK : (chunk + 1) * CHUNK])
    return whole.astype(np.float64)


class Swarm:
    """Members whose residuals outlive rounds; a ledger in float64 of what went in and what came out.

    Args:
        members: How many; the last one is a helper without samples.
        feedback: Whether residuals are carried at all.
    """

    def __init__(self, members: int, *, codec: str = "q4", feedback: bool = True, seed: int = 0) -> None:
        self.chance = np.random.default_rng(seed)
        self.members = members
        self.codec = codec
        self.feedback = feedback
        self.stores = [MemoryStore() for _ in range(members)]
        self.given = np.zeros(NUMEL)
        self.got = np.zeros(NUMEL)
        self.sound = np.ones(NUMEL, dtype=bool)
        """Where no reducer has died with a mean that was kept."""
        self.number = 0
        self.missed: Butterfly
        self.committed: Outcome

    def round(self, *, kill_helper_at: int | None = None, miss: int | None = None, meets: bool = False) -> bool:
        """Average once; True when it was committed.

        Member `miss` hears nothing from the Commit on until its round is over; then the others, if it `meets` them.
        """
        self.number += 1
        helper = self.members - 1
        samples = [*(int(n) for n in self.chance.integers(1, 200, helper)), 0]
        gradients = self.chance.standard_normal((self.members, NUMEL)).astype(np.float32)
        plan = make_plan(samples, NUMEL, chunk_numel=CHUNK, codec=self.codec, stall_timeout_s=0.5, round_timeout_s=8.0)
        shares = apportion(plan.chunk_total, [int(n) for n in self.chance.integers(0, 10, helper)] + [12])
        plan = replace_plan(plan, round=hashed_key(b"round", bytes([self.number])), chunks=shares)
        result = np.empty((self.members, NUMEL), dtype=np.float32)
        machines = {
            peer: Butterfly(
                peer,
                plan,
                RoundInput(gradients[i], result[i], codec_of(self.codec), self.carry(i, samples[i])),
                trace=Trace(),
            )
            for i, peer in enumerate(plan.peers)
        }
        pump = Pump(machines, Random(int(self.chance.integers(1 << 30))))
        if kill_helper_at is not None:

            def before(pump: Pump, peer: object, event: object) -> None:
                if pump.delivered >= kill_helper_at and plan.peers[helper] not in pump.dead:
                    pump.kill(plan.peers[helper])

            pump.before = before
        if miss is not None:
            self.miss(pump, plan.peers[miss])
        for peer, machine in machines.items():
            pump.say(peer, machine.start(pump.now))
        pump.run()
        if miss is not None:
            self.wake(pump, plan.peers[miss], meets=meets)
            self.missed = machines[plan.peers[miss]]
            self.committed = next(e.outcome for es in pump.events.values() for e in es if isinstance(e, RoundFinished))
        finished = [i for i, p in enumerate(plan.peers) if any(isinstance(e, RoundFinished) for e in pump.events[p])]
        if finished:
            self.count(plan, machines[plan.peers[finished[0]]], gradients, result[finished[0]])
            if helper not in finished:
                ends = pump.events[plan.peers[finished[0]]]
                self.mask(plan, next(e.outcome for e in ends if isinstance(e, RoundFinished)), helper)
        return bool(finished)

    def miss(self, pump: Pump, peer: PeerId) -> None:
        def before(pump: Pump, to: PeerId, event: object) -> None:
            if to == peer and isinstance(event, Received) and isinstance(event.message, Commit):
                pump.frozen.add(peer)

        pump.before = before

    def wake(self, pump: Pump, peer: PeerId, *, meets: bool) -> None:
        """Later than the round could last."""
        assert peer in pump.frozen
        pump.frozen.clear()
        pump.before = None
        pump.now += 100.0
        pump.cut = set() if meets else {frozenset((peer, other)) for other in pump.machines}
        pump.run()
        assert [type(event) for event in pump.events[peer]] == [RoundFailed]

    def carry(self, member: int, samples: int) -> Carry | None:
        if not self.feedback:
            return None
        return Carry(codec_of(self.codec), self.stores[member], samples=samples)

    def count(
        self, plan: Plan, machine: Butterfly, gradients: NDArray[np.float32], result: NDArray[np.float32]
    ) -> None:
        for number in range(plan.chunk_total):
            span, contributors = plan.span(number), machine.contributors(number)
            weights = [m.samples * (i in contributors) for i, m in enumerate(plan.members)]
            self.got[span] += sum(weights) * result[span].astype(np.float64)
            for weight, gradient in zip(weights, gradients, strict=True):
                self.given[span] += weight * gradient[span].astype(np.float64)

    def mask(self, plan: Plan, outcome: Outcome, helper: int) -> None:
        """The helper died with its draft; where its means were kept, what they owed is gone."""
        first = plan.first_chunk(helper)
        if outcome.versions[helper] == 0:
            self.sound[first * CHUNK : (first + plan.chunks[helper]) * CHUNK] = False

    def imbalance(self) -> float:
        """What is missing after all rounds, of what went in; relative, in norms."""
        owed = sum(residual(store) for store in self.stores)
        missing = (self.given - self.got - owed)[self.sound]
        return float(np.linalg.norm(missing) / np.linalg.norm(self.given[self.sound]))


@pytest.mark.parametrize("meets", [True, False])
@pytest.mark.parametrize("miss", [0, 1, 3])
def test_whoever_misses_only_the_commit_sends_nothing_twice(miss: int, *, meets: bool) -> None:
    """The sum of what was applied and of what is owed is what was given, once it knows: from others, or from a name."""
    swarm = Swarm(5, seed=miss)
    for _ in range(3):
        assert swarm.round()
    unheard = InDoubtRound(trace := Trace())
    assert swarm.round(miss=miss, meets=meets)
    if not meets:
        assert swarm.imbalance() > 1e-2
        unheard.failed(swarm.missed)
        other = msgspec.structs.replace(swarm.missed.plan, lineage=b"x" * 32)
        for name in (other, swarm.missed.plan, swarm.missed.plan):
            unheard.heard(state_after(name, swarm.committed))
        assert trace["rounds.settled_late"] == 1, "once, at its own name"
    assert swarm.imbalance() < 1e-3
    for _ in range(3):
        assert swarm.round()
    assert swarm.imbalance() < 1e-3


def test_in_doubt_round_is_not_settled_once_the_next_began() -> None:
    swarm = Swarm(5, seed=1)
    assert swarm.round()
    assert swarm.round(miss=1)
    unheard, before = InDoubtRound(trace := Trace()), residual(swarm.stores[1])
    unheard.failed(swarm.missed)
    unheard.begun()
    unheard.heard(state_after(swarm.missed.plan, swarm.committed))
    assert trace["rounds.settled_late"] == 0, "the next round has begun"
    assert np.array_equal(residual(swarm.stores[1]), before)


def replace_plan(plan: Plan, **changes: object) -> Plan:
    return msgspec.structs.replace(plan, **changes)


@pytest.mark.parametrize("codec", ["q4", "u8", "fp16"])
@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_nothing_is_lost_it_only_comes_later(codec: str, seed: int) -> None:
    """Samples, shares and reducers differ from round to round, and one reducer has no samples."""
    swarm, forgetful = (Swarm(5, codec=codec, feedback=feedback, seed=seed) for feedback in (True, False))
    for _ in range(12):
        assert swarm.round()
        assert forgetful.round()
    assert swarm.imbalance() < forgetful.imbalance() / 100
    assert swarm.imbalance() < {"q4": 1e-3, "u8": 1e-4, "fp16": 1e-5}[codec]


def test_shares_that_start_anew_lose_nothing_either() -> None:
    restarted = 0
    for seed in range(12):
        swarm = Swarm(4, seed=seed)
        swarm.round()
        assert swarm.round(kill_helper_at=4 + 3 * seed)
        restarted += bool(swarm.sound.all())
        for _ in range(3):
            assert swarm.round()
        assert swarm.sound.any()
        assert swarm.imbalance() < 1e-3
    assert restarted >= 3, "the helper never died early enough"


def test_a_round_that_fails_changes_nothing() -> None:
    swarm = Swarm(3)
    swarm.round()
    before = [residual(store) for store in swarm.stores]
    assert all(np.any(owed) for owed in before)
    plan = make_plan([3, 4, 5], NUMEL, chunk_numel=CHUNK, codec="q4")
    gradients = np.ones((3, NUMEL), dtype=np.float32)
    machines = {
        peer: Butterfly(
            peer,
            plan,
            RoundInput(gradients[i], np.empty(NUMEL, dtype=np.float32), codec_of("q4"), swarm.carry(i, 3 + i)),
            trace=Trace(),
        )
        for i, peer in enumerate(plan.peers)
    }
    pump = Pump(machines, Random(1), speaks=(Open, Part, Mean))  # all the work is done, but nobody commits
    for peer, machine in machines.items():
        pump.say(peer, machine.start(pump.now))
    pump.run()
    assert all(isinstance(event, RoundFailed) for events in pump.events.values() for event in events)
    for store, owed in zip(swarm.stores, before, strict=True):
        assert np.array_equal(residual(store), owed)


def test_a_draft_is_void_when_another_begins() -> None:
    store, codec = MemoryStore(), codec_of("q4")
    x = np.random.default_rng(1).standard_normal(CHUNK, dtype=np.float32)
    old = Carry(codec, store, samples=5)
    old.part(0, x, 0)
    new = Carry(codec, store, samples=7)
    old.commit([True])
    assert store.read(0) is None
    new.part(0, x, 0)
    old.part(0, 3 * x, 0)
    new.commit([True])
    sent = np.empty_like(x)
    codec.decode_into(codec.encode(x), sent)
    np.testing.assert_allclose(residual(store)[:CHUNK], 7 * (x - sent), rtol=2.0**-7, atol=1e-6)


def test_residual_is_unchanged_by_a_part_missing_from_the_mean() -> None:
    store, codec = MemoryStore(), codec_of("q4")
    x = np.random.default_rng(1).standard_normal(CHUNK, dtype=np.float32)
    for given in (True, False):
        carry = Carry(codec, store, samples=5)
        carry.part(0, x, 0)
        before = residual(store)
        carry.commit([given])
    assert np.any(before)
    assert np.array_equal(residual(store), before)


@pytest.mark.parametrize("bad", [np.nan, np.inf, 3.4e38])
def test_what_is_no_number_never_becomes_a_residual(bad: float) -> None:
    store, codec = MemoryStore(), codec_of("q4")
    x = np.ones(CHUNK, dtype=np.float32)
    x[3] = bad
    carry = Carry(codec, store, samples=1_000_000)
    carry.part(0, x, 0)
    carry.commit([True])
    assert store.read(0) is None or np.isfinite(residual(store)).all()
    carry = Carry(codec, store, samples=1)
    assert np.isfinite(carry.own(0, np.ones(CHUNK, dtype=np.float32))).all()


# --- does it help ----------------------------------------------------------------------------------------------------


def final_loss(codec: str, *, feedback: bool, both_sides: bool = True, seed: int = 0) -> float:
    """Least squares by gradient descent of 4 peers whose mean travels as `codec`; the excess over the optimum.

    A few coordinates have gradients a thousand times those of the others, as the layers of a network may, and stand in
    the same blocks.
    """
    chance = np.random.default_rng(seed)
    numel, peers, steps = 256, 4, 250
    scale = np.where(np.arange(numel) % 16 == 0, 1.0, 0.02)
    target = chance.standard_normal(numel)
    stores = [MemoryStore() for _ in range(peers)]
    coder = codec_of(codec)
    w = np.zeros(numel)
    share = numel // peers
    for _ in range(steps):
        samples = chance.integers(10, 100, peers)
        carries = [Carry(coder, store, samples=int(n)) for store, n in zip(stores, samples, strict=True)]
        noise = chance.standard_normal((peers, numel))
        gradients = (scale * (w - target) + scale * noise).astype(np.float32)
        step = np.empty(numel, dtype=np.float32)
        for chunk in range(peers):
            span = slice(chunk * share, (chunk + 1) * share)
            total = np.zeros(share)
            for i in range(peers):
                values, sent = gradients[i, span], np.empty(share, dtype=np.float32)
                if i == chunk:
                    sent[:] = carries[i].own(chunk, values) if feedback else values
                else:
                    payload = carries[i].part(chunk, values, 0) if feedback else coder.encode(values)
                    coder.decode_into(payload, sent)
                total += int(samples[i]) * sent.astype(np.float64)
            mean = (total / samples.sum()).astype(np.float32)
            carried = feedback and both_sides
            payload = (
                carries[chunk].mean(chunk, mean, 0, samples=int(samples.sum()), own=True)
                if carried
                else coder.encode(mean)
            )
            coder.decode_into(payload, step[span])
        for carry in carries:
            carry.commit([True] * peers)
        w -= 0.3 * step
    return float(np.mean(scale * (w - target) ** 2))


def test_four_bits_converge_with_feedback_and_not_without() -> None:
    exact = final_loss("raw", feedback=False)
    with_feedback = final_loss("q4", feedback=True)
    without = final_loss("q4", feedback=False)
    one_sided = final_loss("q4", feedback=True, both_sides=False)
    assert with_feedback < 1.5 * exact
    assert without > 3 * with_feedback
    assert one_sided > with_feedback, "the reducer's side matters too"


def test_a_member_whose_parts_are_in_no_mean_writes_nothing() -> None:
    class Watched(MemoryStore):
        committed = 0

        def commit(self, draft: int, kept: Collection[int]) -> None:
            self.committed += 1
            super().commit(draft, kept)

    store = Watched()
    carry = Carry(codec_of("q4"), store, samples=5)
    carry.part(0, np.ones(CHUNK, dtype=np.float32), 0)
    carry.commit([False, False])
    assert not store.committed
    carry = Carry(codec_of("q4"), store, samples=5)
    carry.part(0, np.ones(CHUNK, dtype=np.float32), 0)
    carry.commit([True, False])
    assert store.committed == 1


@pytest.mark.parametrize("remade", [False, True])
def test_helper_owes_nothing_for_a_share_that_was_remade(*, remade: bool) -> None:
    """It brings no samples, so no part of its own tells it that another mean counts."""
    store = MemoryStore()
    carry = Carry(codec_of("q4"), store, samples=0)
    values = np.random.default_rng(1).standard_normal(CHUNK).astype(np.float32)
    carry.mean(0, values, 0, samples=5, own=False)
    carry.mean(1, values, CHUNK, samples=5, own=False)
    if remade:
        carry.forget(range(1))
    carry.commit([False, False])
    assert store.read(1) is not None
    assert (store.read(0) is None) == remade
