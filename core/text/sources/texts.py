"""A source as a stream of documents, for whatever reads it once and in order: preparation, reports, tokenizers."""

from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from random import Random
from types import MappingProxyType
from typing import Final

import msgspec

from core.api.data_state import DataCode
from core.base.data_source import DataSource
from core.base.problems import BadInput, Sentence, later
from core.system.file_chunks import file_chunks
from core.text.order.documents import LINE_CHARS_MAX, Document, documents_of, paragraphs_of
from core.text.order.filters import Filters, Sieve, read_filters
from core.text.order.shard_index import INDEX_BYTES_MAX, ShardHash, ShardIndex, read_index
from core.text.sources.opening import open_indexed, open_source
from core.text.sources.patient import PatientShards, Tell, untold
from core.text.sources.source import Access, LeftOut, Listing, NoColumn, NoSplit, Piece, SourceTrouble, TextShards

_WEB_HINT: Final = Sentence(
    "No folder of a web server can be listed. Name a file, or many whose names count, as those of a cut do: "
    "https://.../{00000..00127}.jsonl.zst"
)
_WHY: Final[Mapping[DataCode, tuple[str, str | Sentence]]] = {
    DataCode.WRONG_ANSWER: (
        later("{name} is not what the server gives: that is a page for people, or another part of it."),
        _WEB_HINT,
    ),
    DataCode.FILE_CHANGED: (
        later("{name} changed while it was read."),
        later("Give the command again when nobody writes there any more."),
    ),
    DataCode.PRIVATE: (
        later("{name} leads into a private network."),
        later("Name a server there by its address in numbers, as in http://192.168.1.7/texts.txt"),
    ),
    DataCode.TOO_LARGE: (
        later("{name} unfolds to more memory than any text needs."),
        later("Leave it out: it is damaged, or made to do harm."),
    ),
}
"""What is wrong with a file, and what to do, by code."""
_OTHERWISE: Final = (later("{name} cannot be read: {why}."), later("Name another source."))
"""The same for other codes."""
NAMES_SHOWN: Final = 12
"""Names of columns, configurations or splits in a sentence, at most."""
SHARDS_AT_A_TIME: Final = 32
"""Shards of a source that are read by turns, a piece of each."""


class ShardsBeside:
    """The shards of an index that all lie in one folder (`core.text.sources.source.TextShards`).

    Args:
        source: As a recipe has it.
        index: Its index.
        folder: Where the shards lie.

    Raises:
        BadInput: the filters cannot be used.
    """

    network: Final = False

    def __init__(self, source: DataSource, index: ShardIndex, folder: Path) -> None:
        here = msgspec.structs.replace(source, address=str(folder))
        self._shards = open_indexed(here, msgspec.structs.replace(index, mirrors=()), Access(folder=folder))
        self._index = index
        self._folder = folder

    def listing(self) -> Listing:
        """What the index lists."""
        return self._shards.listing()

    def read(self, shard: int, block: int = 0, *, copy: Path | None = None) -> Iterator[Piece]:
        """The texts of a shard, which is checked first (`TextShards.read`).

        Raises:
            BadInput: its file cannot be read, or is not what the index says.
        """
        listed = self._index.shard(shard)
        path = copy or self._folder / listed.name
        found = ShardHash()
        try:
            for chunk in file_chunks(path):
                found.update(chunk)
        except OSError as error:
            hint = "Check that the file belongs to you."
            raise BadInput("{path} cannot be read: {error}.", path, error.strerror, hint=hint) from error
        if not found.is_of(listed):
            advice = "Copy it again, or make it again with: potluck data verify {folder} --again"
            raise BadInput("{path} does not match the index beside it.", path, self._folder, hint=advice)
        yield from self._shards.read(shard, block, copy=path)


def shards_beside(source: DataSource) -> ShardsBeside | None:
    """The shards of a recipe's source that lie beside its index; None: it has none, or one of them is not there.

    A folder of this computer that the recipe names is read itself: whether it is there, founding shall tell.

    Raises:
        BadInput: the index or the filters cannot be used.
    """
    path = Path(source.index)
    if not source.index or source.path or not path.is_file():
        return None
    with path.open("rb") as file:
        index = read_index(file.read(INDEX_BYTES_MAX + 1), called=str(path))
    whole = all((path.parent / index.shard(number).name).is_file() for number in range(len(index)))
    return ShardsBeside(source, index, path.parent) if whole else None


class SourceTexts:
    """The documents of a source.

    Args:
        source: Where they come from.
        filters: Which of them are read.
    """

    def __init__(self, source: TextShards, filters: Filters) -> None:
        self._source = source
        self._filters = filters

    def sampled(self, order: Random) -> Iterator[Document]:
        """All documents once, from many shards by turns, so that a reader that stops early has seen text from all over.

        Args:
            order: Draws which shards come first.

        Raises:
            BadInput: the source cannot be had now, or nothing of it can be read.
        """
        try:
            waiting = deque(range(len(self._source.listing().shards)))
        except SourceTrouble as trouble:
            raise problem_of_trouble(trouble) from trouble
        order.shuffle(waiting)
        sieve = self._filters.sieve()
        turns = deque(self._source.read(waiting.popleft()) for _ in range(min(len(waiting), SHARDS_AT_A_TIME)))
        while turns:
            try:
                piece = next(turns[0], None)
            except SourceTrouble as trouble:
                raise problem_of_trouble(trouble) from trouble
            if piece is not None:
                yield from _kept(piece, sieve)
                turns.rotate(-1)
                continue
            turns.popleft()
            if waiting:
                turns.append(self._source.read(waiting.popleft()))


