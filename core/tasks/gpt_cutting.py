"""The rows of the character-level GPT: windows of letters, each of which begins where the one before ends."""

from collections.abc import Iterable, Iterator
from random import Random

import numpy as np

from core.base.manifest import Manifest
from core.tasks.cutter import Row
from core.tasks.gpt_numbers import Alphabet, GptNumbers, gpt_numbers, read_counts, windows
from core.tasks.task import Blobs
from core.text.order.documents import Document


class GptCutter:
    """Cuts windows of `length` + 1 letters (`core.tasks.cutter.Cutter`).

    Args:
        numbers: Say how long.
        alphabet: A number for each letter.
    """

    def __init__(self, numbers: GptNumbers, alphabet: Alphabet) -> None:
        self.width = numbers.length + 1
        self.numbers_max = numbers.alphabet - 1
        self.tokens = numbers.length
        self._alphabet = alphabet

    def cut(self, documents: Iterable[Document], chance: Random) -> Iterator[Row]:  # noqa: ARG002 - letters need none
        """The windows; the last one goes back into the one before, so that little of a text is left out."""
        for window in windows(documents, self._alphabet, self.tokens, tail=True):
            yield window.astype(np.uint16)

    def text_of(self, row: Row) -> str:
        """Its letters; those that the alphabet lacks are a replacement character."""
        return self._alphabet.text_of(row)


def open_cutter(manifest: Manifest, blobs: Blobs) -> GptCutter:
    """The cutter of a manifest.

    Raises:
        BadInput: numbers or blobs cannot be used.
    """
    numbers = gpt_numbers(manifest.numbers)
    return GptCutter(numbers, Alphabet(list(read_counts(blobs)), numbers.alphabet))
