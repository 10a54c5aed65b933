"""How many contributions become one: one registry, one contract test suite.

A new aggregator is a module with a class that satisfies `Aggregator`, and one line in `AGGREGATORS`.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from core.averaging.aggregators.aggregator import Aggregator, WeightedMean
from core.averaging.aggregators.trimmed_mean import TrimmedMean
from core.base.manifest import AveragingNumbers

AGGREGATORS: Final[Mapping[str, Callable[..., Aggregator]]] = MappingProxyType(
    {"mean": WeightedMean, "trimmed_mean": TrimmedMean}
)
"""Every aggregator, by the name that a manifest gives it; its numbers are its arguments."""


def aggregator_of(averaging: AveragingNumbers) -> Aggregator:
    """The aggregator that a manifest names; on a grid each group goes by it.

    Raises:
        KeyError: there is none of this name; `core.backbone.support` refuses such a manifest before.
    """
    numbers = {} if isinstance(averaging.trimmed_share, msgspec.UnsetType) else {"trim": averaging.trimmed_share}
    return AGGREGATORS[averaging.aggregator_name](**numbers)
