"""A recipe's tables against what task, optimiser and rule allow, before anything is read or founded."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
import torch

from core.base.allowed import read_fields
from core.base.manifest import Manifest, Numbers
from core.base.problems import BadInput, Sentence
from core.base.recipe import EPOCHS, SAMPLES, Recipe
from core.tasks import module_of
from core.tasks.task import TaskModule
from core.training.optimizers import OPTIMIZERS, Optimizer, optimizer_of
from core.training.rules import RULES, rule_of
from core.training.vectors.flat import FlatParameters

T = TypeVar("T")
NOBODY = "00" * 32
"""In the place of an authority, in a manifest that is never signed."""
WIDTH = 1024
"""Side of the matrix on which an optimiser is tried: large enough that what it keeps for each number dominates."""


@dataclass(frozen=True, slots=True)
class CheckedRecipe:
    """What stands behind a recipe's names."""

    module: TaskModule
    numbers: Numbers
    """All of the task's, those that the recipe leaves out included."""
    optimizer_bytes: float
    """Bytes that the optimiser keeps for each parameter."""


def checked_recipe(recipe: Recipe, *, called: str) -> CheckedRecipe:
    """Hold every number of a recipe against its bounds.

    Args:
        recipe: As it was read.
        called: How sentences call it.

    Raises:
        BadInput: the first number that cannot be used; the sentence names the file, the key and what is allowed.
    """
    module = module_of(recipe.task)
    where = f"{called}: [model] "
    numbers = read_fields(recipe.model, module.NUMBERS, where=where)
    given: Numbers = msgspec.to_builtins(numbers)
    try:
        module.costs(given, recipe.mixture)
    except BadInput as problem:
        raise BadInput("{where}{problem}", where, problem.sentence) from problem
    parameters = FlatParameters(torch.nn.Linear(WIDTH, WIDTH))
    optimizer = _optimizer(recipe.epochs_optimizer, parameters, where=f"{called}: [optimizer] ")
    _check_rule(recipe, parameters, optimizer, called=called)
    remembered = sum(tensor.nbytes for tensor in optimizer.state.values())
    return CheckedRecipe(module, given, remembered / parameters.numel)


def _optimizer(numbers: Numbers, parameters: FlatParameters, *, where: str) -> Optimizer:
    kind = _named(numbers, OPTIMIZERS, where=where)
    try:
        read_fields(numbers, kind.Numbers, where=where)
    except BadInput as problem:
        raise _in_samples(problem) from problem
    return optimizer_of(numbers, parameters)


def _check_rule(recipe: Recipe, parameters: FlatParameters, optimizer: Optimizer, *, called: str) -> None:
    rule = recipe.epochs_rule
    if not isinstance(rule, msgspec.UnsetType):
        kind = _named(rule, RULES, where=f"{called}: [rule] ")
        read_fields(rule, kind.Numbers, where=f"{called}: [rule] ")
        for name, table in rule.items():
            if isinstance(table, dict):
                _optimizer(table, parameters, where=f"{called}: [rule.{name}] ")
    manifest = Manifest(
        name="-", organiser="-", task=recipe.task, averaging=recipe.averaging, rule=rule, authority=NOBODY
    )
    try:
        rule_of(manifest, parameters, optimizer)
    except BadInput as problem:
        raise BadInput("{called}: [rule] {problem}", called, problem.sentence) from problem


def _named(numbers: Mapping[str, Any], kinds: Mapping[str, type[T]], *, where: str) -> type[T]:
    """The class that a table's `name` names."""
    name = numbers.get("name")
    if name not in kinds:
        raise BadInput("{where}name must be one of {kinds}, not {name}.", where, ", ".join(kinds), f"{name!r:.40}")
    return kinds[str(name)]


def _in_samples(problem: BadInput) -> BadInput:
    """The same sentence about a schedule as the recipe has it: in samples."""
    message = problem.message.replace(f"{EPOCHS} must", f"{SAMPLES} / target_samples must").replace(EPOCHS, SAMPLES)
    return BadInput(Sentence(message), hint=problem.hint.replace(EPOCHS, SAMPLES))
