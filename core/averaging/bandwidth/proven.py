"""What rounds have proven of a peer's line to their members, and whose word has made a round late."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

from core.averaging.bandwidth.demand import PACED_PART
from core.averaging.outcome import Outcome
from core.averaging.plan import Plan
from core.base.ids import PeerId

TRUST: Final = 2.0
"""A line is believed to carry so many times what it has been seen to carry, if its peer says so."""
BINDING: Final = 0.8
"""The plan counted on a line that it asked for this part of its rate."""
TRIAL: Final = 1.15
"""A peer whose word has made rounds late is believed up to so many times what it has shown since."""
BEYOND: Final = 1.1
"""A plan that takes so many times what a line had shown, and what it believed of others, took the peer at its word."""
FADING: Final = 0.9
"""What was seen counts so much less with each round."""
GROSS: Final = 1.5
"""A line that was taken for so many times what it then carried is doubted at once; for less, only when that happens
twice running, for any round may be late by chance."""
DOUBT_FIRST: Final = 4
DOUBT_MOST: Final = 64


@dataclass(slots=True)
class Proven:
    """One direction of a peer's line."""

    best: float = 0.0
    floor: float = 0.0
    doubts: int = 0
    """Rounds in time that are still needed before its word counts for more than what it has shown."""
    last_doubts: int = 0
    strikes: int = 0
    """Rounds running that waited because they took it at its word."""

    def learn(self, rate: float, *, usual: float, line: float, asked: float, late: bool, trusted: bool) -> None:
        """A round is over in which it carried `rate`; the plan took it for `line` and asked for `asked`.

        Rounds like it take `usual` times what their plans say: so much more it may have carried while they moved bytes.
        `trusted`: the round waited because the plan took it at its word.
        """
        counted_on = line > 0 and asked >= BINDING * line
        self.strikes = self.strikes + 1 if trusted else self.strikes if late or not counted_on else 0
        if trusted and (self.strikes > 1 or line > GROSS * usual * rate):
            self.last_doubts = min(max(DOUBT_FIRST, 2 * self.last_doubts), DOUBT_MOST)
            self.doubts = self.last_doubts
        if late:
            self.floor = rate
        else:
            self.floor = max(rate, FADING * self.floor)
            if counted_on and self.doubts:
                self.doubts -= 1
        shown = usual * rate
        if counted_on and not late:  # links leave a little of what the plan asks for to others
            shown = min(max(shown, asked), shown / PACED_PART)
        if shown > GROSS * self.best:
            self.last_doubts = self.doubts = 0
        self.best = max(shown, FADING * self.best)

    @property
    def trust(self) -> float:
        """How many times what it has shown its own word is believed."""
        return TRUST if not self.last_doubts else 1.0 if self.doubts else TRIAL


@dataclass(slots=True)
class ProvenLine:
    """One peer's line as rounds have proven it, each direction for itself."""

    up: Proven = field(default_factory=Proven)
    down: Proven = field(default_factory=Proven)


def unremarkable(ratios: Sequence[float]) -> float:
    """How many times what they have shown lines may be taken for without that being the reason why a round was late.

    Where that is more than what they have shown even for those of whom least is believed, rounds show too little.
    """
    return BEYOND * max(1.0, sorted(ratios)[(len(ratios) - 1) // 4]) if ratios else BEYOND


def sound_peers(plan: Plan, outcome: Outcome) -> set[PeerId]:
    """Return the members from which all came that the plan asked for, as far as the outcome tells."""
    lacking = {peer for peer, _ in outcome.missing}
    return {
        peer for peer, version in zip(plan.peers, outcome.versions, strict=True) if not version and peer not in lacking
    }
