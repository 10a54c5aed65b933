"""What rounds have not taken of this peer's contributions is carried on to the next one."""

# ruff: noqa: N803 - names of arrays end in their shapes

import numpy as np
from numpy.typing import NDArray

from core.base.work import Untaken

Vector = NDArray[np.float32]


class Carried:
    """The chunks of the last contribution that its round's plan did not ask for (c_i below 1 in S000 appendix B).

    In these chunks the next contribution is the mean over its own samples and as many old ones as that contribution was
    made of.  It goes out with the same weight as ever, so nothing on the wire tells of it; it only is less noisy.  If a
    chunk is not asked for again, what was carried counts half as much as before, with equal numbers of samples: on the
    average it is one step old.  `docs/decisions/0007-balance.md` has what else was tried.
    """

    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """Carry nothing from now on: another state is held."""
        self._mask_N: NDArray[np.bool_] | None = None
        """Whether each number of the vector is carried; None: none is."""
        self._values: Vector = np.empty(0, dtype=np.float32)
        """These numbers, one after the other."""
        self._samples = 0

    def add_to(self, contribution_N: Vector, *, samples: int) -> None:
        """Make a new contribution of this many samples the mean over these and what is carried; in place.

        It may be asked for again: until a round has ended, the same is carried.
        """
        if self._mask_N is None or not samples:
            return
        new = np.float32(samples / (samples + self._samples))
        contribution_N[self._mask_N] = new * contribution_N[self._mask_N] + (1 - new) * self._values

    def keep(self, contribution_N: Vector, *, samples: int, untaken: Untaken | None) -> None:
        """A round has ended: what it has not taken of the contribution is carried, and nothing else.

        Args:
            contribution_N: As it was handed over, with what was carried until then.
            samples: Samples that it counted for.
            untaken: Its chunks that are in no mean; None: there are none.
        """
        self.forget()
        if untaken is not None and samples:
            self._mask_N = untaken.mask(contribution_N.size)
            self._values, self._samples = contribution_N[self._mask_N], samples
