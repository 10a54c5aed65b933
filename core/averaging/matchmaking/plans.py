"""The plan of a round: what it must satisfy, how its leader makes it, and how each member checks it.

Bit-equal solvers on different processors are not assumed: no member works the plan out again.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import msgspec

from core.averaging.balance.traffic import Line
from core.averaging.bandwidth.book import LineBook
from core.averaging.bandwidth.known import UNKNOWN, KnownLines
from core.averaging.grid.plans import butterflies
from core.averaging.matchmaking import OTHERS_FACTOR, OWN_FACTOR, SHARE_CHUNKS, spared_most
from core.averaging.matchmaking.division import check_shares, divide, lines_of
from core.averaging.plan import (
    LIMITS_MAX,
    WHOLE_PORTION,
    Member,
    PairLimit,
    Plan,
    Rates,
    chunk_count,
    chunk_sizes,
    is_paced,
)
from core.averaging.weights import State, believed_rows
from core.base.ids import PeerId
from core.base.manifest import AveragingNumbers
from core.base.problems import RemoteProblem
from core.codecs.registry import FEEDBACK


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanRequest:
    """What a leader and the members that follow its call agree on before there is a plan."""

    round: bytes
    epoch: int
    lineage: bytes
    numel: int
    """Numbers in the vector."""
    numbers: AveragingNumbers
    """The manifest's numbers for averaging."""
    target_samples: int = 0
    """The target batch, where members may give less than all they have; 0: everybody gives all that it has."""

    @property
    def state(self) -> State:
        """The state that all members hold."""
        return self.epoch, self.lineage

    def allows(self, stages: int, members: Sequence[Member]) -> bool:
        """Whether these members may average in so many stages.

        On a grid all need the mean, it is the plain mean, and no codec's error is fed back.
        """
        fits = self.numbers.is_mean and self.numbers.codec not in FEEDBACK and all(m.receives for m in members)
        return stages == 1 or (fits and len(members) >= 1 << stages)

    def terms(self, members: int, *, paced: bool) -> dict[str, Any]:
        """Each field of the plan that follows from the request, by its name.

        Args:
            members: Number of members.
            paced: Whether links send at the plan's rates.  A chunk takes a while then, and the round's last one counts
                twice, as a part and as a mean: so chunks are cut smaller, unless feedback is kept by chunk.
        """
        numbers, sizes = self.numbers, [self.numbers.chunk_numel]
        if paced and numbers.codec not in FEEDBACK:
            sizes = chunk_sizes(numbers.chunk_numel)
        # The largest chunks of which an average share still has enough: each costs a message.
        enough = (size for size in sizes if chunk_count(self.numel, size) >= SHARE_CHUNKS * members)
        chunk = next(enough, sizes[-1])
        return {
            "round": self.round,
            "epoch": self.epoch,
            "lineage": self.lineage,
            "numel": self.numel,
            "chunk_numel": chunk,
            "codec": numbers.codec,
            "stall_timeout_s": numbers.stall_timeout_s,
            "round_timeout_s": numbers.round_timeout_s,
            "weight_share": numbers.weight_share_max,
        }


def make_plan(
    request: PlanRequest,
    members: Iterable[Member],
    leaders: Sequence[PeerId],
    *,
    known: KnownLines = UNKNOWN,
    stages: int = 1,
    bounds: Mapping[PeerId, float] = MappingProxyType({}),
) -> Plan:
    """The plan of a round.

    Args:
        request: What its members have agreed on.
        members: All that are ready, the leader among them; at most `GROUP_MAX`.
        leaders: The order in which they lead, the one that publishes the plan first; may name other peers as well.
        known: What is known of the members' lines.
        stages: Above 1: a grid of the members that need the mean, in which everybody gives all.  It is one group all
            the same where the request allows no grid.
        bounds: Upper bound on the samples that each is believed; one that is missing is believed.
    """
    ordered = believed_rows(sorted(members, key=lambda member: member.peer), bounds)
    needing = [member for member in ordered if member.receives]
    # Helpers have no place on a grid; a leader that only helps makes a plan without stages.
    if stages > 1 and request.allows(stages, needing) and any(member.peer == leaders[0] for member in needing):
        ordered = needing
    else:
        stages = 1
    places = {PeerId(member.peer): place for place, member in enumerate(ordered)}
    pairs = sorted(
        (places[a], places[b], rate) for (a, b), rate in known.limits.items() if rate and a in places and b in places
    )
    lines = _rates(places, known.lines)
    draft = Plan(
        **request.terms(len(places), paced=is_paced(lines) and stages == 1),
        members=tuple(ordered),
        chunks=(0,) * len(places),
        leaders=tuple(places[peer] for peer in leaders if peer in places),
        lines=lines,
        limits=tuple(PairLimit(*pair) for pair in pairs[:LIMITS_MAX]),
        stages=stages,
    )
    target_samples = request.target_samples if stages == 1 else 0
    chunks: dict[PeerId, int] = {}
    portions: dict[PeerId, int] = {}
    for group in butterflies(draft):
        shown = _rates(group.peers, known.shown)
        shares, given = divide(group, shown=shown, target_samples=target_samples, overlaps=request.numbers.overlaps)
        chunks |= zip(group.peers, shares, strict=True)
        portions |= zip(group.peers, given, strict=False)
    return msgspec.structs.replace(
        draft,
        chunks=tuple(chunks[peer] for peer in places),
        portions=tuple(portions.get(peer, WHOLE_PORTION) for peer in places) if portions else (),
    )


