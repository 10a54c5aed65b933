"""What a participant does about what happens to it: rounds that form and end, reports, states that are newer."""

from collections.abc import Sequence
from typing import Any

from core.api.snapshot import BACKBONE
from core.averaging.matchmaking.events import Elsewhere, Silent
from core.dht.events import Found, Learned
from core.dht.messages import Contact
from core.nat.events import ReachChanged
from core.nat.reach import OwnReach, Reachability
from core.swarm.epoch import IN_STEP, Cue, Phase
from core.swarm.fetch import Fetched, FetchFailed, Fetching
from core.swarm.membership import GOES_ON_S, NewerState
from core.swarm.orders import (
    Absorb,
    Changed,
    Collect,
    Evaluate,
    Go,
    HeldoutLearned,
    Hold,
    LedgerLearned,
    Load,
    Release,
    Restart,
    RoundLost,
)
from core.swarm.parts import INFORMED_AFTER_S, ParticipantParts, Pending
from core.swarm.rounds import Asked, Committed, Formed, Missed
from core.swarm.states import StateName

SHORT_REST_MAX_S = 10.0
"""A group that had too few samples is not tried again before they can have been made up for, or for this long."""
SOON_S = 2.0
"""When the target will be reached within this time, the moment is waited for rather than the next report."""
SOON_LEAST_S = 0.05
STATE_SLACK_BYTES = 64 * 1024
"""All states of a collaboration have the same size, but for their names."""


