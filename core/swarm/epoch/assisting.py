"""A peer whose line is too slow for its own gradients: it averages those of others, and computes none for nothing."""

from typing import Final

REFUSED_MAX: Final = 3
"""After so many rounds in a row that took nothing of ours we stop to compute."""
TRY_AGAIN: Final = 10
"""After so many rounds without gradients of ours we compute for one more, to see what its plan says."""
ALONE_S: Final = 15.0
"""Longer than it takes to hear of everybody's step."""


class Assisting:
    """Counts the rounds whose plan wanted none of our contribution (c_i = 0 in S000 appendix B)."""

    def __init__(self) -> None:
        self._refused = 0
        self._rested = 0
        self._alone_since: float | None = None
        self.active = False
        """Whether to compute nothing for now."""

    def ended(self, *, samples: int, gives: bool) -> None:
        """A round was committed.

        Args:
            samples: What we had for it.
            gives: Whether its plan took any of it.
        """
        if not samples:
            self._rested += self.active
            if self._rested >= TRY_AGAIN:
                self._pause(refused=REFUSED_MAX - 1)
        elif gives:
            self._pause(refused=0)
        else:
            self._refused += 1
            self.active = self._refused >= REFUSED_MAX

    def alone(self, *, others: bool, now: float) -> bool:
        """Whether to compute again, because nobody has computed anything that we could average for too long.

        Args:
            others: Whether somebody computes at our state.
            now: Unix seconds.
        """
        if others or not self.active or self._alone_since is None:
            self._alone_since = None if others or not self.active else now
        elif now - self._alone_since >= ALONE_S:
            self._pause(refused=0)
            return True
        return False

    def _pause(self, *, refused: int) -> None:
        self._refused, self._rested, self._alone_since, self.active = refused, 0, None, False
