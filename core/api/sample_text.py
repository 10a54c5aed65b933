"""What a sample is, in words that need no others: by the task that a collaboration learns."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from core.api.numbers import amount
from core.api.sentence import Sentence, later

_LETTERS: Final = later("A sample is {size} letters of a text. The model guesses each one from those before it.")
SAMPLES: Final[Mapping[str, str]] = MappingProxyType(
    {
        "albert": (
            "A sample is a text of at most {size} words and parts of words. Some of them are covered, and the model "
            "guesses what stands there."
        ),
        "gpt": _LETTERS,
        "gpt-experts": _LETTERS,
        "digits": "A sample is a picture of a written digit. The model guesses which one it is.",
    }
)
"""By the task's name."""
UNSIZED: Final = "A sample is one example of what the model learns. It guesses, and is told what was right."
"""For a task that this version does not know, or where the length of a sample is not told."""
SIZE_MAX: Final = 1_000_000
SIZES: Final = ("sequence_length", "length")
"""What tasks call the length of a sample among their numbers."""


def sample_size(numbers: Mapping[str, object]) -> int:
    """How long a sample is, by a task's numbers, which a stranger may have written; 0: they do not tell."""
    found = next((numbers[name] for name in SIZES if name in numbers), 0)
    return found if type(found) is int and 0 < found <= SIZE_MAX else 0


def sample_sentence(task: str, size: int) -> Sentence:
    """What a sample is.

    Args:
        task: As a manifest calls it.
        size: As `sample_size` counts it.
    """
    template = SAMPLES.get(task, UNSIZED)
    return Sentence(UNSIZED) if "{size}" in template and not size else Sentence.named(template, {"size": amount(size)})
