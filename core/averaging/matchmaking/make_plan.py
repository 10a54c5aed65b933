"""The plan of a round, as its leader makes it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from core.averaging.balance.fleet import Work
from core.averaging.bandwidth.known import UNKNOWN, KnownLines
from core.averaging.codecs.registry import FEEDBACK
from core.averaging.grid.layout import grid_of
from core.averaging.matchmaking.attempts import PlanRequest
from core.averaging.matchmaking.division import divide, work_of
from core.averaging.plan import (
    BUTTERFLY,
    GRID,
    LIMITS_MAX,
    WHOLE_GIFT,
    Member,
    PairLimit,
    Plan,
    Rates,
    chunk_count,
    is_paced,
)
from core.base.ids import PeerId


def make_plan(
    request: PlanRequest,
    members: Iterable[Member],
    leaders: Sequence[PeerId],
    *,
    known: KnownLines = UNKNOWN,
    stages: int = 1,
) -> Plan:
    """The plan of a round.

    Args:
        request: What its members have agreed on.
        members: All that are ready, the leader among them; at most `GROUP_MAX`.
        leaders: The order in which they lead, the one that publishes the plan first; may name other peers as well.
        known: What is known of the members' lines.
        stages: Above 1: a grid of the members that need the mean, in which everybody gives all.  It is one group all
            the same where the codec needs feedback, or they are too few.
    """
    ordered = sorted(members, key=lambda member: member.peer)
    needing = [member for member in ordered if member.receives]
    leads = any(member.peer == leaders[0] for member in needing)
    if request.numbers.codec in FEEDBACK or not request.numbers.is_mean or len(needing) < 1 << stages or not leads:
        stages = 1
    ordered = ordered if stages == 1 else needing
    peers = [PeerId(member.peer) for member in ordered]
    known = _known_among(peers, known)
    target_samples = request.target_samples if stages == 1 else 0
    work = work_of(request.numel, request.numbers.codec, target_samples=target_samples)
    lines = _rates(peers, known.lines)
    chunk_numel = request.chunk_numel(len(peers), paced=is_paced(lines) and stages == 1)
    total = chunk_count(request.numel, chunk_numel)
    chunks, gifts = [0] * len(peers), [WHOLE_GIFT] * len(peers)
    for group in _first_groups(request.round, peers, stages):
        among = [ordered[place] for place in group]
        for place, share, gift in zip(group, *_divide_group(among, known, work, chunks=total), strict=True):
            chunks[place], gifts[place] = share, gift
    return Plan(
        **request.terms,
        chunk_numel=chunk_numel,
        topology=BUTTERFLY if stages == 1 else GRID,
        members=tuple(ordered),
        chunks=tuple(chunks),
        leaders=tuple(peers.index(peer) for peer in leaders if peer in peers),
        lines=lines,
        limits=_slow_pairs(peers, known),
        gifts=() if all(gift == WHOLE_GIFT for gift in gifts) else tuple(gifts),
        stages=stages,
    )


def _known_among(peers: Sequence[PeerId], known: KnownLines) -> KnownLines:
    """What is known, with at most `LIMITS_MAX` slow pairs, all among these peers and in the order of a plan."""
    here = set(peers)
    pairs = sorted(pair for pair, rate in known.limits.items() if rate > 0 and here.issuperset(pair))
    return replace(known, limits={pair: known.limits[pair] for pair in pairs[:LIMITS_MAX]})


def _first_groups(round_: bytes, peers: Sequence[PeerId], stages: int) -> Sequence[Sequence[int]]:
    if stages == 1:
        return [range(len(peers))]
    return [group.members for group in grid_of(round_, peers, stages).stages[0]]


def _divide_group(
    members: Sequence[Member], known: KnownLines, work: Work, *, chunks: int
) -> tuple[Sequence[int], Sequence[int]]:
    """Shares and gifts of members that average all of the vector among themselves."""
    peers = [PeerId(member.peer) for member in members]
    rates, shown = _rates(peers, known.lines), _rates(peers, known.shown)
    shares, gifts = divide(members, rates, limits=_slow_pairs(peers, known), shown=shown, chunks=chunks, work=work)
    return shares, gifts or [WHOLE_GIFT] * len(members)


def _rates(peers: Sequence[PeerId], known: Mapping[PeerId, Rates]) -> tuple[Rates, ...]:
    return tuple(known.get(peer, Rates()) for peer in peers) if known else ()


def _slow_pairs(peers: Sequence[PeerId], known: KnownLines) -> tuple[PairLimit, ...]:
    places = {peer: place for place, peer in enumerate(peers)}
    return tuple(
        PairLimit(places[a], places[b], rate) for (a, b), rate in known.limits.items() if a in places and b in places
    )
