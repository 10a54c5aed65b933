"""A peer without a trainer: a helper, which reduces for the others, or a backbone, which keeps copies of the model too.

It holds no state and stands where the others stand.
"""

import math
from typing import Final

from core.api.snapshot import BACKBONE, VOLUNTEER
from core.codecs.registry import ADAPTIVE, FEEDBACK
from core.swarm.catching_up.catch_up import CatchUp
from core.swarm.catching_up.keeper import StateKeeper
from core.swarm.presence.membership import Membership
from core.swarm.rounds.rounds import Rounds, RoundVectors
from core.swarm.words.facts import CopyEvery, Help, StateKept, StateNotKept, WayBack
from core.swarm.words.orders import Changed
from core.swarm.words.outputs import Committed, Formed, Missed, Output
from core.swarm.words.progress import StateCopy
from core.swarm.words.settings import ParticipantSettings
from core.swarm.words.states import State, StateName, first_state

OWN_VIEW_S: Final = 10.0
"""A helper does not go back to where the others stood before its own last round for this long."""
DESERTED_S: Final = 60.0
"""Time without training by peers that were in rounds after which strangers are followed: newcomers, or the last."""
WAY_BACK_S: Final = 3600.0
"""Time for which strangers are not followed from the copy to which all go back: to load it takes a while."""
HELP_BYTES: Final = 10
"""For each number of the longest vector: the means of its share (4), and parts that wait (6)."""


WINDOW_S: Final = 60.0
"""Seconds over which a pace is measured: shorter ones tell more of when reports were read than of steps."""
TIMES: Final = 4.0
"""Upper bound on how many times as fast as all before them newcomers may be."""


class EpochPace:
    """Epochs of those who were in rounds, over time."""

    def __init__(self) -> None:
        self._per_s = 0.0
        """Epochs a second, the most that was seen; 0: not yet."""
        self._began = self._last = (0, -math.inf)
        """Epoch and time, unix seconds, when the window began and when they were seen last."""

    def saw(self, epoch: int, now: float) -> None:
        """Note the epoch of those who were in rounds."""
        (before, at), (_, last_at) = self._began, self._last
        self._last = epoch, now
        if epoch < before or now - last_at > WINDOW_S:
            self._began = self._last
        elif now - at >= WINDOW_S:
            self._per_s = max(self._per_s, (epoch - before) / (now - at))
            self._began = self._last

    def furthest(self, now: float) -> float:
        """The greatest epoch that the collaboration can have reached by now, as far as is known."""
        epoch, at = self._last
        return epoch + 1 + TIMES * self._per_s * (now - at) if self._per_s else math.inf