class Conduct(ParticipantParts):
    """Acts on the events of its own parts."""

    def _settled(self, now: float, *, samples: int = 0) -> list[Any]:
        """A new state is in place: begin the next epoch, with what counts for it already, or end."""
        self.pending = Pending(samples, 0, self.pending.samples_per_s, self.pending.loss, now)
        self._enough_at = 0.0
        self._short = False
        self._beacon.hurry(now)
        outputs: list[Any] = [Changed()]
        if self._is_evaluator():
            outputs.append(Evaluate())
        return [*outputs, *self._carry_on(now), *self._beat(now)]

    def _carry_on(self, now: float) -> list[Any]:
        state = self._state()
        if self.settings.last_epoch is not None and state.name.epoch >= self.settings.last_epoch:
            self.epochs.advance(Cue.ENDED)
            return [Hold()]
        return [Hold() if self.assisting.active else Go(), *self._consider(now)]

    def _beat(self, now: float) -> list[Any]:
        """Publish, read, and do what the clock asks for."""
        outputs: list[Any] = [*self._beacon.tick(self.report(now), now), *self._line_news.tick(now)]
        if self._watch.overdue(now):
            self.trace.mark(f"trainer.hangs.{self.epochs.phase.value}")
            outputs.append(Restart())
        expected = self._full_at is not None and now >= self._full_at
        if expected:
            self._full_at = None
        if expected or self._pursuit.due(now):
            outputs += self._consider(now)
        late = self._joined_at is not None and now >= self._joined_at + INFORMED_AFTER_S
        if self.epochs.phase is Phase.JOINING and late:
            outputs += self._informed(now)
        return outputs

    def _follow(self, outputs: Sequence[Any], now: float) -> list[Any]:
        """Act on the events of our own parts; everything else goes on to the owner."""
        done: list[Any] = []
        queue = list(outputs)
        while queue:
            output = queue.pop(0)
            followed = self._react(output, now)
            if followed is None:
                done.append(output)
            else:
                queue = [*followed, *queue]
        self._watch.saw(self.epochs.phase, now)
        return done

    def _react(self, output: Any, now: float) -> list[Any] | None:  # noqa: C901 - a table of what may happen
        """What one of our own events leads to; None: it is not ours to handle."""
        match output:
            case Found():
                return self._read(output, now)
            case Asked(round=round_id):
                return self._asked(round_id, now)
            case Formed():
                return self._formed(now)
            case Missed():
                return self._missed(output, now)
            case Committed():
                return self._committed(output, now)
            case Silent(peers=peers):
                for peer in peers:
                    self.membership.lost(peer, now)
                return []
            case Elsewhere(epoch=epoch, lineage=lineage):
                self.rounds.heard(StateName(epoch, lineage))
                self._beacon.look(now)
                return []
            case Fetching() | Fetched() | FetchFailed():
                return self._catch_up(output, now)
            case ReachChanged(reach=reach):
                self._reached(reach)
        return None

    def _reached(self, reach: OwnReach) -> None:
        """Others reach this computer in another way: what passes through relays only is not worth a share to reduce.

        A backbone answers in the DHT all the same: its address stands in every link.
        """
        self.rounds.reduces = not reach.client
        hidden = reach.standing in {Reachability.PUNCHABLE, Reachability.RELAYED}
        self.dht.client = hidden and self.settings.role != BACKBONE

    def _catch_up(self, news: Fetching | Fetched | FetchFailed, now: float) -> list[Any]:
        match news:
            case Fetching():
                self.fetching = news
                return [Changed()]
            case Fetched():
                return self._fetched(news)
            case FetchFailed():
                return self._fetch_failed(now)

    def _read(self, found: Found, now: float) -> list[Any] | None:
        """What a read brought; None: the key is not ours but our owner's."""
        if self._line_news.found(found, trace=self.trace):
            return []
        news = self._beacon.found(found, trace=self.trace, now=now)
        if news is None:
            return None
        outputs: list[Any] = [Changed()]
        for peer, report in news.items():
            self.rounds.heard(report.state)
            if report.host and report.port:
                outputs.append(Learned(Contact(peer, report.host, report.port)))
            if report.heldout_loss is not None and report.heldout_epoch <= report.epoch:
                outputs.append(HeldoutLearned(report.heldout_epoch, report.heldout_loss))
        if self.epochs.phase is Phase.JOINING:
            return [*outputs, *(self._informed(now) if news else [])]
        return [*outputs, *self._consider(now)]

    def _informed(self, now: float) -> list[Any]:
        self.epochs.advance(Cue.INFORMED)
        return [Changed(), *self._carry_on(now)]

    def _consider(self, now: float) -> list[Any]:
        """With what is known now: catch up, form a group, or go on."""
        if self.standby.helping:
            return self._stand_by(now)
        if self.epochs.state is None:
            return []
        mine = self.epochs.state.name
        if self.epochs.may(Cue.BEHIND):
            offer = self._pursuit.best(mine, now)
            if offer is not None:
                return self._fall_behind(offer, now)
            if self._pursuit.resting(now) and self.membership.most_are_ahead(mine):
                return []
        if self.epochs.phase not in IN_STEP:
            return list(self.rounds.away(now))
        candidates = [*self.membership.in_step(mine), self.me]
        goes_on_s = 0.0 if self._short else GOES_ON_S
        total = int(self.membership.samples(mine, now, goes_on_s=goes_on_s) + self.pending.by_now(now))
        others = self.membership.samples_per_s(mine, now)
        if self.epochs.phase is Phase.TRAINING and self.assisting.alone(others=others > 0, now=now):
            return [Changed(), Go()]
        speed = others + self._speed
        left = max(self.settings.target_samples - total, 0)
        eta_s = max(left / speed, self._enough_at - now) if speed > 0 else None
        self._beacon.pace(eta_s, now)
        soon = eta_s is not None and 0 < eta_s <= SOON_S and self.epochs.phase is Phase.TRAINING and not self._short
        self._full_at = now + max(eta_s or 0.0, SOON_LEAST_S) if soon else None
        full = self.epochs.phase is Phase.TRAINING and left == 0 and now >= self._enough_at
        full = full and not self._stragglers.awaits(mine, self.membership, now)
        helpers = [peer for peer in self.membership.helpers(now) if self.rounds.reputation.may_reduce(peer, now)]
        return list(self.rounds.position(mine, candidates, full=full, now=now, helpers=helpers))

    def _fall_behind(self, offer: NewerState, now: float) -> list[Any]:
        donors = self._pursuit.begin(offer)
        self.epochs.advance(Cue.BEHIND)
        size_max = None if self.donor.size_bytes is None else self.donor.size_bytes + STATE_SLACK_BYTES
        asks = self._fetch.fetch(offer.name, offer.digest, donors, now, size_max=size_max)
        return [*self.rounds.away(now), Hold(), Changed(), *asks]

    def _fetched(self, fetched: Fetched) -> list[Any]:
        self.fetching = None
        self.epochs.advance(Cue.FETCHED)
        return [LedgerLearned(fetched.ledger, fetched.name.epoch), Load(fetched.location, fetched.name)]

    def _fetch_failed(self, now: float) -> list[Any]:
        self.trace.mark("state.fetch.failed")
        self.fetching = None
        self.epochs.advance(Cue.FAILED)
        self._pursuit.doubt(now)
        self._beacon.hurry(now)
        return [Changed(), *self._carry_on(now)]

    def _asked(self, round_id: bytes, now: float) -> list[Any]:
        if not self.epochs.may(Cue.WANTED):
            return list(self.rounds.away(now))
        self.epochs.advance(Cue.WANTED)
        self._watch.collecting(now)
        self._collecting = round_id
        return [Changed(), Collect(round_id)]

    def _formed(self, now: float) -> list[Any]:
        if self.standby.helping:
            return [Changed()]
        if not self.epochs.may(Cue.PLANNED):
            return list(self.rounds.leave(now))
        self.epochs.advance(Cue.PLANNED)
        return [Changed()]

    def _missed(self, missed: Missed, now: float) -> list[Any]:
        if missed.samples is None:  # a round that failed has taught something as well
            self._line_news.changed(now)
        if self.standby.helping:
            return [Changed(), *self._stand_by(now)]
        if not self.epochs.may(Cue.FAILED) or self.epochs.phase is Phase.FETCHING:
            return []
        if missed.samples is not None and self.epochs.state is not None:
            speed = self.membership.samples_per_s(self.epochs.state.name, now) + self.pending.samples_per_s
            lacking = max(self.settings.target_samples - missed.samples, 0)
            self._short = True
            self._enough_at = now + min(lacking / max(speed, 1e-9), SHORT_REST_MAX_S)
        self.epochs.advance(Cue.FAILED)
        self.pending.samples, self.pending.ahead = self.pending.samples + self.pending.ahead, 0
        self._beacon.hurry(now)
        return [RoundLost(missed.reason), Release(self._collecting), *self._consider(now)]

    def _committed(self, committed: Committed, now: float) -> list[Any]:
        self._line_news.changed(now)
        record = committed.record
        self.donor.met(peer for peer, samples in record.credited if samples and peer != self.me)
        if self.standby.helping:
            self.standby.committed(record.name, now)
            return [record, Changed(), *self._stand_by(now)]
        if not self.epochs.may(Cue.COMMITTED):
            return [record]
        self.epochs.advance(Cue.COMMITTED)
        self.assisting.ended(samples=self.pending.samples, gives=committed.gives)
        if self.settings.averaging.overlaps:
            self.pending.samples, self.pending.ahead = self.pending.ahead, 0
            self._stragglers.committed(record, besides=self.me)
        return [record, Absorb(self._collecting, record.name)]

    def _stand_by(self, now: float) -> list[Any]:
        """Stand where the others stand; a call that is being followed goes before what reports say."""
        if self.rounds.busy:
            return []
        name = self.standby.look(now)
        if name is None or not self.rounds.reduces:
            return list(self.rounds.away(now))
        return list(self.rounds.position(name, self.membership.in_step(name), full=False, now=now))
