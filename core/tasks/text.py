"""What tasks about text have in common when they are prepared."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Final

from core.base.data_source import DataSource
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


@dataclass(frozen=True, slots=True)
class GivenText:
    """The text that a task is prepared from."""

    called: str
    """In sentences."""
    parted: Callable[[], Iterable[tuple[Part, Document]]]
    """Reads it, each document with the part that it belongs to; raises BadInput where it cannot be read."""


def text_of(sources: Sequence[DataSource]) -> GivenText:
    """The text of a recipe's sources.

    Args:
        sources: Folders of this computer, absolute, or "python-docs".
    """
    files = [texts_named(source.address) for source in sources]
    called = " and ".join(source.address for source in sources)
    return GivenText(called, lambda: chain.from_iterable(parted(each, seed=ORDER_SEED) for each in files))


def read_text(
    text: GivenText, progress: Progress, *, chars_max: int = READ_CHARS
) -> tuple[list[Document], list[Document]]:
    """The beginnings of the text for training and of the held-out text.

    Args:
        text: All of it.
        progress: Told how much is read.
        chars_max: Number of characters after which no further document is read.

    Raises:
        BadInput: the text cannot be used, or is too little.
    """
    texts: dict[Part, list[Document]] = {"train": [], "held-out": []}
    chars = 0
    for number, (part, document) in enumerate(text.parted()):
        texts[part].append(document)
        chars += sum(map(len, document))
        if number % 100 == 0:
            progress("Reading text", min(1.0, chars / chars_max))
        if chars >= chars_max:
            break
    train, held_out = texts["train"], texts["held-out"]
    if count_chars(train) < TEXT_CHARS_MIN or count_chars(held_out) < HELD_OUT_CHARS_MIN:
        raise BadInput(
            f"There is too little text to learn from in {text.called}: {count_chars(train):,} characters to train and "
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
