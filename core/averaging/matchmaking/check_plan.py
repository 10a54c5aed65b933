"""How a member checks a plan that another has made: that it is what was agreed on, feasible, fair, and about as short.

Bit-equal solvers on different processors are not assumed: no member works the plan out again.
"""

import math

import msgspec

from core.averaging.balance.fleet import Line
from core.averaging.bandwidth.demand import whole_gifts
from core.averaging.codecs.registry import FEEDBACK
from core.averaging.grid.layout import layout_of
from core.averaging.grid.plans import butterflies
from core.averaging.matchmaking import OTHERS_FACTOR, OWN_FACTOR, SLOWER_TOLERANCE, SPARED_PART
from core.averaging.matchmaking.attempts import LineKnowledge, PlanRequest
from core.averaging.matchmaking.division import equal_shares, lines_of, pair_limits, work_of
from core.averaging.plan import BUTTERFLY, GRID, Member, Plan, Rates, is_paced
from core.base.ids import PeerId
from core.base.problems import RemoteProblem


def spared_most(able: int) -> int:
    """Number of members that a plan may give no share, of so many that would reduce."""
    return 0 if able < 2 else max(1, able // SPARED_PART)


def check_plan(plan: Plan, request: PlanRequest, mine: Member) -> None:
    """Refuse a plan that contradicts itself or what was agreed on.

    Args:
        plan: As its leader has published it.
        request: What was agreed on.
        mine: This member's row, as it was offered; a plan may spare it.

    Raises:
        RemoteProblem: says what is wrong.
    """
    chunk_numel = request.chunk_numel(len(plan.members), paced=is_paced(plan.lines) and plan.stages == 1)
    terms = request.terms | {"chunk_numel": chunk_numel}
    if any(getattr(plan, name) != value for name, value in terms.items()):
        raise RemoteProblem("the plan is for another round, vector or manifest")
    rows = [row for row in plan.members if row.peer == mine.peer]
    if [msgspec.structs.replace(row, reduces=row.reduces or row.spared, spared=False) for row in rows] != [mine]:
        raise RemoteProblem("the plan does not have this member as it has offered itself")
    spared = sum(m.spared for m in plan.members)
    able = sum(m.reduces or m.spared for m in plan.members)
    if any(m.reduces and m.spared for m in plan.members) or spared > spared_most(able):
        raise RemoteProblem("the plan spares too many, or one that is to reduce")
    peers = plan.peers
    if list(peers) != sorted(set(peers)):
        raise RemoteProblem("the plan's members are not in order, or not distinct")
    _check_topology(plan, is_mean=request.numbers.is_mean)
    groups = (range(len(peers)),) if plan.stages == 1 else tuple(group.members for group in layout_of(plan).stages[0])
    if len(plan.chunks) != len(peers) or any(sum(plan.chunks[m] for m in g) != plan.chunk_total for g in groups):
        raise RemoteProblem("the plan's shares do not make up the vector")
    if any(len(column) not in {0, len(peers)} for column in (plan.lines, plan.gifts)):
        raise RemoteProblem("the plan's lines or gifts are not one for each member")
    pairs = [(limit.sender, limit.receiver) for limit in plan.limits]
    if pairs != sorted(set(pairs)) or any(a == b or max(a, b) >= len(peers) for a, b in pairs):
        raise RemoteProblem("the plan's slow pairs are not its members, or not in order")
    if sorted(plan.leaders) != list(range(len(peers))):
        raise RemoteProblem("the plan's leaders are not its members")
    if not all(math.isfinite(member.loss) and math.isfinite(member.samples_per_s) for member in plan.members):
        raise RemoteProblem("a loss or a speed in the plan is not a number")


def _check_topology(plan: Plan, *, is_mean: bool) -> None:
    topology = BUTTERFLY if plan.stages == 1 else GRID
    if plan.topology != topology or (plan.stages > 1 and len(plan.members) < 1 << plan.stages):
        raise RemoteProblem("the plan's topology does not fit its stages or its members")
    fits = is_mean and plan.codec not in FEEDBACK and all(member.receives for member in plan.members)
    if plan.stages > 1 and not fits:
        raise RemoteProblem("the plan is a grid, for which its codec, its aggregator or its helpers are not made")


def check_division(plan: Plan, me: PeerId, lines: LineKnowledge, *, target_samples: int = 0) -> None:
    """Refuse a plan that counts on other lines than are known, or whose shares do not fit its lines.

    Args:
        plan: It has passed `check_plan`.
        me: This member.
        lines: What it knows of them.
        target_samples: See `work_of`.

    Raises:
        RemoteProblem: says what is wrong.
    """
    known = lines.known(plan.peers)
    if not plan.lines and plan.limits:
        raise RemoteProblem("the plan has slow pairs, and no lines")
    index = plan.peers.index(me)
    taken = lines_of(plan.members, plan.lines)
    if taken is not None:
        _check_own(plan.lines[index], lines.claimed, taken=taken[index])
    for peer, line in zip(plan.peers, plan.lines, strict=bool(plan.lines)):
        if peer != me:
            _check_other(line, known.lines.get(peer, Rates()))
    if any(limit.sender == index and plan.peers[limit.receiver] not in lines.held for limit in plan.limits):
        raise RemoteProblem("the plan says that this member is slow to another, and it is not")
    for averaged in butterflies(plan):
        check_shares(averaged, target_samples=target_samples if plan.stages == 1 else 0)


def _check_own(line: Rates, claimed: Rates, *, taken: Line) -> None:
    """What counts is what the line is taken for, also where the plan says that it is unknown."""
    for planned, told, rate in (
        (line.up, claimed.up, taken.up_bytes_per_s),
        (line.down, claimed.down, taken.down_bytes_per_s),
    ):
        if told and rate > (OWN_FACTOR if planned else OTHERS_FACTOR) * told:
            raise RemoteProblem(f"the plan takes this member's line for {rate:.0f} bytes a second, which told {told}")


def _check_other(line: Rates, known: Rates) -> None:
    for planned, believed in ((line.up, known.up), (line.down, known.down)):
        if planned and believed and not believed / OTHERS_FACTOR <= planned <= believed * OTHERS_FACTOR:
            raise RemoteProblem(f"the plan takes a line for {planned} bytes a second that carries about {believed}")


def check_shares(plan: Plan, *, target_samples: int = 0) -> None:
    """Refuse shares that do not fit the lines of their plan.

    Args:
        plan: Of a butterfly.
        target_samples: See `work_of`.

    Raises:
        RemoteProblem: says what is wrong.
    """
    lines = lines_of(plan.members, plan.lines)
    if lines is None:
        if plan.gifts or plan.chunks != equal_shares(plan.members, plan.chunk_total):
            raise RemoteProblem("the plan has no lines, and other than equal shares")
        return
    from core.averaging.balance.solver import check_balance  # noqa: PLC0415 - scipy is large

    check_balance(
        lines,
        work_of(plan.numel, plan.codec, target_samples=target_samples),
        chunks=plan.chunks,
        gifts=whole_gifts(plan, lines),
        pair_limits=pair_limits(plan.limits) or None,
        tolerance=SLOWER_TOLERANCE,
    )
