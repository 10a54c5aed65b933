"""Whatever anybody says, within the schema or not: nothing is raised out of `handle`, and nothing grows."""

from random import Random

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from core.averaging.aggregators import AGGREGATORS
from core.averaging.bandwidth.book import LineBook
from core.averaging.butterfly import Butterfly, RoundInput
from core.averaging.commit.fingerprints import plan_name
from core.averaging.grid.grid import Grid
from core.averaging.grid.layout import FailureRate, Group, layout_of
from core.averaging.grid.plans import GRID_MESSAGES, Holding
from core.averaging.matchmaking import GROUP_MESSAGES, ContributionWanted
from core.averaging.matchmaking.attempts import RoundConfig
from core.averaging.matchmaking.matchmaker import Matchmaker
from core.averaging.messages import ROUND_MESSAGES
from core.averaging.penalties import Penalties
from core.averaging.plan import Member, PairLimit, Rates
from core.base.machine import Lost, Received, Tick, Trace
from core.base.manifest import AveragingNumbers
from core.base.signing import Ed25519Verifier, Signing
from core.base.wire import Message
from core.codecs.registry import CODECS
from tests.unit.averaging.pump import make_plan, with_keys


def floats_of(values: list[float]) -> bytes:
    return np.array(values, dtype="<f4").tobytes()


PLAN, SIGNERS = with_keys(make_plan([1, 2, 0, 4], 16 * 9))
PEERS = PLAN.peers
GRID_PLAN, _ = with_keys(make_plan([1, 2, 0, 4], 16 * 9, stages=2))
GROUPS = layout_of(GRID_PLAN)[1]
ids = st.sampled_from([PLAN.round, PLAN.lineage, bytes(31) + b"x"])
small = st.one_of(st.integers(0, 5), st.integers(0, 255), st.sampled_from([1 << 16, (1 << 31)]))
numbers = st.lists(st.integers(0, 6), max_size=6).map(tuple)
bits = st.binary(max_size=2)
payloads = st.sampled_from([0, 1, 64]).flatmap(lambda n: st.binary(min_size=n, max_size=n)).map(memoryview)
members = st.sampled_from([PLAN.members, PLAN.members[:1], PLAN.members[::-1]])

sums = st.one_of(
    st.just(b""), st.binary(max_size=9), st.lists(st.floats(width=32), min_size=64, max_size=64).map(floats_of)
)
holdings = st.builds(
    Holding,
    st.sampled_from([bytes(32), b"h" * 32]),
    st.lists(st.tuples(st.integers(0, 4), st.integers(1, 9)), max_size=2).map(tuple),
)
givers = st.lists(st.tuples(st.integers(0, 4), holdings), min_size=1, max_size=4).map(tuple)


def giving(group: Group) -> tuple[tuple[int, Holding], ...]:
    """As a group's first member would have it."""
    return tuple((member, Holding(bytes(32))) for member in group.members[: len(group.blocks)])


FIELDS: dict[str, st.SearchStrategy[object]] = {
    "round": ids,
    "lineage": ids,
    "epoch": st.integers(0, 4),
    "attempt": st.one_of(st.integers(0, 3), st.integers(0, 10_000)),
    "nonce": st.integers(0, 3),
    "samples": st.integers(0, 1 << 40),
    "silent": st.lists(ids, max_size=3).map(tuple),
    "reason": st.sampled_from(["elsewhere", "busy", "away"]),
    "plan": st.sampled_from([plan_name(PLAN), plan_name(PLAN), bytes(32)]),
    "lacking": st.integers(0, 40),
    "stalled": bits,
    "holders": bits,
    "repair": bits,
    "nonces": st.lists(st.binary(max_size=2), max_size=5).map(tuple),
    "fingerprints": st.lists(st.binary(max_size=2), max_size=5).map(tuple),
    "shares": st.lists(st.tuples(st.integers(0, 255), st.integers(0, 3)), max_size=5).map(tuple),
    "share": st.one_of(st.integers(0, 3), st.integers(0, 255)),
    "version": st.one_of(st.integers(0, 2), st.integers(0, 1 << 31)),
    "chunk": st.one_of(st.integers(0, 3), st.integers(0, (1 << 24) - 1)),
    "contributors": bits,
    "scaled": bits,
    "radius": st.sampled_from([0.0, 1e-30, 3.0, 1e18]),
    "sums": sums,
    "signature": st.binary(max_size=64),
    "made": st.lists(st.tuples(st.integers(0, 255), sums), max_size=3).map(tuple),
    "told": st.lists(st.tuples(sums, st.binary(max_size=64)), max_size=5).map(tuple),
    "live": bits,
    "payload": payloads,
    "lines": st.lists(st.builds(Rates, small, small), max_size=5).map(tuple),
    "limits": st.lists(st.builds(PairLimit, st.integers(0, 4), st.integers(0, 4), st.just(9)), max_size=3).map(tuple),
    "portions": st.lists(st.integers(0, 256), max_size=5).map(tuple),
    "present": numbers,
    "versions": st.one_of(numbers, st.just((0, 0, 0, 0)), st.lists(small, min_size=4, max_size=4).map(tuple)),
    "reducers": st.one_of(
        numbers, st.just((0, 1, 2, 3)), st.lists(st.integers(0, 3), min_size=4, max_size=4).map(tuple)
    ),
    "member": st.builds(
        Member,
        st.sampled_from(PEERS),
        st.integers(0, 1 << 40),
        st.floats(allow_nan=True),
        st.booleans(),
        st.booleans(),
        st.one_of(st.floats(0, 1e12), st.just(float("nan"))),
        st.booleans(),
        st.one_of(st.floats(0, 1e18), st.just(float("nan"))),
    ),
    "stage": st.sampled_from([1, 1, 1, 2, 3]),
    "group": st.one_of(st.integers(0, 1), st.integers(0, 255)),
    "holding": st.one_of(st.none(), holdings),
    "givers": st.one_of(givers, st.sampled_from(GROUPS).map(giving)),
    "others": st.one_of(st.just(()), numbers),
    "numel": st.just(PLAN.numel),
    "chunk_numel": st.just(PLAN.chunk_numel),
    "codec": st.just("raw"),
    "stall_timeout_s": st.just(2.0),
    "round_timeout_s": st.just(20.0),
    "members": members,
    "chunks": numbers,
    "leaders": numbers,
    "weight_share": st.sampled_from([0.25, 1.0]),
    "stages": st.sampled_from([1, 1, 2, 3, 4]),
}