def documents_in(text: str) -> Iterator[Document]:
    """The documents of a text that stands on its own."""
    return documents_of(paragraphs_in(text))


def paragraphs_in(text: str) -> Iterator[str]:
    """The paragraphs of a text that stands on its own, very long ones in parts."""
    return paragraphs_of(_lines(text))


def texts_of(
    source: DataSource,
    secrets: Mapping[str, str] = MappingProxyType({}),
    tell: Tell = untold,
    lose: Callable[[LeftOut], None] = lambda _: None,
) -> SourceTexts:
    """The text of a source that the person has named, who so allows a folder in it to be read.

    Args:
        source: As a recipe has it; its shards are read beside its index where they lie there.
        secrets: Credentials (`Access.secrets`).
        tell: Told why nothing comes, while it does not answer.
        lose: Told of each file that is not read, and of records that are not.

    Raises:
        BadInput: it cannot be opened, or its filters cannot be used.
    """
    folder = Path(source.path) if source.path else None
    access = Access(folder=folder, secrets=secrets, pass_over=lose)
    shards = shards_beside(source) or open_source(source, access)
    return SourceTexts(PatientShards(shards, tell, lose), read_filters(source.filters))


def problem_of_trouble(trouble: SourceTrouble) -> BadInput:
    """What is wrong with a source, as a sentence for the person who names it."""
    name = trouble.arguments.get("name", trouble.arguments.get("host", ""))
    web = str(name).startswith(("http://", "https://"))
    hint: str | Sentence
    match trouble.code:
        case DataCode.MISSING if isinstance(trouble, NoSplit):
            message, hint = (
                "{name} is not there, or has no files.",
                _named_by(*(("split", trouble.splits) if trouble.splits else ("config", trouble.configs))),
            )
        case DataCode.MISSING if web:
            message, hint = "The server has no file {name}.", _WEB_HINT
        case DataCode.MISSING:
            there = "://" in str(name) or Path(str(name)).exists()
            message = "{name} holds no text files that can be read." if there else "There is no folder {name}."
            hint = "Give the path of a folder with text files, or an address of some."
        case DataCode.UNDECIDED:
            message = "Finding out which files of {name} are meant took this computer too long or too much memory."
            hint = "Try again when it has less to do, or name another source."
        case DataCode.REFUSED:
            message, hint = "{name} may not be read.", "Give yourself the right to read it, or other credentials."
        case DataCode.NO_COLUMN | DataCode.NO_TEXT:
            message, hint = (
                "{name} has {why}.",
                _named_by("column", trouble.there if isinstance(trouble, NoColumn) else ()),
            )
        case DataCode.DAMAGED if trouble.why:
            message = "Most records of {name} cannot be read; the first is {why}."
            hint = "Name another source, or mend it: text is UTF-8, or UTF-16 with its byte order mark."
        case DataCode.CERTIFICATE:
            message = "The certificate of {name} is not valid: {why}."
            hint = "If an authority of your own has signed it, name that authority's file in SSL_CERT_FILE."
        case DataCode.NO_ANSWER:
            message, hint = "{name} does not answer.", "Check the address and the connection, and try again."
        case _:
            message, hint = _WHY.get(trouble.code, _OTHERWISE)
    return BadInput(message, name, trouble.why or trouble.code.value, hint=hint)


def _named_by(what: str, there: Sequence[str]) -> Sentence:
    """How the right one of those is named that there are; the first of them are listed."""
    if not there:
        return Sentence('Name the right one with --{what} NAME, in a recipe with {what} = "NAME".', what)
    names = ", ".join(f"{name!r:.40}" for name in there[:NAMES_SHOWN]) + (", ..." if there[NAMES_SHOWN:] else "")
    named = 'It has {names}: name the right one with --{what} NAME, in a recipe with {what} = "NAME".'
    return Sentence(named, names, what)


def _kept(piece: Piece, sieve: Sieve) -> Iterator[Document]:
    """The documents of a piece that pass; texts of tables are held against the filters whole, others by documents."""
    for place, text in enumerate(piece.texts):
        if piece.rows is None:
            yield from (document for document in documents_in(text) if sieve.keeps("\n".join(document)))
        elif sieve.keeps(text, piece.rows[place]):
            yield from documents_in(text)


def _lines(text: str) -> Iterator[str]:
    for line in text.splitlines(keepends=True):
        start = 0
        while len(line) - start > LINE_CHARS_MAX:
            end = start + LINE_CHARS_MAX
            begin, start = start, line.rfind(" ", start, end) + 1 or end  # in no word, where there are any
            yield line[begin:start]
        yield line[start:]
