"""The names of what a collaboration can learn, for manifests and for the command line.  Needs the standard library."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

TASKS: Final[Mapping[str, str]] = MappingProxyType({"albert": "core.tasks.albert", "gpt": "core.tasks.gpt"})
"""Every task: its module, which `core.tasks` imports where torch may be imported."""
CUTTERS: Final[Mapping[str, str]] = MappingProxyType(
    {"albert": "core.tasks.albert.cutting", "gpt": "core.tasks.gpt_cutting"}
)
"""How each task makes rows of documents, without torch (`core.tasks.cutter`)."""
TOKENIZERS: Final = ("plain", "albert", "bengali")
"""Recipes of tokenizers (`core.tasks.tokenizers.unigram.RECIPES`); the first one is meant where none is named."""
BLANKS: Final = frozenset({"albert"})
"""Tasks whose models fill blanks in a text."""
BLANK: Final = r"_{2,}|\[MASK\]"
"""What a person writes for a blank, as a pattern: underscores, or what the tokenizers have."""
