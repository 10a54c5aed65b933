"""Images in files of the form idx (LeCun, Cortes and Burges), with their classes in a file beside.

Each image becomes a text of hexadecimal digits: two for its class, then two for each pixel, row by row.  So images pass
as text does, through shards, filters and the share that is held out; a task makes numbers of them again.
"""

import re
import struct
from collections.abc import Iterator
from typing import Final

from core.api.data_state import DataCode
from core.text.sources.records import Bytes, Texts
from core.text.sources.source import PIECE_BYTES, ShardUnreadable
from core.text.sources.spans import ByteBuffer
from core.text.sources.unpack import unpacked

PIXELS_MAX: Final = 16_384
_IMAGES: Final = re.compile(r"images([-.])idx3-ubyte(?=\.|$)", re.IGNORECASE)
_CLASSES: Final = re.compile(r"labels[-.]idx1-ubyte(?=\.|$)", re.IGNORECASE)
_IMAGES_MARK: Final = b"\0\0\x08\x03"
_CLASSES_MARK: Final = b"\0\0\x08\x01"


def is_images(name: str) -> bool:
    """Whether a file holds images, as its name says."""
    return _IMAGES.search(name) is not None


def is_classes(name: str) -> bool:
    """Whether a file holds the classes of images, as its name says."""
    return _CLASSES.search(name) is not None


def classes_beside(name: str) -> str:
    """Name of the file with the classes of the images in a file."""
    return _IMAGES.sub(r"labels\1idx1-ubyte", name)


def image_texts(images: Bytes, classes: Bytes, codec: str) -> Iterator[Texts]:
    """The images of a file as texts.

    Args:
        images: The file.
        classes: The one beside.
        codec: How both are packed.

    Raises:
        ShardUnreadable: one of them is not of this form, breaks off, or cannot be had.
    """
    pixels, marks = (ByteBuffer(unpacked(file.read(0, None), codec, file.name)) for file in (images, classes))
    count, height, width = _header(pixels, _IMAGES_MARK, 3, images.name)
    (marked,) = _header(marks, _CLASSES_MARK, 1, classes.name)
    size = height * width
    if marked != count or not 0 < size <= PIXELS_MAX:
        raise ShardUnreadable(DataCode.DAMAGED, name=images.name)
    texts: list[str] = []
    for _ in range(count):
        image = marks.take(1) + pixels.take(size)
        if len(image) < 1 + size:
            if texts:
                yield Texts(tuple(texts))
            raise ShardUnreadable(DataCode.DAMAGED, name=images.name)
        texts.append(image.hex())
        if len(texts) * 2 * len(image) >= PIECE_BYTES:
            yield Texts(tuple(texts))
            texts = []
    if texts:
        yield Texts(tuple(texts))


def _header(buffer: ByteBuffer, mark: bytes, dimensions: int, name: str) -> tuple[int, ...]:
    head = buffer.take(4 + 4 * dimensions)
    if len(head) < 4 + 4 * dimensions or not head.startswith(mark):
        raise ShardUnreadable(DataCode.DAMAGED, name=name)
    return struct.unpack(f">{dimensions}I", head[4:])
