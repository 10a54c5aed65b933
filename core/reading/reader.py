"""The reader: all sources of a collaboration, each in a thread of its own, and what is said of them together."""

import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final

from core.api.data_state import DataCode
from core.base.manifest import read_manifest
from core.base.problems import BadInput
from core.base.signing import Ed25519Verifier
from core.reading.block_file import Shape
from core.reading.block_store import BlockKey, BlockStore
from core.reading.copies import AtOrigin, Copies, SharedCopies
from core.reading.desk import Desk
from core.reading.frames import BeginReading, Drop, GoOn, ReadFrame, Remake, Rest, Tally, ToReader, Want
from core.reading.news import SourceNews
from core.reading.room import DiskRoom
from core.reading.rows import Counts, RowMaker, open_cutter, rows_digest
from core.reading.source_reader import SourceReader
from core.reading.wishes import Wish
from core.system.usage import return_unused_memory
from core.tasks.task import Blobs
from core.text.order.filters import read_filters
from core.text.order.shard_index import read_index
from core.text.sources.indexed import IndexedShards
from core.text.sources.opening import open_source
from core.text.sources.source import Access, SourceStalled, TextShards

TALLY_S: Final = 1.0
WIDE_FROM: Final = 65_536
"""Numbers of rows up to here take 32 bits."""


class Reader:
    """Serves the frames of one worker.

    Args:
        begin: The worker's first frame.
        say: Sends a frame to the worker, from any thread.

    Raises:
        BadInput: manifest, blobs or a source's address cannot be used.
        NotTrusted: the manifest's signature is wrong.
    """

    def __init__(self, begin: BeginReading, say: Callable[[ReadFrame], None]) -> None:
        self._say = say
        self._going = threading.Event()
        self._going.set()
        self._counts = Counts()
        self._begin = begin
        self._desk = Desk(begin.desk_url, begin.desk_token)
        manifest = read_manifest(_content(Path(begin.manifest_path)), Ed25519Verifier())
        blobs = Blobs(Path(begin.blobs_dir), manifest.blobs)
        cutter = open_cutter(manifest, blobs)
        shape = Shape(cutter.width, cutter.numbers_max >= WIDE_FROM)
        decides = rows_digest(manifest.id, cutter)
        room = DiskRoom(begin.disk_bytes, Path(begin.blocks_dir), map(Path, begin.spare_dirs))
        self._store = BlockStore(Path(begin.blocks_dir), shape, decides, room)
        core = threading.Lock()
        self._sources: list[SourceReader] = []
        for number, source in enumerate(manifest.sources):
            rows = RowMaker(manifest.chance, number, cutter, read_filters(source.filters), self._counts, core)
            news = SourceNews(number, say)
            access = self._access(news, network=bool(source.host))
            opened: TextShards
            copies: Copies
            if source.index:
                opened = indexed = IndexedShards(source, read_index(blobs.read(source.index)), access)
                copies = SharedCopies(number, indexed, self._desk, Path(begin.blocks_dir) / "shards", room)
            else:
                opened, copies = open_source(source, access), AtOrigin()
            self._sources.append(SourceReader(opened, rows, self._store, news, self._rest, copies))

    def run(self, frames: Iterable[ToReader]) -> None:
        """Open all sources, and do what the worker says, until the frames end."""
        threading.Thread(target=self._tally, name="tally", daemon=True).start()
        for source in self._sources:
            source.start()
        for frame in frames:
            self._take(frame)

    def _take(self, frame: ToReader) -> None:
        match frame:
            case Want():
                self._source(frame.source).wishes.want(frame.shards)
            case Remake():
                self._source(frame.source).wishes.again(Wish(frame.shard, frame.first))
            case Drop():
                self._store.drop(BlockKey(frame.source, frame.shard, frame.first))
            case Rest():
                self._going.clear()
                return_unused_memory()
            case GoOn():
                self._going.set()
            case BeginReading():
                raise BadInput("The reader was started twice.")

    def _source(self, number: int) -> SourceReader:
        if number >= len(self._sources):
            raise BadInput("The collaboration has no source {source}.", number)
        return self._sources[number]

    def _access(self, news: SourceNews, *, network: bool) -> Access:
        return Access(
            folder=Path(self._begin.folder) if self._begin.folder else None,
            near=self._begin.near,
            secrets=self._begin.secrets,
            allow=self._allow,
            count=lambda count: self._counts.add_bytes(count, network=network),
            pass_over=news.left_out,
        )

    def _rest(self) -> None:
        self._going.wait()

    def _allow(self, count: int) -> None:
        """Wait until a number of bytes may be asked of the network."""
        self._rest()
        if not self._desk.allow(count):
            raise SourceStalled(DataCode.NETWORK_RESTS)

    def _tally(self) -> None:
        said: Tally | None = None
        while True:
            time.sleep(TALLY_S)
            self._rest()
            counts = self._counts
            tally = Tally(
                bytes_read=counts.bytes_read,
                network_bytes=counts.network_bytes,
                documents=counts.documents,
                left_out=counts.left_out,
                rows=counts.rows,
                stored_bytes=self._store.stored_bytes,
                reading=counts.reading,
            )
            if tally != said:
                self._say(tally)
                said = tally


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        message = "The manifest {path} cannot be read: {error}."
        raise BadInput(message, path, error.strerror or error, hint="Join the collaboration again.") from error
