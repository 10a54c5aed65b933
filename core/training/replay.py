"""Steps that others have taken, taken again with their means from the state that was saved last."""

# ruff: noqa: N803 - names of arrays end in their shapes

from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from core.base.problems import Damaged, WorkerProblem
from core.base.state_header import StateHeader
from core.training.rules.rule import Rule
from core.training.samples.samples import RowsInHand, Samples
from core.training.states.bookmarks import Bookmarks
from core.training.states.checkpoint import Checkpoints, Saved


class ReplayedSteps:
    """Leads from the own saved state to one that others hold, or back to the own one.

    Nothing of it is believed: only if the steps lead to a file with the digest that was told, they count.

    Args:
        rule: Takes the steps.
        checkpoints: Hold the own state.
        rows: Know what was accumulated, and what became of it.
        bookmarks: Keep where samples stand.
        samples: Stand somewhere.
    """

    def __init__(
        self, rule: Rule, checkpoints: Checkpoints, rows: RowsInHand, bookmarks: Bookmarks, samples: Samples
    ) -> None:
        self._rule = rule
        self._checkpoints = checkpoints
        self._rows = rows
        self._bookmarks = bookmarks
        self._samples = samples
        self._own, self._epoch = Path(), 0
        self.left = 0
        """Number of means that are wanted still; 0: there is no replay."""

    def begin(self, own: Path, *, epoch: int, to: int) -> None:
        """Go back to the saved state, and forget what was accumulated.

        Args:
            own: Its file.
            epoch: Its epoch.
            to: The epoch to which the steps lead.

        Raises:
            WorkerProblem: it cannot be read again.
        """
        self._own, self._epoch = own, epoch
        self.undo()
        self.left = max(0, to - epoch)

    def step(self, mean_N: NDArray[np.float32] | None) -> None:
        """Take the next step with its mean, shape (N,); None: it cannot be read.

        Raises:
            WorkerProblem: it is not finite, not wanted, or not there.
        """
        if not self.left or mean_N is None:
            raise WorkerProblem("The mean of a round could not be read, or nobody had asked for it.")
        self._rule.absorb(torch.from_numpy(np.array(mean_N, dtype=np.float32)))
        self.left -= 1

    def end(self, name: StateHeader, digest: bytes, *, counted: int = 0) -> Saved:
        """Keep the state to which the steps have led, if it is the one that others hold.

        Args:
            name: The header of its file.
            digest: Root digest of its file.
            counted: Samples that it counts for this peer, and the own state does not.

        Raises:
            Damaged: it is another one; nothing was written.
            NoSpace: the disk is full.
        """

        def first() -> None:
            self._rows.resolve(counted)
            self._bookmarks.write(name.epoch, bytes.fromhex(name.lineage), self._samples.bookmark())

        return self._checkpoints.save_as(name, digest, first=first)

    def undo(self) -> None:
        """Go back to the state from which the steps began.

        Raises:
            WorkerProblem: it cannot be read again.
        """
        self.left = 0
        try:
            self._checkpoints.load(self._own)
        except Damaged as problem:
            raise WorkerProblem(
                problem.sentence, hint="Training goes on from the last state that is whole."
            ) from problem
        self._rule.begin(self._epoch)
        self._rows.forget()
