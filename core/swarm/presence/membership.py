"""Who is here: the reports of live peers, and what follows from them."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from statistics import median_low
from types import MappingProxyType

from core.api.snapshot import VOLUNTEER
from core.averaging.patience import Patience
from core.averaging.weights import EarnedSpeeds
from core.base.bounds import is_near
from core.base.ids import PeerId
from core.swarm.presence.ancestry import Stand
from core.swarm.presence.branches import Branches
from core.swarm.words.epoch import Phase
from core.swarm.words.orders import Agreement, HeldoutLearned
from core.swarm.words.progress import ProgressReport
from core.swarm.words.states import State, StateName, marks_in

PEERS_MAX = 2000
UNSEEN_MAX = 128
"""Upper bound on those of them that have shown this peer no pass: anybody can make keys, and sign reports with them, so
half of a group's places are left to those who have."""
SILENT_S = 8.0
"""Silence after which a peer counts for no samples: three times the longest interval between reports."""
GOES_ON_S = 1.25
"""About as long as it takes from one report of a peer to the next."""
STANDS_S = 20.0
"""A peer that takes its step, or fetches a state, counts as standing where it stood for this long."""
WAITS_MAX_S = 3.5
"""A report that seems to have waited for longer than this to be read tells of a clock that was set."""
CLOCK_DRIFT = 1e-3
"""Seconds a second by which two clocks may part, twice as fast as a clock that is being corrected runs."""
LAST_WORDS_S = 3.5
"""Time for which a report may have been under way (publish and read intervals) when its sender was lost."""


@dataclass(slots=True)
class _Member:
    report: ProgressReport
    expires: float
    heard_at: float
    offset_s: float
    """The least time lately from a report's own moment, by its peer's clock, until it was heard by ours: how far the
    two clocks differ, and the shortest way."""
    stand: Stand | None
    """Where it stands, or stood last."""
    stood_at: float
    believed_after: float | None = None
    """Lost: only a report of later than this, by the peer's own clock, brings it back."""

    @property
    def true_at(self) -> float:
        """When the report was true by our clock: a report waits to be read, and its peer goes on meanwhile."""
        return self.report.time + self.offset_s


