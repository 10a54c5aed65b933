"""Whether this version of Potluck can take part as a manifest wants."""

from collections.abc import Iterable

import msgspec

from core.averaging.aggregators import AGGREGATORS
from core.base.data_source import DataSource
from core.base.manifest import AveragingNumbers, Manifest
from core.base.problems import BadInput, unknown_name
from core.base.tasks import TASKS, check_mixture
from core.codecs.registry import check_codec
from core.text.order.filters import read_filters


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
        BadInput: it has no such task, or as in `check_averaging` and `check_sources`.
    """
    if "source" in manifest.numbers:
        raise FoundedEarlier
    if manifest.task not in TASKS:
        raise unknown_name("task", manifest.task, TASKS)
    rule = {} if isinstance(manifest.rule, msgspec.UnsetType) else manifest.rule
    names = (str(rule.get("name", "")), manifest.precision_name)
    check_mixture(manifest.task, experts=manifest.mixture is not None, names=names)
    check_averaging(manifest.averaging)
    check_sources(manifest.sources)


def check_sources(sources: Iterable[DataSource], *, called: str = "") -> None:
    """Refuse what this version does not have.

    Args:
        sources: Sources of a manifest or of a recipe.
        called: What comes before the sentence.

    Raises:
        BadInput: a source has a filter that is unknown, or is given a value that it does not take.
    """
    for number, source in enumerate(sources, start=1):
        read_filters(source.filters, where=f"{called}[data.filters] of source {number}: ")


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
        message = "The collaboration gives the aggregator {name} numbers that it does not take."
        hint = "trimmed_mean takes a trim from 0 to below 0.5, centered_clip a clip from 0.25 to 4."
        raise BadInput(message, repr(name), hint=hint) from problem
