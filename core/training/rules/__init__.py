"""What a peer contributes to a round, and what it makes of the mean: a plain dict from the name in a manifest.

A new rule is a module with a class that satisfies `Rule`, and one line in `RULES`; it gets its tests from
`tests/contracts/test_rules.py`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

import msgspec

from core.base.manifest import Manifest, checked
from core.base.problems import unknown_name
from core.training.optimizers import Optimizer
from core.training.rules.gradients import Gradients
from core.training.rules.local import LocalSteps
from core.training.rules.rule import Rule
from core.training.vectors.flat import FlatParameters

RULES: Final[Mapping[str, type[Rule]]] = MappingProxyType({"gradients": Gradients, "local": LocalSteps})
"""Every rule by name."""

__all__ = ["RULES", "Rule", "rule_of"]


def rule_of(manifest: Manifest, parameters: FlatParameters, optimizer: Optimizer) -> Rule:
    """The rule that a manifest names; gradients where it names none.

    Args:
        manifest: Names the rule, with its numbers, and whether rounds overlap with computing.
        parameters: The model's.
        optimizer: The manifest's, which takes the collaboration's steps.

    Raises:
        BadInput: this release does not know it, a number is unknown or out of its range, or the rule cannot go on while
            a round is averaged.
    """
    numbers = {"name": "gradients"} if isinstance(manifest.rule, msgspec.UnsetType) else manifest.rule
    name = str(numbers.get("name"))
    if name not in RULES:
        raise unknown_name("rule", name, RULES)
    kind = RULES[name]
    overlaps = manifest.averaging.overlaps
    return kind(checked(numbers, kind.Numbers, of="rule"), parameters, optimizer, overlaps=overlaps)
