"""The names of what a collaboration can learn, for manifests and for the command line."""

from collections.abc import Collection, Mapping
from types import MappingProxyType
from typing import Final

from core.base.problems import BadInput

TASKS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "albert": "core.tasks.albert",
        "gpt": "core.tasks.gpt",
        "gpt-experts": "core.tasks.gpt_experts",
        "digits": "core.tasks.digits",
    }
)
"""Every task: its module, which `core.tasks` imports where torch may be imported."""
CUTTERS: Final[Mapping[str, str]] = MappingProxyType(
    {
        "albert": "core.tasks.albert.cutting",
        "gpt": "core.tasks.gpt_cutting",
        "gpt-experts": "core.tasks.gpt_cutting",
        "digits": "core.tasks.digits_cutting",
    }
)
"""How each task makes rows of documents, without torch (`core.tasks.cutter`)."""
TOKENIZERS: Final = ("plain", "albert", "bengali")
"""Recipes of tokenizers (`core.tasks.tokenizers.unigram.RECIPES`); the first one is meant where none is named."""
BLANKS: Final = frozenset({"albert"})
"""Tasks whose models fill blanks in a text."""
BLANK: Final = r"_{2,}|\[MASK\]"
"""What a person writes for a blank, as a pattern: underscores, or what the tokenizers have."""
MIXTURES: Final = frozenset({"digits", "gpt-experts"})
"""Tasks whose models have layers of experts."""


def sample_rows(task: str, numbers: Mapping[str, object]) -> int | None:
    """Number of rows that each layer's experts get of a sample; None: a manifest's numbers do not tell."""
    length = 1 if task == "digits" else numbers.get("length")
    return length if isinstance(length, int) else None


BESIDE_NO_EXPERTS: Final = frozenset({"local", "fp16"})
"""A rule whose steps would change the trunk between two stages of a batch, and a precision whose loss is scaled anew
when a gradient is whole."""


def check_mixture(task: str, *, experts: bool, names: Collection[str] = (), where: str = "") -> None:
    """Refuse experts for a task that has none, a task that has some without them, and what does not go with them.

    Args:
        task: Its name.
        experts: Whether there is a table `[experts]`.
        names: Names of rule and precision.
        where: What comes before the sentence.

    Raises:
        BadInput: the two do not fit.
    """
    if experts and task not in MIXTURES:
        hint = "Leave the table [experts] out."
        raise BadInput("{where}the task {task} has no layers of experts.", where, task, hint=hint)
    if task in MIXTURES and not experts:
        raise BadInput("{where}the task {task} needs a table [experts].", where, task)
    for name in BESIDE_NO_EXPERTS.intersection(names) if experts else ():
        message = "{where}a model with experts cannot be trained with {name}."
        raise BadInput(message, where, name, hint="Leave it out.")
