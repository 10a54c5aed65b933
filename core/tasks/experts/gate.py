"""Chooses among experts, and makes one answer of theirs (Learning@home, section 3.2; Shazeer et al. 2017, section 4).

Letters of shapes: R rows (samples), W numbers of a row, G numbers of a gate: one for each coordinate of each dimension
of the grid, K experts that a row is given to, P places of a layer, D dimensions.
"""

# ruff: noqa: N803, N806 - names of arrays end in their shapes

from typing import Final

import numpy as np
import torch
from torch import nn

from core.experts.grid import ExpertGrid

MEMORY: Final = 0.9
"""Weight of the batches before in what is known of how the gate chooses."""


class Gate(nn.Module):
    """Normalises rows, and scores the coordinates of the grid for each of them.

    Args:
        width: W.
        sizes: Number of coordinates in each dimension.
    """

    def __init__(self, width: int, sizes: tuple[int, ...]) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.heads = nn.Linear(width, sum(sizes))

    def forward(self, x_RW: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return the rows as experts get them, (R, W), and the scores (R, G)."""
        rows_RW = self.norm(x_RW)
        return rows_RW, self.heads(rows_RW)


class PlaceScores:
    """What a gate's scores say of the places of a layer.

    Args:
        grid: The layer's places.
    """

    def __init__(self, grid: ExpertGrid) -> None:
        starts = np.cumsum((0, *grid.sizes[:-1]))
        places = np.array([grid.place(number) for number in range(grid.live)])
        self._heads_PD = torch.from_numpy(places + starts)
        self._slices = [
            slice(int(start), int(start) + int(places[:, dimension].max()) + 1)
            for dimension, start in enumerate(starts)
        ]
        """By dimension: the scores of those coordinates under which there are places."""

    def of_all(self, scores_RG: torch.Tensor) -> torch.Tensor:
        """Scores (R, P) of all places, in the order of their numbers: each the sum over its coordinates."""
        return sum((scores_RG[:, heads_P] for heads_P in self._heads_PD.T), start=scores_RG.new_zeros(()))

    def of(self, scores_RG: torch.Tensor, places_RK: torch.Tensor) -> torch.Tensor:
        """Scores (R, K) of some places, by their numbers, which lie on the CPU."""
        heads_RKD = self._heads_PD[places_RK].to(scores_RG.device)
        return scores_RG.gather(1, heads_RKD.flatten(1)).view(heads_RKD.shape).sum(2)

    def imbalance(self, scores_RG: torch.Tensor, before: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor]:
        """How unevenly the gate chooses: squared coefficients of variation of the coordinates' shares, summed.

        Args:
            scores_RG: The gate's.
            before: The shares that this returned for the batches before; None: there were none.

        Returns:
            The imbalance, which is 0 where all coordinates are chosen alike; and the shares, without a gradient.
        """
        shares = torch.cat([scores_RG[:, heads].softmax(1).mean(0) for heads in self._slices])
        if before is not None:
            shares = MEMORY * before + (1 - MEMORY) * shares
        parts = torch.split(shares, [heads.stop - heads.start for heads in self._slices])
        imbalance = sum(((part / part.mean() - 1).square().mean() for part in parts), start=shares.new_zeros(()))
        return imbalance, shares.detach()


def mixed(scores_RK: torch.Tensor, answered_RK: torch.Tensor, answers_RKW: torch.Tensor) -> torch.Tensor:
    """The answers' mean (R, W), weighted by a softmax of the scores of those that have answered.

    Args:
        scores_RK: Scores of the experts that were asked.
        answered_RK: Whether each has answered; in each row at least one has.
        answers_RKW: Their answers; of those that have not answered any finite numbers.
    """
    weights_RK = scores_RK.masked_fill(~answered_RK, -torch.inf).softmax(1)
    return (weights_RK.unsqueeze(2) * answers_RKW).sum(1)
