"""What a committed round came to, for one member."""

from core.averaging.allreduce.exchange import Exchange
from core.averaging.allreduce.giving import Giving
from core.averaging.outcome import Outcome
from core.averaging.penalties.observed import Observations
from core.averaging.plan import Plan


def outcome_of(
    plan: Plan, giving: Giving, exchange: Exchange, *, me: int, bits: bytes, seconds: float, seen: Observations
) -> Outcome:
    """A function of the plan and of what the means say about their contributors, but for what concerns me alone."""
    members = range(len(plan.members))
    present = [sum(lane.present(member) for lane in exchange.lanes) for member in members]
    planned = [giving.planned(member) for member in members]
    givers = [member for member in members if giving.samples[member] and present[member]]
    peers = plan.peers
    weights = [giving.samples[member] * present[member] for member in givers]
    whole = sum(weights)
    losses = sum(plan.members[member].loss * weight for member, weight in zip(givers, weights, strict=True))
    return Outcome(
        round=plan.round,
        versions=exchange.versions,
        makers=tuple(lane.maker for lane in exchange.lanes),
        contributors=tuple((peers[member], giving.samples[member]) for member in givers),
        present=tuple(present[member] for member in givers),
        missing=tuple(
            (peers[member], planned[member] - present[member])
            for member in members
            if present[member] < planned[member]
        ),
        chunk_total=plan.chunk_total,
        samples=-(-whole // plan.chunk_total),
        loss=losses / whole if whole else 0.0,
        left_out=_left_out(plan, exchange, me) if giving.samples[me] else (),
        seconds=seconds,
        payload_bytes=exchange.payload_bytes,
        bits=bits,
        seen=seen,
    )


def _left_out(plan: Plan, exchange: Exchange, me: int) -> tuple[tuple[int, int], ...]:
    """Where my contribution is not in the mean: neighbouring chunks as one stretch."""
    stretches: list[tuple[int, int]] = []
    first = 0
    for lane in exchange.lanes:
        for chunk in range(lane.count):
            if not lane.contributors(chunk) >> me & 1:
                span = plan.span(first + chunk)
                begin = stretches.pop()[0] if stretches and stretches[-1][1] == span.start else span.start
                stretches.append((begin, span.stop))
        first += lane.count
    return tuple(stretches)
