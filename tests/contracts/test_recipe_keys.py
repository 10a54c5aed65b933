"""The keys of a recipe's tables as `docs/recipes.md` lists them, against what the program reads."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest

from core.base.manifest import AveragingNumbers
from core.base.mixture import ExpertNumbers, ExpertOptimizer
from core.base.recipe import EPOCHS, SAMPLES, WEIGHT_SHARE
from core.base.tasks import TASKS
from core.tasks import module_of
from core.training.optimizers import OPTIMIZERS
from core.training.rules import RULES

DOC = Path(__file__).parents[2] / "docs" / "recipes.md"
TABLES: Mapping[str, type[msgspec.Struct]] = {
    **{f"`[model]` of `{task}`": module_of(task).NUMBERS for task in TASKS},
    **{f"`[optimizer]` `{name}`": kind.Numbers for name, kind in OPTIMIZERS.items()},
    "`[averaging]`": AveragingNumbers,
    **{f"`[rule]` `{name}`": kind.Numbers for name, kind in RULES.items()},
    "`[experts]`": ExpertNumbers,
    "`[experts.optimizer]`": ExpertOptimizer,
}


def shown(field: msgspec.structs.FieldInfo) -> str:
    """A key with its default as TOML has it; one that has none, or whose absence means something, stands alone."""
    name, default = field.name, field.default
    if default in {msgspec.NODEFAULT, msgspec.UNSET} or isinstance(default, msgspec.Struct):
        return f"`{name.replace(EPOCHS, SAMPLES)}`"
    value: Any = str(default).lower() if isinstance(default, bool) else default
    value = list(value) if isinstance(value, tuple) else value
    value = f'"{value}"' if isinstance(default, str) else value
    if name.endswith(EPOCHS):
        return f"`{name.replace(EPOCHS, SAMPLES)} = {f'{value} * target_samples' if value else value}`"
    return f"`{name} = {value}`"


@pytest.mark.parametrize("table", TABLES)
def test_every_key_is_listed_with_its_default(table: str) -> None:
    keys = ", ".join(shown(field) for field in msgspec.structs.fields(TABLES[table]) if field.name != "name")
    assert f"| {table} | {keys} |" in DOC.read_text("utf-8").splitlines()


def test_what_absence_means_is_said() -> None:
    absent = AveragingNumbers()
    said = DOC.read_text("utf-8")
    assert (absent.overlaps, absent.aggregator_name, absent.weight_share_max) == (False, "mean", 0.25)
    assert "`delayed` and `partial` are false." in said
    assert '`aggregator = "mean"` and `weight_share = 0.25`' in said
    assert f"`weight_share = {WEIGHT_SHARE}`" in said