def _rates(peers: Iterable[PeerId], known: Mapping[PeerId, Rates]) -> tuple[Rates, ...]:
    return tuple(known.get(peer, Rates()) for peer in peers) if known else ()


def _as_offered(row: Member, mine: Member) -> Member:
    """A member's row without what a leader may change: it spares it, or believes it fewer samples."""
    # It may be believed fewer samples, but not none: then it would compute for nothing.
    samples = mine.samples if min(1, mine.samples) <= row.samples <= mine.samples else row.samples
    return msgspec.structs.replace(row, samples=samples, reduces=row.reduces or row.spared, spared=False)


def check_plan(plan: Plan, request: PlanRequest, mine: Member | None, *, leader: PeerId) -> Member:
    """Refuse a plan that contradicts itself or what was agreed on.

    Args:
        plan: As `leader` has published it.
        request: What was agreed on.
        mine: This member's row, as it was offered; a plan may spare it, or believe it fewer samples.  None: it has
            offered nothing.
        leader: The peer whose call was followed; the round's first coordinator is nobody else.

    Returns:
        `mine`, which is not None.

    Raises:
        RemoteProblem: says what is wrong.
    """
    peers = plan.peers
    ordered = list(peers) == sorted(set(peers)) and sorted(plan.leaders) == list(range(len(peers)))
    if not ordered or plan.leader != leader or not plan.members[plan.leaders[0]].receives:
        raise RemoteProblem("the plan's members or leaders are not in order, or do not begin with the peer that called")
    terms = request.terms(len(peers), paced=is_paced(plan.lines) and plan.stages == 1)
    if any(getattr(plan, name) != value for name, value in terms.items()):
        raise RemoteProblem("the plan is for another round, vector or manifest")
    if not request.allows(plan.stages, plan.members):
        raise RemoteProblem("the plan's stages do not fit its members or the manifest")
    rows = [row for row in plan.members if mine is not None and row.peer == mine.peer]
    if mine is None or [_as_offered(row, mine) for row in rows] != [mine]:
        raise RemoteProblem("the plan's row of this member differs from its offer")
    if not all(member.is_sound for member in plan.members):
        raise RemoteProblem("a loss or a speed in the plan is not a number, or a helper brings samples")
    spared = sum(m.spared for m in plan.members)
    able = sum(m.reduces or m.spared for m in plan.members)
    if any(m.reduces and m.spared for m in plan.members) or spared > spared_most(able):
        raise RemoteProblem("the plan spares too many, or one that is to reduce")
    columns = (plan.lines, plan.portions)
    if len(plan.chunks) != len(peers) or any(len(column) not in {0, len(peers)} for column in columns):
        raise RemoteProblem("the plan's shares, lines or portions are not one for each member")
    if any(sum(group.chunks) != plan.chunk_total for group in butterflies(plan)):
        raise RemoteProblem("the plan's shares do not make up the vector")
    pairs = [(limit.sender, limit.receiver) for limit in plan.limits]
    if pairs != sorted(set(pairs)) or any(a == b or max(a, b) >= len(peers) for a, b in pairs):
        raise RemoteProblem("the plan's slow pairs are not its members, or not in order")
    return mine


def check_division(plan: Plan, me: PeerId, lines: LineBook, *, target_samples: int = 0, overlaps: bool = True) -> None:
    """Refuse a plan whose shares do not fit its lines, or that counts on other lines than a member that judges knows.

    Args:
        plan: It has passed `check_plan`.
        me: This member.
        lines: What it knows of them.
        target_samples: As in `work_of`.
        overlaps: As there.

    Raises:
        RemoteProblem: says what is wrong.
    """
    if not plan.lines and plan.limits:
        raise RemoteProblem("the plan has slow pairs, and no lines")
    if lines.judges:
        _check_lines(plan, me, lines)
    for averaged in butterflies(plan):
        check_shares(averaged, target_samples=target_samples if plan.stages == 1 else 0, overlaps=overlaps)


def _check_lines(plan: Plan, me: PeerId, lines: LineBook) -> None:
    known, index = lines.known(plan.peers), plan.peers.index(me)
    taken = lines_of(plan.members, plan.lines)
    if taken is not None:
        _check_own(plan.lines[index], lines.claimed, taken=taken[index])
    for peer, line in zip(plan.peers, plan.lines, strict=bool(plan.lines)):
        if peer != me:
            _check_other(line, known.lines.get(peer, Rates()))
    if any(limit.sender == index and plan.peers[limit.receiver] not in lines.own.held for limit in plan.limits):
        raise RemoteProblem("the plan says that this member is slow to another, and it is not")


def _check_own(line: Rates, claimed: Rates, *, taken: Line) -> None:
    """What counts is what the line is taken for, also where the plan says that it is unknown."""
    for planned, told, rate in (
        (line.up, claimed.up, taken.up_bytes_per_s),
        (line.down, claimed.down, taken.down_bytes_per_s),
    ):
        # What a plan takes an unknown line for follows from the other members' lines, so it may be further off.
        if told and rate > (OWN_FACTOR if planned else OTHERS_FACTOR) * told:
            raise RemoteProblem(f"the plan counts on {rate:.0f} bytes a second of this line, which told {told}")


def _check_other(line: Rates, known: Rates) -> None:
    for planned, believed in ((line.up, known.up), (line.down, known.down)):
        if planned and believed and not believed / OTHERS_FACTOR <= planned <= believed * OTHERS_FACTOR:
            raise RemoteProblem(f"the plan counts on {planned} bytes a second of a line that carries about {believed}")
