"""How a round is divided between its members: shares and gifts from their lines, and whether a plan divides well."""

from collections.abc import Mapping, Sequence
from statistics import median
from typing import Final

from core.averaging.balance.fleet import Line, Work, apportion
from core.averaging.codecs import number_bytes
from core.averaging.plan import WHOLE_GIFT, Member, PairLimit, Rates

BROUGHT: Final = 2.0
"""So many times what its samples speak for a member's word about its speed is believed."""
EVEN: Final = 0.01
"""Equal shares are taken where the round takes at most so much longer with them: they fill the lines both ways from the
first chunk to the last, and the lines are not known better."""


def lines_of(members: Sequence[Member], rates: Sequence[Rates]) -> list[Line] | None:
    """The members' lines for the solver; None where nothing at all is known.

    Of whom nothing is known is taken to have a line like the middle one of those that are known.
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
    """Samples a second that each member is taken to compute; 0: nobody knows.

    They all count their samples since the same step: no word goes beyond `BROUGHT` times what a member brings of what
    the middle one brings for each of its samples a second.  And nobody is worth more than all others together, so no
    word makes their contributions superfluous.
    """
    words = [member.samples_per_s if member.samples else 0.0 for member in members]
    since_s = sorted(member.samples / word for member, word in zip(members, words, strict=True) if word > 0)
    if not since_s:
        return words
    middle_s = since_s[len(since_s) // 2]
    speeds = [min(word, BROUGHT * member.samples / middle_s) for member, word in zip(members, words, strict=True)]
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
    return Work(numel=numel, part_bytes=each, mean_bytes=each, target_samples=target_samples)


def pair_limits(limits: Sequence[PairLimit]) -> Mapping[tuple[int, int], float]:
    """The slow pairs as the solver takes them."""
    return {(limit.sender, limit.receiver): float(limit.rate) for limit in limits}


def equal_shares(members: Sequence[Member], chunks: int) -> tuple[int, ...]:
    """Chunks that each member reduces: the same for all who reduce, but for rounding; if nobody does, for all."""
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
    """How many chunks each member reduces, and how much each gives: the balance of S000 appendix B for their lines.

    Args:
        members: Who takes part.
        rates: What is believed of their lines.
        limits: Slow pairs.
        shown: What their lines have carried: it decides between rounds that are as short by `rates`.
        chunks: To be reduced.
        work: What is averaged.

    Returns:
        Chunks and gifts; without gifts where everybody gives all that it has.
    """
    lines = lines_of(members, rates)
    if lines is None:
        return equal_shares(members, chunks), ()
    from core.averaging.balance.reserve import reserved_chunks  # noqa: PLC0415 - scipy is large
    from core.averaging.balance.solver import balance, round_seconds, share_chunks  # noqa: PLC0415 - as above

    slow = pair_limits(limits) or None
    found = balance(lines, work, pair_limits=slow)
    whole = all(gift == WHOLE_GIFT for gift, line in zip(found.gifts, lines, strict=True) if line.gives)
    proven = lines_of(members, shown) if slow is None else None
    if proven is None:
        shares = share_chunks(lines, work, found, total=chunks, pair_limits=slow)
    else:
        shares = reserved_chunks(lines, proven, work, found, total=chunks)
    even = equal_shares(members, chunks)
    if slow is None and all(
        round_seconds(each, work, chunks=even, gifts=found.gifts)
        <= (1 + EVEN) * round_seconds(each, work, chunks=shares, gifts=found.gifts)
        for each in (lines, proven or lines)
    ):
        shares = even
    return shares, () if whole else found.gifts


def _middle(rates: Sequence[int]) -> float | None:
    known = [rate for rate in rates if rate]
    return median(known) if known else None
