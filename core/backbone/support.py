"""Whether this version of Potluck can average as a manifest wants."""

from core.averaging.aggregators import AGGREGATORS
from core.averaging.codecs.registry import check_codec
from core.base.manifest import AveragingNumbers
from core.base.problems import BadInput, unknown_name


def check_averaging(averaging: AveragingNumbers) -> None:
    """Refuse what this version does not have.

    Raises:
        BadInput: the manifest names an unknown codec or aggregator, or gives it numbers that it does not take.
    """
    check_codec(averaging.codec)
    name = averaging.aggregator_name
    if name not in AGGREGATORS:
        raise unknown_name("aggregator", name, AGGREGATORS)
    try:
        AGGREGATORS[name](**averaging.aggregator_numbers)
    except (TypeError, ValueError) as problem:
        raise BadInput(
            f"The collaboration gives the aggregator {name!r} numbers that it does not take.",
            hint="Only trimmed_mean takes a trimmed_share.",
        ) from problem
