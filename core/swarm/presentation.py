"""What a participant shows of itself: a report to the others, and a view to people."""

from collections.abc import Callable
from typing import Final

from core.base.ids import PeerId
from core.swarm.catching_up.catch_up import CatchUp
from core.swarm.presence.membership import Membership
from core.swarm.rounds.rounds import Rounds
from core.swarm.standby import Standby
from core.swarm.trainer_side import TrainerSide
from core.swarm.view import ParticipantView
from core.swarm.words.epoch import IN_STEP, Phase
from core.swarm.words.progress import ProgressReport
from core.swarm.words.settings import ParticipantSettings
from core.swarm.words.states import StateName, first_state

HELPING: Final = "helping"
"""The activity of a helper, as it reports it."""

Tells = Callable[[ProgressReport], ProgressReport]
"""Changes what a peer says of itself before it is published; for liars in tests."""


class Presentation:
    """Gathers what the parts of a participant know.

    Args:
        settings: Role and name.
        trainer: What a peer that trains does.
        standby: What a helper does.
        rounds: Know the line, and whether this peer reduces.
        membership: Knows the others.
        catch_up: Knows how far a download is.
    """

    def __init__(
        self,
        settings: ParticipantSettings,
        *,
        trainer: TrainerSide,
        standby: Standby,
        rounds: Rounds,
        membership: Membership,
        catch_up: CatchUp,
    ) -> None:
        self._settings = settings
        self._trainer = trainer
        self._standby = standby
        self._rounds = rounds
        self._membership = membership
        self._catch_up = catch_up
        self.address: tuple[str, int] = ("", 0)
        """Where others reach this peer, as they are told; empty: they observe it."""

    @property
    def stood(self) -> StateName:
        """Where this peer stands, or stood last; the first state, where nothing is known."""
        state = self._trainer.epochs.state
        return state.name if state is not None else self._standby.name or first_state(self._settings.run)

    @property
    def peers(self) -> dict[PeerId, ProgressReport]:
        """Reports of the others that are here and known to have a pass."""
        live, admitted = self._membership.live(), self._membership.branches.admitted
        return {peer: report for peer, report in live.items() if admitted(peer)}

    def report(self, now: float) -> ProgressReport:
        """What this peer says of itself to the others."""
        phase, state, name = self._trainer.epochs.phase, self._trainer.epochs.state, self.stood
        helps = self._standby.helping and self._rounds.reduces
        contributing = self._trainer.contributing
        epoch, loss = self._rounds.heldout
        return ProgressReport(
            role=self._settings.role,
            activity=HELPING if helps else phase.value,
            host=self.address[0],
            port=self.address[1],
            epoch=name.epoch,
            lineage=name.lineage,
            digest=state.digest if state is not None else b"",
            in_step=phase in IN_STEP,
            samples=contributing.samples(now),
            samples_per_s=contributing.samples_per_s,
            time=now,
            heldout_epoch=epoch,
            heldout_loss=loss,
            helps=helps,
            ancestors=b"".join(self._membership.branches.ancestors(name)),
            copy=self._standby.copy,
        )

    def view(self, now: float) -> ParticipantView:
        """What people may see of it."""
        epochs, contributing, membership = self._trainer.epochs, self._trainer.contributing, self._membership
        helped = self._standby.name if self._standby.helping else None
        name = epochs.state.name if epochs.state is not None else helped
        idle = epochs.phase is Phase.IDLE
        followed = (membership.branches.head(name, membership.stands(now)) if idle else None) or name
        live = self.peers
        return ParticipantView(
            settings=self._settings,
            phase=epochs.phase,
            state=name,
            followed=followed,
            assists=contributing.assists,
            fetching=self._catch_up.fetching,
            samples=contributing.pending.samples,
            samples_per_s=contributing.pending.samples_per_s,
            others_samples=membership.samples(followed, now) if followed is not None else 0,
            others_samples_per_s=membership.samples_per_s(followed, now) if followed is not None else 0.0,
            peers=live,
            silent=frozenset(peer for peer in live if membership.silent(peer, now)),
            audible=membership.audible(now),
            line=self._rounds.lines.own.measured,
            trip_s=self._rounds.lines.own.trip_s,
            earned=membership.branches.known,
            plan=self._rounds.plan,
        )
