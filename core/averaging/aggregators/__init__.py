"""How many contributions become one.  A new aggregator is a module and one line in `AGGREGATORS`."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from core.averaging.aggregators.aggregator import Aggregator
from core.averaging.aggregators.mean import WeightedMean, all_finite

AGGREGATORS: Final[Mapping[str, type[Aggregator]]] = MappingProxyType({"mean": WeightedMean})
"""Every aggregator by name."""

__all__ = ["AGGREGATORS", "Aggregator", "WeightedMean", "all_finite"]
