"""Whether a plan that somebody else made divides the round as we would: feasible, fair to us, and about as short.

Bit-equal solvers on different processors are not assumed: nobody works the plan out again, everybody checks it.
"""

from collections.abc import Mapping
from typing import Final

from core.averaging.balance.fleet import Line
from core.averaging.bandwidth.demand import whole_gifts
from core.averaging.bandwidth.known import KnownLines
from core.averaging.grid.plans import butterflies
from core.averaging.matchmaking.division import equal_shares, lines_of, pair_limits, work_of
from core.averaging.plan import Plan, Rates
from core.base.ids import PeerId
from core.base.problems import RemoteProblem

OWN_EXCESS: Final = 1.5
"""A plan may take us for so many times what we have said."""
OTHERS_FACTOR: Final = 6.0
"""A plan may take others for so many times more or less than we would: not all have heard the same."""
SLOWER: Final = 0.05
"""A plan may take so much longer than our own for the same lines."""


def check_division(
    plan: Plan,
    me: PeerId,
    *,
    known: KnownLines,
    claimed: Rates,
    held: Mapping[PeerId, float],
    target_samples: int = 0,
) -> None:
    """Refuse a plan whose lines are not those that are known, or whose shares do not fit its lines.

    Args:
        plan: It has passed `check_plan`.
        me: This peer.
        known: What we believe of the members.
        claimed: The most that we have said of our own line lately.
        held: To whom our bytes had to wait; we never said so of others.
        target_samples: See `work_of`.

    Raises:
        RemoteProblem: says what is wrong.
    """
    if not plan.lines and plan.limits:
        raise RemoteProblem("the plan knows slow pairs, and no lines")
    index = plan.peers.index(me)
    taken = lines_of(plan.members, plan.lines) if plan.lines else None
    if taken is not None:
        _check_own(plan.lines[index], claimed, taken=taken[index])
    for peer, line in zip(plan.peers, plan.lines, strict=bool(plan.lines)):
        if peer != me:
            _check_other(line, known.lines.get(peer, Rates()))
    if any(limit.sender == index and plan.peers[limit.receiver] not in held for limit in plan.limits):
        raise RemoteProblem("the plan says that we are slow to somebody, and we are not")
    for averaged in butterflies(plan):
        check_shares(averaged, target_samples=target_samples if plan.stages == 1 else 0)


def _check_own(line: Rates, claimed: Rates, *, taken: Line) -> None:
    """What counts is what the line is taken for, also where the plan says that nobody knows it."""
    for planned, said, rate in (
        (line.up, claimed.up, taken.up_bytes_per_s),
        (line.down, claimed.down, taken.down_bytes_per_s),
    ):
        if said and rate > (OWN_EXCESS if planned else OTHERS_FACTOR) * said:
            raise RemoteProblem(f"the plan takes our line for {rate:.0f} bytes a second where we have said {said}")


def _check_other(line: Rates, ours: Rates) -> None:
    for planned, believed in ((line.up, ours.up), (line.down, ours.down)):
        if planned and believed and not believed / OTHERS_FACTOR <= planned <= believed * OTHERS_FACTOR:
            raise RemoteProblem(f"the plan takes a line for {planned} bytes a second that carries about {believed}")


def check_shares(plan: Plan, *, target_samples: int = 0) -> None:
    """Refuse shares of a butterfly that do not fit the lines which its plan tells.

    Args:
        plan: The butterfly's.
        target_samples: See `work_of`.

    Raises:
        RemoteProblem: says what is wrong.
    """
    lines = lines_of(plan.members, plan.lines) if plan.lines else None
    if lines is None:
        if plan.gifts or plan.chunks != equal_shares(plan.members, plan.chunk_total):
            raise RemoteProblem("the plan knows no lines, and has other than equal shares")
        return
    from core.averaging.balance.solver import check_balance  # noqa: PLC0415 - scipy is large

    check_balance(
        lines,
        work_of(plan.numel, plan.codec, target_samples=target_samples),
        chunks=plan.chunks,
        gifts=whole_gifts(plan, lines),
        pair_limits=pair_limits(plan.limits) or None,
        tolerance=SLOWER,
    )
