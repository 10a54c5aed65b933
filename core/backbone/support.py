"""Whether this version of Potluck can take part as a manifest wants."""

from core.averaging.aggregators import AGGREGATORS
from core.averaging.codecs.registry import check_codec
from core.base.manifest import AveragingNumbers, Manifest
from core.base.problems import BadInput, unknown_name


class FoundedEarlier(BadInput):
    """A collaboration of a version of Potluck whose manifests say less."""

    code = "founded_earlier"

    def __init__(self) -> None:
        super().__init__(
            "This collaboration was founded with an earlier version of Potluck.",
            hint="Its organiser can found it again, with: potluck found",
        )


def check_manifest(manifest: Manifest) -> None:
    """Refuse what this version does not have.

    Raises:
        FoundedEarlier: the text stands among the task's numbers.
        BadInput: as in `check_averaging`.
    """
    if "source" in manifest.numbers:
        raise FoundedEarlier
    check_averaging(manifest.averaging)


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
