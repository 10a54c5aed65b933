"""The rows of the task `digits`: one for each image."""

from collections.abc import Iterable, Iterator
from random import Random
from typing import Final

from core.base.manifest import Manifest
from core.tasks.cutter import Row
from core.tasks.digits_numbers import digits_numbers, image_rows
from core.tasks.task import Blobs
from core.text.order.documents import Document


class DigitsCutter:
    """Passes images on as rows (`core.tasks.cutter.Cutter`).

    Args:
        pixels: Number of pixels of an image.
    """

    numbers_max: Final = 255
    tokens: Final = 0

    def __init__(self, pixels: int) -> None:
        self.width = 1 + pixels
        self._pixels = pixels

    def cut(self, documents: Iterable[Document], chance: Random) -> Iterator[Row]:  # noqa: ARG002 - images need none
        """The rows of those documents that are images of this size."""
        return image_rows(documents, pixels=self._pixels)

    def text_of(self, row: Row) -> str:
        """The class of its image, as a digit."""
        return str(row[0])


def open_cutter(manifest: Manifest, blobs: Blobs) -> DigitsCutter:  # noqa: ARG001 - images need no files
    """The cutter of a manifest.

    Raises:
        BadInput: a number cannot be used.
    """
    return DigitsCutter(digits_numbers(manifest.numbers).pixels)
