"""Cutting a source into shards and an index, and holding shards against their index."""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import msgspec

from core.base.problems import BadInput
from core.system.atomic_files import write_atomic
from core.text.order.shard_index import INDEX_BYTES_MAX, INDEX_FILE, IndexedShard, ShardHash, ShardIndex, read_index
from core.text.sources.cut_folder import CutFolder
from core.text.sources.cut_journal import JOURNAL_BYTES_MAX, JOURNAL_FILE, CutJournal, read_journal
from core.text.sources.cutting import CutResult, Cutting
from core.text.sources.folder import Folder
from core.text.sources.index_at import index_of
from core.text.sources.requests import CutRequest, VerifyRequest
from core.training.programs.child import given_secrets, say
from core.training.programs.opened_text import LOSSES_MAX, Loss, OpenedText

JOURNAL_EVERY: Final = 64
"""Upper bound on the parts of what is cut between two writes of the journal; what is not in it is cut again."""


class SourceCut(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="cut"):
    """A source was cut, to the end."""

    out: str
    ending: str
    """Ending of its shards' names, which are numbers of five digits before it."""
    index: str
    """Where its index is."""
    index_bytes: int
    shards: int
    bytes: int
    documents: int
    characters: int
    left_out: int
    """Texts that filters left out, since this run began."""
    resumed: int
    """Shards that an earlier run had cut."""
    losses: tuple[Loss, ...]
    """What of its files was not read since this run began, the first of it."""
    loss_count: int


class WrongShard(msgspec.Struct, frozen=True, kw_only=True):
    """A shard that is not what the index says."""

    number: int
    name: str
    missing: bool
    """It is not there; else its bytes are others."""
    mended: bool = False
    """It was made again, and is right now."""


class Verified(msgspec.Struct, frozen=True, kw_only=True, tag_field="event", tag="verified"):
    """Shards were held against their index."""

    address: str
    shards: int
    bytes: int
    wrong: tuple[WrongShard, ...]


def cut(asked: CutRequest) -> SourceCut:
    """Cut a source, or go on where an earlier run was killed.

    Raises:
        BadInput: the source cannot be read, or changes meanwhile, or something else lies where the shards shall go.
        NoSpace: the disk is full.
    """
    secrets = given_secrets()
    store = CutFolder(asked.out, secrets)
    _may_replace(asked.index_copy, store)
    text = OpenedText(asked.source, secrets)
    folder = Folder(Path(asked.source.path)) if asked.source.path else None
    before = folder.written() if folder is not None else []
    begun = CutJournal(
        source=asked.source, listing=text.listing.digest, ending=asked.ending, shard_bytes=asked.shard_bytes
    )
    found = _journal(store)
    if found is not None and not found.is_of(begun):
        message = "{out} holds the shards of another source, or of this one as it was, or cut otherwise."
        raise BadInput(message, asked.out, hint="Name another folder, or delete what is in it.")
    journal, left_out = found or begun, Counter[str]()
    resumed = len(journal.shards)
    if not journal.whole:
        for made in Cutting(text.shards, journal, lambda: left_out.update([asked.out])).go_on():
            journal = made.journal
            _keep(store, made)
            count, size = len(journal.shards), sum(one.size for one in journal.shards)
            words = f"Cutting: {count:,} shard{'' if count == 1 else 's'}, {size / 1e6:,.0f} MB"
            say("progress", text=words, fraction=text.share_read())
    if folder is not None and folder.written() != before:
        hint = "Let what writes there come to its end, then cut them again, into an empty folder."
        raise BadInput("The files in {address} have changed while they were cut.", asked.source.address, hint=hint)
    losses = text.losses()
    index = journal.index(asked.mirrors)
    store.write(INDEX_FILE, index.encode())
    if asked.index_copy:
        write_atomic(Path(asked.index_copy), index.encode())
    return SourceCut(
        out=asked.out,
        ending=asked.ending,
        index=asked.index_copy or f"{store.address}/{INDEX_FILE}",
        index_bytes=len(index.encode()),
        shards=len(index),
        bytes=index.size,
        documents=sum(index.documents),
        characters=sum(index.characters),
        left_out=left_out.total(),
        resumed=resumed,
        losses=tuple(losses[:LOSSES_MAX]),
        loss_count=len(losses),
    )


