"""The epoch machine: where a peer stands between two optimiser steps, as a table.

IDLE --trainer ready--> JOINING --informed--> TRAINING --wanted--> COLLECTING --collected--> OFFERED
OFFERED --planned--> AVERAGING --another plan--> AVERAGING --committed--> STEPPING --stepped--> TRAINING
COLLECTING, OFFERED, AVERAGING --failed--> TRAINING, nothing lost
JOINING, TRAINING, FINISHED --behind--> FETCHING --fetched--> LOADING --loaded--> TRAINING
FETCHING, LOADING --failed--> JOINING
TRAINING --ended--> FINISHED;  everything --trainer gone--> IDLE
"""

from enum import StrEnum
from typing import Final

from core.swarm.words.states import State


class Phase(StrEnum):
    """A peer's place between two optimiser steps, which decides what it may do next."""

    IDLE = "idle"
    """No trainer: paused, starting, or a backbone."""
    JOINING = "joining"
    """The trainer is ready; where to train is not known yet."""
    TRAINING = "training"
    """Accumulating samples for the next step."""
    COLLECTING = "collecting"
    """A group forms; the trainer writes down its contribution."""
    OFFERED = "offered"
    """The leader has our contribution's size; its plan is awaited."""
    AVERAGING = "averaging"
    STEPPING = "stepping"
    """The trainer takes the optimiser step."""
    FETCHING = "fetching"
    """Behind: a newer state is being downloaded."""
    LOADING = "loading"
    FINISHED = "finished"
    """The last epoch that was asked for is done."""


class Cue(StrEnum):
    """An input of the epoch machine, named after what has happened."""

    READY = "trainer ready"
    GONE = "trainer gone"
    INFORMED = "informed"
    WANTED = "contribution wanted"
    COLLECTED = "collected"
    PLANNED = "planned"
    FAILED = "failed"
    COMMITTED = "committed"
    STEPPED = "stepped"
    BEHIND = "behind"
    FETCHED = "fetched"
    LOADED = "loaded"
    ENDED = "ended"


TRANSITIONS: Final[dict[tuple[Phase, Cue], Phase]] = {
    (Phase.IDLE, Cue.READY): Phase.JOINING,
    (Phase.JOINING, Cue.INFORMED): Phase.TRAINING,
    (Phase.TRAINING, Cue.WANTED): Phase.COLLECTING,
    (Phase.COLLECTING, Cue.COLLECTED): Phase.OFFERED,
    (Phase.COLLECTING, Cue.FAILED): Phase.TRAINING,
    (Phase.OFFERED, Cue.PLANNED): Phase.AVERAGING,
    (Phase.OFFERED, Cue.FAILED): Phase.TRAINING,
    (Phase.AVERAGING, Cue.PLANNED): Phase.AVERAGING,
    (Phase.AVERAGING, Cue.FAILED): Phase.TRAINING,
    (Phase.AVERAGING, Cue.COMMITTED): Phase.STEPPING,
    (Phase.STEPPING, Cue.STEPPED): Phase.TRAINING,
    (Phase.JOINING, Cue.BEHIND): Phase.FETCHING,
    (Phase.TRAINING, Cue.BEHIND): Phase.FETCHING,
    (Phase.FINISHED, Cue.BEHIND): Phase.FETCHING,
    (Phase.FETCHING, Cue.FETCHED): Phase.LOADING,
    (Phase.FETCHING, Cue.FAILED): Phase.JOINING,
    (Phase.LOADING, Cue.LOADED): Phase.TRAINING,
    (Phase.LOADING, Cue.FAILED): Phase.JOINING,
    (Phase.TRAINING, Cue.ENDED): Phase.FINISHED,
    **{(phase, Cue.GONE): Phase.IDLE for phase in Phase},
}

IN_STEP: Final = frozenset({Phase.TRAINING, Phase.COLLECTING, Phase.OFFERED, Phase.AVERAGING})
"""Phases in which a peer's samples count for the epoch."""


class EpochMachine:
    """A peer's phase and the state that it holds."""

    def __init__(self) -> None:
        self.phase = Phase.IDLE
        self.since = 0.0
        """When the phase began, unix seconds."""
        self.state: State | None = None

    def may(self, cue: Cue) -> bool:
        """Whether the cue means anything in this phase."""
        return (self.phase, cue) in TRANSITIONS

    def advance(self, cue: Cue, now: float) -> None:
        """Follow the table.

        Raises:
            ValueError: the cue means nothing here; ask `may` first where a late message can cause it.
        """
        phase = TRANSITIONS.get((self.phase, cue))
        if phase is None:
            raise ValueError(f"{cue} in phase {self.phase}")
        if phase is not self.phase:
            self.phase, self.since = phase, now

    def begin(self, state: State, now: float) -> None:
        """A trainer started with what its disk held: after damage that may be an earlier state than before."""
        self.advance(Cue.READY, now)
        self.state = state

    def hold(self, state: State) -> None:
        """The trainer now holds `state`."""
        self.state = state
