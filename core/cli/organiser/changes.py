"""Values that a command line puts in the place of a recipe's: `--set optimizer.learning_rate=0.001,0.002`."""

import argparse
import tomllib
from collections.abc import Mapping, Sequence
from itertools import product
from typing import Any, Final

from core.base.manifest import Number
from core.base.problems import BadInput, quoted

RUNS_MAX: Final = 16


def changes_of(args: argparse.Namespace) -> list[Mapping[str, Number]]:
    """All combinations of the values that `--set` and `--seed` name; one without any where they are not given.

    Raises:
        BadInput: an option cannot be read, or names too many values.
    """
    values: dict[str, list[Number]] = {}
    for words in args.set:
        key, mark, said = words.partition("=")
        found = _values(said)
        if not (key.strip() and mark and found):
            message = "--set {words} sets nothing."
            raise BadInput(message, quoted(words), hint="Write KEY=VALUE: --set optimizer.learning_rate=0.002")
        values.setdefault(key.strip(), []).extend(found)
    if args.seed is not None:
        values.setdefault("seed", []).append(args.seed)
    combined = [dict(zip(values, each, strict=True)) for each in product(*values.values())]
    if len(combined) > RUNS_MAX:
        raise BadInput(
            "These are {count} runs; {most} are allowed.", len(combined), RUNS_MAX, hint="Name fewer values."
        )
    return list(combined)


def _values(said: str) -> Sequence[Number]:
    """Values as TOML has them, with commas between; words need no quotes."""
    try:
        found: list[Any] = tomllib.loads(f"values = [{said}]")["values"]
    except (tomllib.TOMLDecodeError, RecursionError):
        return [word.strip() for word in said.split(",")]
    if all(isinstance(value, int | float | str) for value in found):
        return found
    return [said]