class Standby:
    """Whether this peer helps, at which state, and what it does about rounds.

    Args:
        membership: Who stands where.
        rounds: Reduce for the others.
        catch_up: Reads who gave what, for the person.
        settings: The codec: residuals, where it has them, take half of the memory; and this peer's role.
    """

    def __init__(
        self, membership: Membership, *, rounds: Rounds, catch_up: CatchUp, settings: ParticipantSettings
    ) -> None:
        self._membership = membership
        self._catch_up = catch_up
        self.keeper = StateKeeper(catch_up, keeps=settings.keeps)
        """Takes copies of the model, where this peer's role is to keep them."""
        self._rounds = rounds
        self._codec = settings.averaging.codec
        self._room_bytes = 0
        self._first = first_state(settings.run)
        self._shows = settings.role != BACKBONE
        """Whether people look at a board here."""
        self._led_at: float | None = None
        """When a round last led this peer to the state at which it stands, unix seconds."""
        self._company_at = -math.inf
        """When anybody that was in rounds was last heard to train where it stands, unix seconds."""
        self._pace = EpochPace()
        self._back_at = -math.inf
        """When this peer went back to a copy, unix seconds."""
        self.name = None if settings.role == VOLUNTEER else settings.stood or self._first
        """Where it stands; None: it is to train, or knows of nobody."""

    @property
    def helping(self) -> bool:
        """Whether there is memory to help with."""
        return self._room_bytes > 0

    @property
    def copy(self) -> StateCopy | None:
        """The copy of the model that this peer gives, wherever it stands; None: it has none."""
        kept = self.keeper.newest
        if kept is None or not self._catch_up.donor.gives(kept.file.digest):
            return None
        return StateCopy(kept.name.epoch, kept.name.lineage, kept.file.digest)

    @property
    def numel_max(self) -> int:
        """The longest vector that it helps with: all of it may become its share."""
        return self._room_bytes // HELP_BYTES

    def end(self) -> list[Output]:
        """Help no longer: there is a trainer."""
        self._room_bytes = 0
        self.name = self._led_at = None
        return list(self._catch_up.reader.stop())

    def told(self, fact: CopyEvery | Help | StateKept | StateNotKept | WayBack, now: float) -> list[Output]:
        """Help with some memory from now on, take note of copies of the model, or go back to one."""
        if isinstance(fact, WayBack):
            return self._go_back(fact, now)
        if isinstance(fact, CopyEvery):
            self.keeper.every(fact.seconds, now)
            return []
        if isinstance(fact, StateKept) and self._membership.branches.undone(fact.name):
            return self.keeper.drop(now)  # it was fetched before all went back
        if not isinstance(fact, Help):
            if isinstance(fact, StateKept):
                self._membership.branches.earned(fact.credited)
            self.keeper.answered(fact, now)
            return []
        return self.help(fact.room_bytes, now)

    def _go_back(self, back: WayBack, now: float) -> list[Output]:
        """Stand at the copy to which all go back, unless this peer is on the way on from there."""
        self._membership.branches.back = back
        if self.name is None or back.root is None or not back.undoes(self.name):
            return []
        self.name, self._back_at = back.root, now
        return self.keeper.drop(now)

    def help(self, room_bytes: int, now: float) -> list[Output]:
        """Leave what this peer is in, and help with this memory; 0: no longer."""
        leaving = [*self._rounds.position(None, now=now), *self._rounds.leave(now)]
        self._room_bytes = self._for_numbers(room_bytes)
        self._rounds.serve(RoundVectors(), helped_numel=self.numel_max)
        return [*leaving, Changed()]

    def look(self, now: float) -> StateName | None:
        """Where those who train stand, or the last round has just led.

        Who stands at the first state leads nobody away who has a copy of the model.
        """
        back = self._led_at is None or now - self._led_at >= OWN_VIEW_S
        kept = self.keeper.newest
        stands = [stand for stand in self._membership.stands(now) if stand.state.epoch or kept is None]
        branches = self._membership.branches
        if self.name is not None and branches.company(self.name, stands):
            self._company_at = now
            self._pace.saw(self.name.epoch, now)
        # Those who go back load its file for a while, and train nowhere: strangers do not lead away meanwhile.
        loyal = now - self._back_at < WAY_BACK_S or now - self._company_at < DESERTED_S
        if not loyal:  # strangers may call their state by any number
            furthest = self._pace.furthest(now)
            stands = [stand for stand in stands if stand.state.epoch <= furthest]
        self.name = branches.head(self.name, stands, trains=False, loyal=loyal, back=back) or self.name
        return self.name

    def consider(self, now: float, *, held: State | None = None) -> list[Output]:
        """Stand where the others stand, and read who gave what there.

        Args:
            now: Unix seconds.
            held: The state of this peer's trainer, which rests; None: there was none.
        """
        mine = held or State(self._first, b"", "")
        reads = self._catch_up.look(mine, now) if self._shows else []
        return [*self._stand(now), *self.keeper.consider(self.name, now), *reads]

    def _stand(self, now: float) -> list[Output]:
        """Stand where the others stand; a call that is being followed goes before what reports say."""
        if self._rounds.busy:
            return []
        name = self.look(now) if self.helping or self.name is not None else None
        if name is None or not self.helping or not self._rounds.reduces:
            return list(self._rounds.position(None, now=now))
        return list(self._rounds.position(name, self._membership.in_step(name), full=False, now=now))

    def followed(self, event: Formed | Missed | Committed, now: float) -> list[Output]:
        """A round has begun or ended; where it led to, the others will report soon."""
        match event:
            case Formed():
                return [Changed()]
            case Missed():
                return [Changed(), *self.consider(now)]
            case Committed(record=record):
                self.name, self._led_at = record.name, now
                return [record, Changed(), *self.consider(now)]

    def _for_numbers(self, room_bytes: int) -> int:
        """What is left of it for a share's numbers."""
        if self._codec == ADAPTIVE:  # it goes by the sizes of the tensors, which only those who train know
            return 0
        return room_bytes // 2 if self._codec in FEEDBACK else room_bytes