def _may_replace(index_copy: str, store: CutFolder) -> None:
    """See to it that the copy of an index replaces no other one than that of the shards which lie there.

    Raises:
        BadInput: it would, or it would replace something else.
    """
    if not Path(index_copy).is_file():
        return
    copy, data = index_of(Path(index_copy)), store.read_back(INDEX_FILE, INDEX_BYTES_MAX + 1)
    known = None if data is None else read_index(data, called=f"{store.address}/{INDEX_FILE}")
    if known is None or known != msgspec.structs.replace(copy, mirrors=known.mirrors):
        message = "{index_copy} is the index of other shards than those in {address}."
        raise BadInput(message, index_copy, store.address, hint="Move it, or give the command in another folder.")


def _keep(store: CutFolder, made: CutResult) -> None:
    """Write a shard, then the journal that knows of it: seldom, where it is long."""
    count = len(made.journal.shards)
    store.write(made.journal.index().shard(count - 1).name, made.data)
    if made.journal.whole or count % max(1, count // JOURNAL_EVERY) == 0:
        store.write(JOURNAL_FILE, made.journal.encode())


def verified(asked: VerifyRequest) -> Verified:
    """Read all shards that an index lists, and say which are not what it says.

    Raises:
        BadInput: there is no index, or the shards cannot be read or made again.
        NoSpace: the disk is full.
    """
    secrets = given_secrets()
    store = CutFolder(asked.address, secrets)
    index = _index(asked, store)
    wrong: list[WrongShard] = []
    done = 0
    for number in range(len(index)):
        shard = index.shard(number)
        data = store.read(shard.name, shard.size + 1)
        if data is None or not _is_of(shard, data):
            wrong.append(WrongShard(number=number, name=shard.name, missing=data is None))
        done += shard.size
        said = f"Checking: {number + 1:,} of {len(index):,} shards, {len(wrong):,} wrong"
        say("progress", text=said, fraction=done / index.size)
    if asked.again and wrong:
        wrong = _mended(store, index, wrong, secrets)
    return Verified(address=asked.address, shards=len(index), bytes=index.size, wrong=tuple(wrong))


def _index(asked: VerifyRequest, store: CutFolder) -> ShardIndex:
    if asked.index:
        try:
            with Path(asked.index).open("rb") as file:
                data: bytes | None = file.read(INDEX_BYTES_MAX + 1)
        except OSError as error:
            raise BadInput("The index {index} cannot be read: {error}.", asked.index, error.strerror) from error
    else:
        data = store.read(INDEX_FILE, INDEX_BYTES_MAX + 1)
    if data is None:
        message = "There is no index in {address}."
        raise BadInput(message, asked.address, hint="Name one with --index, or the charter with --charter.")
    return read_index(data)


def _is_of(shard: IndexedShard, data: bytes) -> bool:
    found = ShardHash()
    found.update(data)
    return found.is_of(shard)


def _mended(
    store: CutFolder, index: ShardIndex, wrong: list[WrongShard], secrets: Mapping[str, str]
) -> list[WrongShard]:
    """Make shards again from the source, and keep those that come out as the index says."""
    journal = _journal(store)
    if journal is None or not journal.whole or journal.index(index.mirrors) != index:
        message = "How these shards were cut is not known: {address} has no {journal_file} that fits the index."
        hint = "Copy the shards from another place, or cut the text again."
        raise BadInput(message, store.address, JOURNAL_FILE, hint=hint)
    text = OpenedText(journal.source, secrets)
    if text.listing.digest != journal.listing:
        raise BadInput(
            "{address} is not what it was when it was cut.", journal.source.address, hint="Bring it back as it was."
        )
    mended: set[int] = set()
    for number, data in Cutting(text.shards, journal).again({one.number for one in wrong}):
        if _is_of(index.shard(number), data):
            store.write(index.shard(number).name, data)
            mended.add(number)
        say("progress", text=f"Made again: {len(mended):,} of {len(wrong):,}", fraction=len(mended) / len(wrong))
    return [msgspec.structs.replace(one, mended=one.number in mended) for one in wrong]


def _journal(store: CutFolder) -> CutJournal | None:
    data = store.read_back(JOURNAL_FILE, JOURNAL_BYTES_MAX)
    return None if data is None else read_journal(data, called=f"{store.address}/{JOURNAL_FILE}")