class Membership:
    """The reports that have not expired, by peer.

    A peer whose stream was lost is left out until it reports again: its samples are deducted at once (S001, "Adaptive
    averaging"), and if it only lost its way it is back some seconds later.

    Args:
        met: Peers that were in rounds with this one before.
        earned: Bounds samples and speeds, and knows whose a key is; None: nothing is known, and all are believed.
        backbone: The one that let this peer in: it tells where the model is, and where to stand; None: it is not known.
    """

    def __init__(
        self, *, met: Iterable[PeerId] = (), earned: EarnedSpeeds | None = None, backbone: PeerId | None = None
    ) -> None:
        self.backbone = backbone
        """The one that let this peer in."""
        self._earned = earned or EarnedSpeeds()
        self.patience = Patience()
        """Says which peers are strangers, whose samples are not counted on."""
        self._members: dict[PeerId, _Member] = {}
        self._unseen: set[PeerId] = set()
        """Those of them that had shown no pass when they were looked at last."""
        self.branches = Branches(met, backbone=backbone, account=self._earned.account)
        """Which of the states on which they stand is followed."""
        self.revoked: frozenset[PeerId] = frozenset()
        """Peers whose passes hold no longer: whatever they, or others for them, still publish is not heard."""

    def heard(self, peer: PeerId, report: ProgressReport, *, expires: float, now: float) -> bool:
        """Take in a report; False if an equal or newer one was known, its peer is revoked, or the table is full."""
        known = self._members.get(peer)
        is_unseen = known is None and not self.branches.admitted(peer)
        is_full = len(self._members) >= PEERS_MAX or (is_unseen and len(self._unseen) >= UNSEEN_MAX)
        if peer in self.revoked or (known is None and is_full):
            return False
        if expires <= now or (known is not None and report.time <= known.report.time):
            return False
        believed_after = known.believed_after if known is not None else None
        if believed_after is not None and report.time > believed_after:
            believed_after = None
        stand, stood_at = _stand_of(peer, report), now
        if stand is None and known is not None:
            stand, stood_at = known.stand, known.stood_at
        offset_s = now - report.time
        if known is not None and offset_s - known.offset_s <= WAITS_MAX_S:
            offset_s = min(offset_s, known.offset_s + CLOCK_DRIFT * (now - known.heard_at))
        self._members[peer] = _Member(report, expires, now, offset_s, stand, stood_at, believed_after)
        if is_unseen:
            self._unseen.add(peer)
        return True

    def lost(self, peer: PeerId, now: float) -> None:
        """The stream to `peer` ended.  Its clock may differ from ours, so its age is counted from its last report."""
        member = self._members.get(peer)
        if member is not None:
            member.believed_after = member.report.time + (now - member.heard_at) + LAST_WORDS_S

    def expire(self, now: float) -> None:
        """Forget who has been silent for too long."""
        self._members = {
            peer: member for peer, member in self._members.items() if member.expires > now and peer not in self.revoked
        }
        self._unseen = {peer for peer in self._members if not self.branches.admitted(peer)}

    @property
    def reported(self) -> Collection[PeerId]:
        """Peers that have reported lately, even those that were lost since."""
        return self._members

    def live(self) -> dict[PeerId, ProgressReport]:
        """Newest reports of the peers that are here, without those whose stream was lost."""
        return {peer: member.report for peer, member in self._members.items() if member.believed_after is None}

    def silent(self, peer: PeerId, now: float) -> bool:
        """Whether `peer` has not reported lately; what it last said of its speed counts for nothing."""
        member = self._members.get(peer)
        return member is None or now - member.heard_at >= SILENT_S

    def audible(self, now: float) -> bool:
        """Whether any peer has reported within the last `SILENT_S` seconds."""
        return any(not self.silent(peer, now) for peer in self._members)

    def in_step(self, state: StateName) -> list[PeerId]:
        """Live volunteers that take part in the epoch after `state`, in the order of their keys."""
        return sorted(peer for peer, report in self.live().items() if report.in_step and report.state == state)

    def helpers(self, now: float) -> list[PeerId]:
        """Live peers that only reduce for others, as far as they have reported lately, in the order of their keys.

        Where they stand is not asked for: they follow the others, and their reports come late.
        """
        helping = (peer for peer, report in self.live().items() if report.helps and not self.silent(peer, now))
        return sorted(peer for peer in helping if self.branches.admitted(peer))

    def stands(self, now: float) -> list[Stand]:
        """Where those stand that have reported lately; who takes its step, or fetches a state, stood there just now.

        Who stood at a state that was undone is on the way back, however long that takes: it counts for the root.  Else
        the first one that has come there would be the majority of those who have.
        """
        root = self.branches.back.root
        found = [
            member.stand
            for peer, member in self._members.items()
            if member.stand is not None
            and member.believed_after is None
            and not self.silent(peer, now)
            and (now - member.stood_at < STANDS_S or self.branches.undone(member.stand.state))
            and self.branches.admitted(peer)
        ]
        if root is None:
            return found
        return [replace(one, state=root, ancestors=()) if self.branches.undone(one.state) else one for one in found]

    def samples(
        self,
        state: StateName,
        now: float,
        *,
        goes_on_s: float = GOES_ON_S,
        own: Mapping[PeerId, float] = MappingProxyType({}),
    ) -> int:
        """Samples that peers have accumulated on top of `state`, as far as they have reported lately and are believed.

        Args:
            state: The state.
            now: Unix seconds.
            goes_on_s: Longest time for which a peer is counted as going on at its speed since its report was true.
            own: The samples of this peer, which are believed as the others would.
        """
        working = self._working(state, now)
        speeds = _speeds(working, self._earned)
        claims = {
            peer: member.report.samples + speeds[peer] * min(max(0.0, now - member.true_at), goes_on_s)
            for peer, member in working.items()
        }
        return int(self._earned.believed((state.epoch, state.lineage), {**claims, **own}, now))

    def samples_per_s(self, state: StateName, now: float) -> float:
        """Samples a second that the peers accumulating on `state` compute together, as far as they are believed."""
        return sum(_speeds(self._working(state, now), self._earned).values())

    def _working(self, state: StateName, now: float) -> dict[PeerId, _Member]:
        return {
            peer: member
            for peer, member in self._members.items()
            if member.believed_after is None
            and self.branches.admitted(peer)
            and now - member.heard_at < SILENT_S
            and member.report.in_step
            and member.report.state == state
            and not self.patience.is_stranger(peer, now)
        }


def agreement(reports: Iterable[ProgressReport], state: State) -> Agreement:
    """How many peers report the same bits for a state, by their digest.

    Args:
        reports: Reports of others.
        state: As this peer holds it.
    """
    digests = [report.digest for report in reports if report.digest and report.state == state.name]
    return Agreement(digests.count(state.digest), len(digests))


def heldout_news(
    reports: Iterable[ProgressReport], *, known: Iterable[float | None], epoch_max: int
) -> frozenset[HeldoutLearned]:
    """What peers tell of the held-out text, without what is implausible: liars make up their looks.

    Args:
        reports: Reports of those with passes.
        known: This peer's own look, and its training loss; where it knows neither, the median of all is the measure.
        epoch_max: Epoch at which this peer stands: a curve that goes further is believed from ledgers only.
    """
    looks = [
        HeldoutLearned(one.heldout_epoch, one.heldout_loss)
        for one in reports
        if one.heldout_loss is not None and one.heldout_epoch <= min(one.epoch, epoch_max)
    ]
    near = [own for own in known if own is not None]
    if looks and not near:
        near = [median_low(look.loss for look in looks)]
    return frozenset(look for look in looks if any(is_near(look.loss, other) for other in near))


def _speeds(members: Mapping[PeerId, _Member], earned: EarnedSpeeds) -> dict[PeerId, float]:
    """Samples a second of each member, as far as it is believed."""
    most = earned.most_per_s(members)
    return {peer: min(member.report.samples_per_s, most[peer]) for peer, member in members.items()}


def _stand_of(peer: PeerId, report: ProgressReport) -> Stand | None:
    """Where a peer stands; None: it is to train, and does not now."""
    trains = report.in_step or report.activity == Phase.FINISHED
    return Stand(peer, report.state, marks_in(report.ancestors), trains) if trains or report.role != VOLUNTEER else None
