"""How a round is divided between its members: shares and portions, from their lines (S000 appendix B)."""

from collections.abc import Sequence
from statistics import median

from core.averaging.balance.portions import best_portions
from core.averaging.balance.shares import apportion
from core.averaging.balance.solver import AS_SHORT, check_balance, round_seconds, share_chunks
from core.averaging.balance.traffic import Line, PairLimits, Work, fleet
from core.averaging.matchmaking import BROUGHT_FACTOR, SLOWER_TOLERANCE, SLOWEST_PER_S
from core.averaging.plan import WHOLE_PORTION, Member, Plan, Rates
from core.base.problems import RemoteProblem
from core.codecs.registry import number_bytes


def lines_of(members: Sequence[Member], rates: Sequence[Rates]) -> list[Line] | None:
    """The members' lines for the solver.

    Args:
        members: In the order of the plan.
        rates: What is known of their lines, in the same order; may be empty.

    Returns:
        One for each member, where an unknown one is like the middle one of the known ones; None: all are unknown.
    """
    up = _middle([rate.up for rate in rates])
    down = _middle([rate.down for rate in rates])
    if up is None and down is None:
        return None
    able = any(member.reduces for member in members)
    speeds = speeds_of(members)
    return [
        Line(
            up_bytes_per_s=float(rate.up or up or rate.down or down or 1),
            down_bytes_per_s=float(rate.down or down or rate.up or up or 1),
            gives=member.samples > 0,
            reduces=member.reduces or not able,
            receives=member.receives,
            samples_per_s=speed,
        )
        for member, rate, speed in zip(members, rates, speeds, strict=True)
    ]


def speeds_of(members: Sequence[Member]) -> list[float]:
    """Samples a second that each member is taken to compute; 0: unknown.

    All count their samples since the same step.  So the samples that a member brings, over the seconds in which the
    middle member has computed its own, bound the speed that it may claim, times `BROUGHT_FACTOR`.  And no member counts
    for more than all others together, so no claim makes their contributions superfluous.  What is less than
    `SLOWEST_PER_S` tells nothing: the middle one of few would make everybody so slow that no solver can divide by it.
    """
    said = [member.samples_per_s if member.samples else 0.0 for member in members]
    words = [word if word >= SLOWEST_PER_S else 0.0 for word in said]
    since_s = sorted(member.samples / word for member, word in zip(members, words, strict=True) if word > 0)
    if not since_s:
        return words
    middle_s = since_s[len(since_s) // 2]
    speeds = [
        min(word, BROUGHT_FACTOR * member.samples / middle_s) for member, word in zip(members, words, strict=True)
    ]
    fastest = max(range(len(speeds)), key=speeds.__getitem__)
    speeds[fastest] = min(speeds[fastest], sum(speeds) - speeds[fastest])
    return speeds


def work_of(numel: int, codec: str, *, target_samples: int = 0, overlaps: bool = True) -> Work:
    """What the averaging of so many numbers is.

    Args:
        numel: Numbers in the vector.
        codec: How they look on the wire.
        target_samples: The target batch, where members may give less than all they have; 0: all give all.
        overlaps: Whether members compute while they average.
    """
    return Work(numel=numel, number_bytes=number_bytes(codec), target_samples=target_samples, overlaps=overlaps)


def pair_limits(plan: Plan) -> PairLimits | None:
    """The plan's slow pairs as the solver takes them; None: there are none."""
    return {(limit.sender, limit.receiver): float(limit.rate) for limit in plan.limits} or None


def equal_shares(plan: Plan) -> tuple[int, ...]:
    """Number of chunks for each member that reduces, equal except for rounding; where none does, for each member."""
    weights = [int(member.reduces) for member in plan.members]
    return apportion(plan.chunk_total, weights if any(weights) else [1] * len(weights))


def divide(
    plan: Plan, *, shown: Sequence[Rates] = (), target_samples: int = 0, overlaps: bool = True
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Divide a round: the balance of S000 appendix B for the members' lines.

    Args:
        plan: Plan of a butterfly, with all but its shares and portions.
        shown: What its members' lines have carried: decides between divisions that are as short by the plan's lines.
        target_samples: As in `work_of`.
        overlaps: As there.

    Returns:
        How many chunks each member reduces, equal where that is as short: equal shares fill the lines both ways from
        the first chunk to the last.  And how many 256ths of its chunks each gives; empty where all give everything.
    """
    members, even = plan.members, equal_shares(plan)
    lines = lines_of(members, plan.lines)
    if lines is None:
        return even, ()
    work = work_of(plan.numel, plan.codec, target_samples=target_samples, overlaps=overlaps)
    offered = fleet(lines, work, pair_limits(plan))
    found = best_portions(offered)
    whole = all(portion == WHOLE_PORTION for portion, line in zip(found.portions, lines, strict=True) if line.gives)
    known = None if plan.limits else lines_of(members, shown)
    proven = None if known is None else fleet(known, work)
    shares = share_chunks(offered, found, total=plan.chunk_total, shown=proven)
    if not plan.limits and all(
        round_seconds(each, chunks=even, portions=found.portions)
        <= (1 + AS_SHORT) * round_seconds(each, chunks=shares, portions=found.portions)
        for each in (offered, proven or offered)
    ):
        shares = even
    return shares, () if whole else found.portions


def check_shares(plan: Plan, *, target_samples: int = 0, overlaps: bool = True) -> None:
    """Refuse shares that do not fit the lines of their plan.

    Args:
        plan: Plan of a butterfly.
        target_samples: As in `work_of`.
        overlaps: As there.

    Raises:
        RemoteProblem: says what is wrong.
    """
    lines = lines_of(plan.members, plan.lines)
    if lines is None:
        if plan.portions or plan.chunks != equal_shares(plan):
            raise RemoteProblem("the plan has no lines, and other than equal shares")
        return
    work = work_of(plan.numel, plan.codec, target_samples=target_samples, overlaps=overlaps)
    members, portions = fleet(lines, work, pair_limits(plan)), plan.portions or (WHOLE_PORTION,) * len(lines)
    check_balance(members, chunks=plan.chunks, portions=portions, tolerance=SLOWER_TOLERANCE)


def _middle(rates: Sequence[int]) -> float | None:
    known = [rate for rate in rates if rate]
    return median(known) if known else None
