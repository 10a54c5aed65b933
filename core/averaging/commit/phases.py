"""The end of a round as a table: two-phase commit with a ranked coordinator (Gray 1978; Skeen 1981).

Each member tells the coordinator that it holds all means (ready).  When all that need the means do, the coordinator
asks for their votes (prepare); each votes with fingerprints of its means and is then *in doubt*, for the round may be
committed without its hearing of it.  When all votes are equal the coordinator commits.  Where they differ, members take
the coordinator's means and all vote again, or a share is made anew by another reducer.  When the coordinator falls
silent, the next in the plan's order takes over, asks all members where they stand, and keeps what its predecessor may
have committed.
"""

from collections.abc import Mapping
from enum import StrEnum
from types import MappingProxyType
from typing import Final


class Phase(StrEnum):
    """Where a member, or the coordinator, stands."""

    COLLECTING = "collecting"
    """Means are missing."""
    READY = "ready"
    """A member holds all means, and has told its nonce."""
    PREPARED = "prepared"
    """A member has voted."""
    TAKING_OVER = "taking over"
    """A coordinator has succeeded another, and asks where everybody stands."""
    PREPARING = "preparing"
    """The coordinator waits for votes."""
    COMMITTED = "committed"
    ABORTED = "aborted"
    """The round is over without a mean."""
    IN_DOUBT = "in doubt"
    """A member has voted and left: the others may have committed all the same."""
    SETTLED = "settled"
    """A member in doubt has learned that the round was committed."""


OVER: Final = frozenset({Phase.COMMITTED, Phase.ABORTED, Phase.IN_DOUBT, Phase.SETTLED})
"""Phases in which the round is over for a member."""


class Cue(StrEnum):
    """What moves a member, or the coordinator, on."""

    COMPLETE = "all means are here"
    REMADE = "a share is made anew"
    PREPARE = "prepare"
    COMMIT = "commit"
    ABORT = "abort"
    REPORTED = "all members have reported"
    AGREED = "all votes are equal"
    TOO_FEW = "too few members are left"


Transitions = Mapping[tuple[Phase, Cue], Phase]

MEMBER: Final[Transitions] = MappingProxyType(
    {
        (Phase.COLLECTING, Cue.COMPLETE): Phase.READY,
        (Phase.READY, Cue.REMADE): Phase.COLLECTING,
        (Phase.READY, Cue.PREPARE): Phase.PREPARED,
        (Phase.PREPARED, Cue.PREPARE): Phase.PREPARED,
        (Phase.PREPARED, Cue.REMADE): Phase.COLLECTING,
        (Phase.READY, Cue.COMMIT): Phase.COMMITTED,
        (Phase.PREPARED, Cue.COMMIT): Phase.COMMITTED,
        (Phase.COLLECTING, Cue.ABORT): Phase.ABORTED,
        (Phase.READY, Cue.ABORT): Phase.ABORTED,
        (Phase.PREPARED, Cue.ABORT): Phase.IN_DOUBT,
        (Phase.IN_DOUBT, Cue.COMMIT): Phase.SETTLED,
    }
)
"""Transitions of every member; one that needs no mean (a helper) commits without a vote."""

COORDINATOR: Final[Transitions] = MappingProxyType(
    {
        (Phase.TAKING_OVER, Cue.REPORTED): Phase.COLLECTING,
        (Phase.COLLECTING, Cue.COMPLETE): Phase.PREPARING,
        (Phase.PREPARING, Cue.REMADE): Phase.COLLECTING,
        (Phase.PREPARING, Cue.AGREED): Phase.COMMITTED,
        (Phase.TAKING_OVER, Cue.TOO_FEW): Phase.ABORTED,
        (Phase.COLLECTING, Cue.TOO_FEW): Phase.ABORTED,
        (Phase.PREPARING, Cue.TOO_FEW): Phase.ABORTED,
    }
)
"""Transitions of the coordinator; a round's first one begins in `COLLECTING`, a successor in `TAKING_OVER`."""


class Standing:
    """A phase that moves by a table.

    Args:
        transitions: The table.
        phase: The first phase.
    """

    def __init__(self, transitions: Transitions, phase: Phase) -> None:
        self._transitions = transitions
        self.phase = phase

    @property
    def over(self) -> bool:
        """Whether the round is over here."""
        return self.phase in OVER

    def advance(self, cue: Cue) -> bool:
        """Follow the table.

        Returns:
            Whether the cue means anything in this phase.
        """
        phase = self._transitions.get((self.phase, cue))
        self.phase = phase or self.phase
        return phase is not None
