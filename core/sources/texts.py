"""A source as a stream of documents, for whatever reads it once and in order: preparation, reports, tokenizers."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from core.api.data_state import DataCode
from core.base.data_source import PYTHON_DOCS, DataSource
from core.base.problems import BadInput
from core.data.documents import LINE_CHARS_MAX, Document, documents_of, paragraphs_of
from core.sources.source import Access, ShardUnreadable, SourceTrouble, TextShards, open_source


class SourceTexts:
    """The documents of a source (`core.data.sources.TextSource`).

    Args:
        source: Where they come from.
    """

    def __init__(self, source: TextShards) -> None:
        self._source = source

    def shards(self) -> list[str]:
        """Numbers of the shards.

        Raises:
            BadInput: there is no text, or it cannot be read.
        """
        try:
            return [str(number) for number in range(len(self._source.listing().shards))]
        except SourceTrouble as trouble:
            raise problem_of_trouble(trouble) from trouble

    def read(self, shards: Sequence[str]) -> Iterator[Document]:
        """The documents of these shards, in their order; a shard that turns out unreadable ends there.

        Raises:
            BadInput: they cannot be had now.
        """
        for shard in shards:
            try:
                for piece in self._source.read(int(shard)):
                    for text in piece.texts:
                        yield from documents_in(text)
            except ShardUnreadable:
                continue
            except SourceTrouble as trouble:
                raise problem_of_trouble(trouble) from trouble


def documents_in(text: str) -> Iterator[Document]:
    """The documents of a text that stands on its own."""
    return documents_of(paragraphs_in(text))


def paragraphs_in(text: str) -> Iterator[str]:
    """The paragraphs of a text that stands on its own, very long ones in parts."""
    return paragraphs_of(_lines(text))


def texts_named(name: str) -> SourceTexts:
    """The text that a recipe names: "python-docs", or the absolute path of a folder, which the person has named so.

    Raises:
        BadInput: it is neither.
    """
    folder = None if name == PYTHON_DOCS else Path(name)
    return SourceTexts(open_source(DataSource(address=name), Access(folder=folder)))


def problem_of_trouble(trouble: SourceTrouble) -> BadInput:
    """What is wrong with a source, as a sentence for the person who names it."""
    name = trouble.arguments.get("name", trouble.arguments.get("host", ""))
    match trouble.code:
        case DataCode.MISSING:
            there = "://" in str(name) or Path(str(name)).exists()
            said = f"{name} holds no text files that can be read." if there else f"There is no folder {name}."
            hint = "Give the path of a folder with text files, or an address of some."
        case DataCode.REFUSED:
            said, hint = f"{name} may not be read.", "Give yourself the right to read it, or other credentials."
        case DataCode.NO_COLUMN:
            column = trouble.arguments.get("column", "")
            said, hint = f"{name} has no column {column!r}.", "Name the column in which the text stands."
        case DataCode.NO_ANSWER:
            said, hint = f"{name} does not answer.", "Check the address and the connection, and try again."
        case _:
            said, hint = f"{name} cannot be read: {trouble.code.value}.", "Name another source."
    return BadInput(said, hint=hint)


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines(keepends=True):
        for start in range(0, len(line), LINE_CHARS_MAX):
            yield line[start : start + LINE_CHARS_MAX]
