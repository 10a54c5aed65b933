"""How many contributions become one: one registry, one contract test suite.

A new aggregator is a module with a class that satisfies `Aggregator`, and one line in `AGGREGATORS`.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

from core.averaging.aggregators.aggregator import Aggregator, Parts, all_finite
from core.averaging.aggregators.mean import WeightedMean
from core.averaging.aggregators.trimmed_mean import TrimmedMean

AGGREGATORS: Final[Mapping[str, Callable[..., Aggregator]]] = MappingProxyType(
    {"mean": WeightedMean, "trimmed_mean": TrimmedMean}
)
"""Every aggregator, by the name that a manifest gives it; its numbers are its arguments."""

__all__ = ["AGGREGATORS", "Aggregator", "Parts", "TrimmedMean", "WeightedMean", "all_finite"]
