"""What a plan for a group goes by: all that one peer knows of its members' lines.  Pure functions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Final

from core.averaging.bandwidth.proven import ProvenLine
from core.averaging.bandwidth.records import LineFacts, from_level, mark_of
from core.averaging.bandwidth.trust import Witnessed, alike, believed, slow_pairs
from core.averaging.plan import Rates
from core.base.ids import PeerId


@dataclass(frozen=True, slots=True)
class KnownLines:
    """What is known of a group, for its plan."""

    lines: Mapping[PeerId, Rates]
    limits: Mapping[tuple[PeerId, PeerId], int]
    shown: Mapping[PeerId, Rates] = field(default_factory=dict)
    """What of that the lines have carried at some time; the rest is hope."""


UNKNOWN: Final = KnownLines(MappingProxyType({}), MappingProxyType({}))
"""Nothing at all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sources:
    """Where one peer's knowledge comes from."""

    me: PeerId
    own: Rates
    """What its own line offers."""
    shown: Rates
    """What of that it has shown."""
    facts: Mapping[PeerId, LineFacts]
    """What others have told."""
    proven: Mapping[PeerId, ProvenLine]
    """What rounds have proven of others."""
    held: Mapping[PeerId, float]
    """To whom its own bytes had to wait: bytes a second."""


def known_of(peers: Sequence[PeerId], sources: Sources) -> KnownLines:
    """What a plan for these is to go by."""
    told = _told(sources.facts)
    (up, up_shown), (down, down_shown) = (_direction(peers, sources, told, up=up) for up in (True, False))
    lines, shown = (
        {peer: Rates(*rates) for peer, rates in zip(peers, zip(*both, strict=True), strict=True)}
        for both in ((up, down), (up_shown, down_shown))
    )
    if not any(rate.up or rate.down for rate in lines.values()):
        return UNKNOWN
    return KnownLines(lines, _limits(peers, sources, lines), shown)


def _direction(
    peers: Sequence[PeerId], sources: Sources, told: Mapping[bytes, Sequence[Rates]], *, up: bool
) -> tuple[Sequence[int], Sequence[int]]:
    """What the lines are taken for, and what of it is more than hope: what their peers say that they have shown."""
    one_way = _up if up else _down
    witnessed = [_witnessed(peer, sources, told, up=up) for peer in peers]
    rates = believed(witnessed)
    said = [
        one_way(sources.shown if peer == sources.me else facts.shown if (facts := sources.facts.get(peer)) else Rates())
        for peer in peers
    ]
    said = [word or int(one.shown) for word, one in zip(said, witnessed, strict=True)]
    firm = [word >= rate for word, rate in zip(said, rates, strict=True)]
    rates = alike(rates, firm)
    shown = [rate if sure or not word else min(word, rate) for word, rate, sure in zip(said, rates, firm, strict=True)]
    return rates, shown


def _told(facts: Mapping[PeerId, LineFacts]) -> dict[bytes, list[Rates]]:
    """What others say to have seen of each peer, by its mark; nobody's word about itself."""
    told: dict[bytes, list[Rates]] = {}
    for witness, said in facts.items():
        for seen in said.seen:
            if seen.peer != mark_of(witness):
                told.setdefault(seen.peer, []).append(Rates(int(from_level(seen.up)), int(from_level(seen.down))))
    return told


def _witnessed(peer: PeerId, sources: Sources, told: Mapping[bytes, Sequence[Rates]], *, up: bool) -> Witnessed:
    one_way = _up if up else _down
    facts = sources.facts.get(peer)
    claim = sources.own if peer == sources.me else Rates() if facts is None else facts.own
    known = sources.proven.get(peer) or ProvenLine()
    proven = known.up if up else known.down
    return Witnessed(
        claim=one_way(claim),
        best=proven.best,
        floor=proven.floor,
        told=[one_way(word) for word in told.get(mark_of(peer), ())],
        trust=proven.trust,
    )


def _limits(
    peers: Sequence[PeerId], sources: Sources, lines: Mapping[PeerId, Rates]
) -> dict[tuple[PeerId, PeerId], int]:
    by_mark = {mark_of(peer): peer for peer in peers}
    said = {
        (peer, by_mark[held.peer]): from_level(held.rate)
        for peer in peers
        if (facts := sources.facts.get(peer)) is not None
        for held in facts.held
        if held.peer in by_mark
    }
    said |= {(sources.me, peer): rate for peer, rate in sources.held.items() if peer in lines}
    return slow_pairs(said, lines)


def _up(rates: Rates) -> int:
    return rates.up


def _down(rates: Rates) -> int:
    return rates.down