def message_of(
    kind: type[Message], fields: dict[str, st.SearchStrategy[object]] = FIELDS
) -> st.SearchStrategy[Message]:
    names = [field.name for field in msgspec.structs.fields(kind)]
    return st.fixed_dictionaries({name: fields[name] for name in names}).map(lambda values: kind(**values))


def events(kinds: tuple[type[Message], ...]) -> st.SearchStrategy[list[object]]:
    senders = st.sampled_from([*PEERS, bytes(32)])
    received = st.builds(Received, senders, st.one_of(*(message_of(kind) for kind in kinds)))
    lost = st.builds(Lost, senders, st.just("x"))
    return st.lists(st.one_of(received, received, received, received, st.just(Tick()), lost), max_size=40)


@settings(max_examples=100, deadline=None)
@given(events(ROUND_MESSAGES), st.integers(0, 3), st.floats(0.0, 1.0), st.sampled_from(["mean", "centered_clip"]))
def test_round_survives_anything(happenings: list[object], me: int, step_s: float, aggregator: str) -> None:
    contribution = np.arange(PLAN.numel, dtype=np.float32)
    result, numbers = np.zeros_like(contribution), AGGREGATORS[aggregator]()
    work = RoundInput(
        contribution, result, CODECS["raw"], aggregator=numbers, identity=Signing(SIGNERS[me], Ed25519Verifier())
    )
    machine = Butterfly(PEERS[me], PLAN, work, trace=Trace())
    machine.start(0.0)
    now = 0.0
    for event in happenings:
        now += step_s
        outputs = machine.handle(event, now)  # type: ignore[arg-type]
        assert isinstance(outputs, list)
        assert len(outputs) <= 400
        assert machine.open_chunks <= PLAN.chunk_total
        assert machine.deadline is None or machine.deadline <= 20.0
    assert contribution.tolist() == list(range(PLAN.numel))
    machine.handle(Tick(), 21.0)
    assert machine.deadline is None


@settings(max_examples=100, deadline=None)
@given(
    events((*GRID_MESSAGES, *GRID_MESSAGES, *ROUND_MESSAGES)),
    st.integers(0, 3),
    st.floats(0.0, 1.0),
    st.sampled_from(["near", "far"]),
)
def test_grid_survives_anything(happenings: list[object], me: int, step_s: float, neighbour: str) -> None:
    contribution = np.arange(PLAN.numel, dtype=np.float32)
    result = np.zeros_like(contribution)
    machine = Grid(PEERS[me], GRID_PLAN, RoundInput(contribution, result, CODECS["raw"]), trace=Trace())
    machine.start(0.0)
    now = 0.0
    if neighbour == "far":  # the neighbour of the first stage is gone; whoever leads goes on alone
        other = next(m for g in layout_of(GRID_PLAN)[0] if me in g.members for m in g.members if m != me)
        machine.handle(Lost(PEERS[other], "x"), now)
    for event in happenings:
        now += step_s
        outputs = machine.handle(event, now)  # type: ignore[arg-type]
        assert isinstance(outputs, list)
        assert len(outputs) <= 400
        assert sum(each.open_chunks for each in machine.rounds.running.values()) <= 4 * PLAN.chunk_total
        assert machine.deadline is None or machine.deadline <= 40.0 + step_s * 40
    assert contribution.tolist() == list(range(PLAN.numel))
    for _ in range(5):
        now += 100.0
        machine.handle(Tick(), now)
    assert machine.deadline is None


@settings(max_examples=100, deadline=None)
@given(
    happenings=events(tuple(GROUP_MESSAGES)),
    me=st.integers(0, 3),
    step_s=st.floats(0.0, 2.0),
    full=st.booleans(),
)
def test_matchmaker_survives_anything(happenings: list[object], me: int, step_s: float, *, full: bool) -> None:
    numbers = AveragingNumbers(chunk_numel=256)
    config = RoundConfig(
        me=PEERS[me],
        run_id=b"r" * 32,
        numbers=numbers,
        lines=LineBook(PEERS[me]),
        penalties=Penalties(PEERS[me], round_timeout_s=numbers.round_timeout_s),
        failures=FailureRate(),
        numel=PLAN.numel,
    )
    machine = Matchmaker(config, random=Random(1), trace=Trace())
    now = 0.0
    outputs = machine.stand((3, PLAN.lineage), PEERS, full=full, now=now)
    for event in happenings:
        for output in outputs:
            if isinstance(output, ContributionWanted):
                machine.offer(output.round, Member(PEERS[me], 5, 1.0), now)
        now += step_s
        outputs = machine.handle(event, now)  # type: ignore[arg-type]
        assert isinstance(outputs, list)
        assert len(outputs) <= 20
