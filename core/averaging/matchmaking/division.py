"""How a round is divided between its members: shares and gifts, from their lines (S000 appendix B)."""

from collections.abc import Mapping, Sequence
from statistics import median

from core.averaging.balance.gifts import best_gifts
from core.averaging.balance.shares import apportion
from core.averaging.balance.solver import AS_SHORT, round_seconds, share_chunks
from core.averaging.balance.traffic import Line, Work, fleet
from core.averaging.codecs.registry import number_bytes
from core.averaging.matchmaking import BROUGHT_FACTOR
from core.averaging.plan import WHOLE_GIFT, Member, PairLimit, Rates


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
    for more than all others together, so no claim makes their contributions superfluous.
    """
    words = [member.samples_per_s if member.samples else 0.0 for member in members]
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


def work_of(numel: int, codec: str, *, target_samples: int = 0) -> Work:
    """What the averaging of so many numbers is.

    Args:
        numel: Numbers in the vector.
        codec: How they look on the wire.
        target_samples: The target batch, where members compute while they average; 0: they do not, and all give all.
    """
    each = number_bytes(codec)
    return Work(numel=numel, number_bytes=each, target_samples=target_samples)


def pair_limits(limits: Sequence[PairLimit]) -> Mapping[tuple[int, int], float]:
    """The slow pairs as the solver takes them."""
    return {(limit.sender, limit.receiver): float(limit.rate) for limit in limits}


def equal_shares(members: Sequence[Member], chunks: int) -> tuple[int, ...]:
    """Number of chunks for each member that reduces, equal except for rounding; where none does, for each member."""
    weights = [int(member.reduces) for member in members]
    return apportion(chunks, weights if any(weights) else [1] * len(members))


def divide(
    members: Sequence[Member],
    rates: Sequence[Rates],
    *,
    limits: Sequence[PairLimit] = (),
    shown: Sequence[Rates] = (),
    chunks: int,
    work: Work,
) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Divide a round: the balance of S000 appendix B for the members' lines.

    Args:
        members: In the order of the plan.
        rates: What is believed of their lines, in the same order; may be empty.
        limits: Slow pairs.
        shown: What their lines have carried: decides between divisions that are as short according to `rates`.
        chunks: Number of chunks of the vector.
        work: What is averaged.

    Returns:
        How many chunks each member reduces, equal where that is as short: equal shares fill the lines both ways from
        the first chunk to the last.  And how many 256ths of its chunks each gives; empty where all give everything.
    """
    lines = lines_of(members, rates)
    if lines is None:
        return equal_shares(members, chunks), ()
    offered = fleet(lines, work, pair_limits(limits))
    found = best_gifts(offered)
    whole = all(gift == WHOLE_GIFT for gift, line in zip(found.gifts, lines, strict=True) if line.gives)
    known = None if limits else lines_of(members, shown)
    proven = None if known is None else fleet(known, work)
    shares = share_chunks(offered, found, total=chunks, shown=proven)
    even = equal_shares(members, chunks)
    if not limits and all(
        round_seconds(each, chunks=even, gifts=found.gifts)
        <= (1 + AS_SHORT) * round_seconds(each, chunks=shares, gifts=found.gifts)
        for each in (offered, proven or offered)
    ):
        shares = even
    return shares, () if whole else found.gifts


def _middle(rates: Sequence[int]) -> float | None:
    known = [rate for rate in rates if rate]
    return median(known) if known else None
