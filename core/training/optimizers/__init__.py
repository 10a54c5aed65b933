"""Optimisers on flat vectors: a plain dict from the name that stands in a manifest."""

from collections.abc import Callable, Mapping
from typing import Final

from core.base.manifest import OptimizerNumbers
from core.base.problems import BadInput
from core.training.flat import FlatParameters
from core.training.optimizers.lamb import Lamb

Optimizer = Lamb

OPTIMIZERS: Final[Mapping[str, Callable[[OptimizerNumbers, FlatParameters], Optimizer]]] = {"lamb": Lamb}


def optimizer_of(numbers: OptimizerNumbers, parameters: FlatParameters) -> Optimizer:
    """The optimiser that a manifest names.

    Raises:
        BadInput: this release does not know it.
    """
    if numbers.name not in OPTIMIZERS:
        raise BadInput(f"This version of Potluck does not know the optimiser {numbers.name!r}.", hint="Update Potluck.")
    return OPTIMIZERS[numbers.name](numbers, parameters)
