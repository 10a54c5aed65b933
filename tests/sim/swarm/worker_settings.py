"""What all simulated workers of a collaboration share."""

from dataclasses import dataclass
from typing import Self

import numpy as np

from core.averaging.kept_mean import MeanForm
from core.codecs.registry import codec_of
from core.swarm.words.states import StateName
from tests.sim.swarm.disk import ModelState
from tests.sim.swarm.settings import SwarmSettings


def layout_of(numel: int) -> tuple[int, int]:
    """Sizes of the tensors in a vector of so many numbers."""
    return numel // 3, numel - numel // 3


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkerSettings:
    """Parameters that all workers of a collaboration share."""

    parameters: int
    seed: int
    first: StateName
    padding_bytes: int = 0
    """Checkpoints are longer by this."""
    codec: str = "raw"
    chunk_numel: int = 16
    delayed: bool = False
    """Whether computing goes on while a round is averaged."""
    step_s: tuple[float, float] = (0.05, 0.4)
    """Least and most time of an optimiser step, and of other work that is not training."""

    @classmethod
    def of(cls, world: SwarmSettings, *, seed: int, first: StateName) -> Self:
        """What a world's settings say of its workers.

        Args:
            world: The settings.
            seed: Of the world.
            first: The state with which all workers begin.
        """
        return cls(
            parameters=world.parameters,
            seed=seed,
            first=first,
            padding_bytes=world.padding_bytes,
            codec=world.codec,
            chunk_numel=world.chunk_numel,
            delayed=world.delayed,
            step_s=world.step_s,
        )

    @property
    def mean_form(self) -> MeanForm:
        """How the mean of a round lies in a file."""
        codec = codec_of(self.codec, layout_of(self.parameters))
        return MeanForm(codec, chunk_numel=self.chunk_numel, numel=self.parameters)

    def first_state(self) -> ModelState:
        """The state with which all workers begin."""
        generator = np.random.default_rng(self.seed)
        parameters = generator.standard_normal(self.parameters).astype(np.float32)
        return ModelState(self.first, parameters, np.zeros(self.parameters, dtype=np.float32))
