"""The numbers of the task `digits`, and its rows, one for each image: all of it that needs no torch.

A document is one image as hexadecimal digits: two for its class, then two for each pixel (`core.text.sources.images`).
"""

from collections.abc import Iterable, Iterator
from random import Random
from typing import Annotated, Final

import msgspec
import numpy as np
from msgspec import Meta

from core.base.manifest import Manifest, Numbers, checked
from core.tasks.cutter import Row
from core.tasks.task import Blobs
from core.text.order.documents import Document

CLASSES: Final = 10


class DigitsNumbers(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Sizes of what the model is fed; those of its layers stand in `[experts]`."""

    pixels: Annotated[int, Meta(ge=4, le=16_384)] = 784
    """Number of pixels of an image."""
    micro_batch: Annotated[int, Meta(ge=1, le=1024)] = 32
    held_out: Annotated[int, Meta(ge=1, le=16_384)] = 1024
    """Number of images that are measured with, at most."""


def digits_numbers(numbers: Numbers) -> DigitsNumbers:
    """The numbers of a manifest, checked.

    Raises:
        BadInput: a number is unknown, or out of its range.
    """
    return checked(numbers, DigitsNumbers, of="task")


def image_rows(documents: Iterable[Document], *, pixels: int) -> Iterator[Row]:
    """Rows of those documents that are images of this size: the class, then the pixels, all below 256."""
    for document in documents:
        try:
            data = bytes.fromhex("".join(document))
        except ValueError:
            continue
        if len(data) == 1 + pixels and data[0] < CLASSES:
            yield np.frombuffer(data, np.uint8).astype(np.uint16)


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
