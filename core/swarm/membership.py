"""Who is here: the reports of live peers, and what follows from them."""

from collections.abc import Iterable
from dataclasses import dataclass

from core.base.ids import PeerId
from core.swarm.progress import Report
from core.swarm.states import StateName

PEERS_MAX = 2000
LAST_WORDS_S = 3.5
"""A report may have been under way for so long (publish and read intervals) when its sender was lost."""


@dataclass(slots=True)
class _Member:
    report: Report
    expires: float
    heard_at: float
    believed_after: float | None = None
    """Lost: only a report of later than this, by the peer's own clock, brings it back."""


class Membership:
    """The reports that have not expired, by peer.

    A peer whose stream was lost is left out until it reports again: its samples are deducted at once (S001, "Adaptive
    averaging"), and if it only lost its way it is back some seconds later.
    """

    def __init__(self) -> None:
        self._members: dict[PeerId, _Member] = {}

    def heard(self, peer: PeerId, report: Report, *, expires: float, now: float) -> bool:
        """Take in a report; False if an equal or newer one was known, or the table is full."""
        known = self._members.get(peer)
        if known is None and len(self._members) >= PEERS_MAX:
            return False
        if expires <= now or (known is not None and report.time <= known.report.time):
            return False
        believed_after = known.believed_after if known is not None else None
        if believed_after is not None and report.time > believed_after:
            believed_after = None
        self._members[peer] = _Member(report, expires, now, believed_after)
        return True

    def lost(self, peer: PeerId, now: float) -> None:
        """The stream to `peer` ended.  Its clock may differ from ours, so its age is counted from its last report."""
        member = self._members.get(peer)
        if member is not None:
            member.believed_after = member.report.time + (now - member.heard_at) + LAST_WORDS_S

    def expire(self, now: float) -> None:
        """Forget who has been silent for too long."""
        self._members = {peer: member for peer, member in self._members.items() if member.expires > now}

    def __len__(self) -> int:
        """How many have reported lately, lost ones included."""
        return len(self._members)

    def live(self) -> dict[PeerId, Report]:
        """Everybody who is here."""
        return {peer: member.report for peer, member in self._members.items() if member.believed_after is None}

    def in_step(self, state: StateName) -> list[PeerId]:
        """Live volunteers that take part in the epoch after `state`, in the order of their keys."""
        return sorted(peer for peer, report in self.live().items() if report.in_step and report.state == state)

    def samples(self, state: StateName) -> int:
        """Samples that live peers have accumulated on top of `state`."""
        live = self.live().values()
        return sum(report.samples for report in live if report.in_step and report.state == state)

    def samples_per_s(self, state: StateName) -> float:
        """Their joint speed."""
        live = self.live().values()
        return sum(report.samples_per_s for report in live if report.in_step and report.state == state)

    def best_state(self) -> StateName | None:
        """The greatest state that somebody can give to others."""
        return max((report.state for report in self.live().values() if report.digest), default=None)

    def donors(self, state: StateName) -> list[tuple[PeerId, bytes]]:
        """Who has that state, with the digest each promises; the digest that most promise comes first."""
        offers = [(peer, r.digest) for peer, r in self.live().items() if r.digest and r.state == state]
        votes = _count(digest for _, digest in offers)
        return sorted(offers, key=lambda offer: (-votes[offer[1]], offer[1], offer[0]))


def _count(items: Iterable[bytes]) -> dict[bytes, int]:
    counts: dict[bytes, int] = {}
    for item in items:
        counts[item] = counts.get(item, 0) + 1
    return counts
