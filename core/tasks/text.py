"""What tasks about text have in common when they are prepared."""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Final

from core.base.data_source import DataSource
from core.base.problems import BadInput
from core.base.tasks import TOKENIZERS
from core.system.atomic_files import make_directory, write_atomic
from core.text.order.documents import Document, Part, is_held_out
from core.text.sources.patient import Tell, untold
from core.text.sources.texts import SourceTexts, texts_of

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
    tokenizer: str = TOKENIZERS[0]
    """How it becomes tokens: a name of `core.base.tasks.TOKENIZERS`, or the path of a tokenizer's file."""


def text_of(
    sources: Sequence[DataSource],
    *,
    tokenizer: str = TOKENIZERS[0],
    secrets: Mapping[str, str] = MappingProxyType({}),
    tell: Tell = untold,
) -> GivenText:
    """The text of a recipe's sources, mixed by their shares.

    Args:
        sources: Folders are absolute; the person has named them.
        tokenizer: As the recipe has it, a file with its absolute path.
        secrets: Credentials (`core.text.sources.source.Access`).
        tell: Told why nothing comes, while a source does not answer.

    Raises:
        BadInput: a source cannot be opened.
    """
    texts = [texts_of(source, secrets, tell) for source in sources]
    called = " and ".join(source.address for source in sources)
    return GivenText(called, lambda: _mixed(sources, texts), tokenizer)


def _mixed(sources: Sequence[DataSource], texts: Sequence[SourceTexts]) -> Iterator[tuple[Part, Document]]:
    """Documents of all sources: next comes the one that has given least by its share; one that ends is left out."""
    streams = {place: each.sampled(Random(ORDER_SEED)) for place, each in enumerate(texts)}  # noqa: S311 - no secret
    given = dict.fromkeys(streams, 0)
    while streams:
        place = min(streams, key=lambda each: given[each] / sources[each].share)
        document = next(streams[place], None)
        if document is None:
            del streams[place]
            continue
        given[place] += sum(map(len, document))
        yield "held-out" if is_held_out(document) else "train", document


def read_parts(text: GivenText, progress: Progress, *, chars_max: int) -> tuple[list[Document], list[Document]]:
    """The beginnings of the text for training and of the held-out text, however little that is.

    Args:
        text: All of it.
        progress: Told how much is read.
        chars_max: Number of characters after which no further document is read.

    Raises:
        BadInput: the text cannot be used.
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
    return texts["train"], texts["held-out"]


def read_text(
    text: GivenText, progress: Progress, *, chars_max: int = READ_CHARS
) -> tuple[list[Document], list[Document]]:
    """The beginnings of the text for training and of the held-out text (`read_parts`).

    Raises:
        BadInput: the text cannot be used, or is too little.
    """
    train, held_out = read_parts(text, progress, chars_max=chars_max)
    if count_chars(train) < TEXT_CHARS_MIN or count_chars(held_out) < HELD_OUT_CHARS_MIN:
        raise BadInput(
            "There is too little text to learn from in {called}: {train} characters to train and "
            "{held_out} to measure with; {least} and {held_out_least} are the least.",
            text.called,
            f"{count_chars(train):,}",
            f"{count_chars(held_out):,}",
            f"{TEXT_CHARS_MIN:,}",
            f"{HELD_OUT_CHARS_MIN:,}",
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
