"""What tasks about text have in common when they are prepared."""

import json
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Final

from core.base.problems import BadInput
from core.data.documents import Document
from core.data.sources import Part, parted
from core.sources.texts import texts_named
from core.system.atomic_files import make_directory, write_atomic

READ_CHARS: Final = 3_000_000
"""Text that is read for a preparation, characters, where what it makes needs no more."""
TEXT_CHARS_MIN: Final = 20_000
"""With less there is nothing to learn."""
HELD_OUT_CHARS_MIN: Final = 500
ORDER_SEED: Final = 0

Progress = Callable[[str, float], None]
"""Told what happens, and the share that is done."""


def read_text(source: str, progress: Progress, *, chars_max: int = READ_CHARS) -> tuple[list[Document], list[Document]]:
    """The beginnings of the text for training and of the held-out text.

    Args:
        source: As a manifest has it (`core.sources.texts.texts_named`).
        progress: Told how much is read.
        chars_max: Number of characters after which no further document is read.

    Raises:
        BadInput: the text cannot be used, or is too little.
    """
    texts: dict[Part, list[Document]] = {"train": [], "held-out": []}
    chars = 0
    for number, (part, document) in enumerate(parted(texts_named(source), seed=ORDER_SEED)):
        texts[part].append(document)
        chars += sum(map(len, document))
        if number % 100 == 0:
            progress("Reading text", min(1.0, chars / chars_max))
        if chars >= chars_max:
            break
    train, held_out = texts["train"], texts["held-out"]
    if count_chars(train) < TEXT_CHARS_MIN or count_chars(held_out) < HELD_OUT_CHARS_MIN:
        raise BadInput(
            f"There is too little text to learn from in {source}: {count_chars(train):,} characters to train and "
            f"{count_chars(held_out):,} to measure with; {TEXT_CHARS_MIN:,} and {HELD_OUT_CHARS_MIN:,} are the least.",
            hint="Give a folder with more files of text, for whole files are kept to measure with; half a million "
            "characters is a good beginning.",
        )
    return train, held_out


def write_blobs(folder: Path, contents: Mapping[str, object]) -> dict[str, Path]:
    """Write blobs as JSON files; returns the files by the names of the blobs.

    Raises:
        NoSpace: the disk is full.
    """
    make_directory(folder)
    blobs = {name: folder / f"{name}.json" for name in contents}
    for name, content in contents.items():
        write_atomic(blobs[name], json.dumps(content).encode())
    return blobs


def count_chars(found: Iterable[Document]) -> int:
    """The number of characters of some documents."""
    return sum(len(sentence) for document in found for sentence in document)
