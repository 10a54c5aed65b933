"""Optimisers on flat vectors: a plain dict from the name that stands in a manifest.

A new optimiser is a module with a class that satisfies `Optimizer`, and one line in `OPTIMIZERS`; its tests
(`tests/contracts/test_optimizers.py`) ask for an independent reference besides.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from core.base.manifest import checked
from core.base.problems import unknown_name
from core.training.optimizers.adamw import AdamW
from core.training.optimizers.lamb import Lamb
from core.training.optimizers.muon import Muon
from core.training.optimizers.optimizer import Optimizer
from core.training.optimizers.sgd import Sgd
from core.training.vectors.flat import FlatParameters

OPTIMIZERS: Final[Mapping[str, type[Optimizer]]] = MappingProxyType(
    {"lamb": Lamb, "adamw": AdamW, "sgd": Sgd, "muon": Muon}
)
"""Every optimiser by name."""

__all__ = ["OPTIMIZERS", "Optimizer", "optimizer_of"]


def optimizer_of(numbers: Mapping[str, object], parameters: FlatParameters) -> Optimizer:
    """The optimiser that a manifest names.

    Args:
        numbers: Its `name` and its own numbers.
        parameters: What it changes.

    Raises:
        BadInput: this release does not know it, or a number is unknown or out of its range.
    """
    name = str(numbers.get("name"))
    if name not in OPTIMIZERS:
        raise unknown_name("optimiser", name, OPTIMIZERS)
    kind = OPTIMIZERS[name]
    return kind(checked(numbers, kind.Numbers, of="optimiser"), parameters)
