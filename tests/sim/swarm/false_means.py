"""Volunteers of a simulated collaboration that reduce, and give all members another mean than that of the parts."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from random import Random
from types import MappingProxyType
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from core.averaging.aggregators import NO_FACTS, CenteredClip, PartFacts
from core.swarm.participant import Participant
from tests.sim.swarm.liars import LIES, Lie

Vector = NDArray[np.float32]


class FalseMeans(CenteredClip):
    """It makes something else of each clipped mean."""

    def __init__(self, change: Callable[[Vector], Vector]) -> None:
        super().__init__()
        self._change = change

    def aggregate(
        self, weights: Sequence[float], parts: Iterable[Vector], out: Vector, facts: PartFacts = NO_FACTS
    ) -> float:
        """Write the false mean to `out`."""
        radius = super().aggregate(weights, parts, out, facts)
        out[:] = self._change(out.copy())
        return radius


def _gives(change: Callable[[Vector], Vector]) -> Lie:
    def dresses(participant: Participant, random: Random) -> Any:
        del random
        participant.rounds.aggregator = FalseMeans(change)
        return participant

    return Lie(dresses=dresses)


FALSE_MEANS: Final[Mapping[str, Lie]] = MappingProxyType(
    {
        "means x1000": _gives(lambda mean: mean * np.float32(1000)),
        "means turned": _gives(lambda mean: -mean),
        "means of zeros": _gives(np.zeros_like),
    }
)
"""No seed draws these: where parts are not clipped nobody can tell."""
EVERY_LIE: Final[Mapping[str, Lie]] = MappingProxyType({**LIES, **FALSE_MEANS})
