"""A real reader's process, spoken to by its pipe, and small collaborations for it to read."""

import json
import queue
import string
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import msgspec
import numpy as np
import psutil

from core.base.content import digest
from core.base.data_source import DataSource
from core.base.manifest import Manifest, sign_manifest
from core.base.signing import KeyPair
from core.reading.frames import BeginReading, BlockReady, Opened, ToTrainer, Want
from core.text.order.shard_index import ShardIndex
from core.workers.frames import LENGTH_BYTES, frame_decoder, frame_length, framed

KEY = KeyPair(b"k" * 32)
LENGTH = 32
LETTERS = "\n" + string.ascii_letters + string.digits + " .,"

T = TypeVar("T")


def collaboration(home: Path, *addresses: str, index: ShardIndex | None = None, **begin: Any) -> BeginReading:
    """A signed manifest of a task about letters, whose text is at some addresses, and what a worker says first."""
    blobs = home / "blobs"
    blobs.mkdir(parents=True, exist_ok=True)
    contents = {"counts": json.dumps({"": 1, **dict.fromkeys(LETTERS, 9)}).encode()}
    if index is not None:
        contents["index"] = index.encode()
    for data in contents.values():
        (blobs / digest(data).hex()).write_bytes(data)
    manifest = Manifest(
        name="test",
        organiser="test",
        task="gpt",
        data=tuple(DataSource(address=each, index="index" if index else "") for each in addresses),
        numbers={"alphabet": len(LETTERS) + 1, "length": LENGTH},
        blobs={name: digest(data).hex() for name, data in contents.items()},
        authority=KEY.peer_id.hex(),
    )
    (home / "manifest.json").write_bytes(sign_manifest(manifest, KEY))
    fields = {
        "near": True,
        "disk_bytes": 1 << 30,
        "folder": next((each for each in addresses if "://" not in each), ""),
    } | begin
    return BeginReading(
        manifest_path=str(home / "manifest.json"), blobs_dir=str(blobs), blocks_dir=str(home / "blocks"), **fields
    )


class Reader:
    """The parent's end of a reader's pipe."""

    def __init__(self, process: subprocess.Popen[bytes]) -> None:
        self.process = process
        self.heard: list[Any] = []
        self._frames: queue.Queue[Any] = queue.Queue()
        self._thread = threading.Thread(target=self._listen, daemon=True)
        self._thread.start()

    def say(self, frame: msgspec.Struct) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(framed(frame))
        self.process.stdin.flush()

    def hear(self, kind: type[T], where: Callable[[T], bool] = lambda _: True, *, timeout_s: float = 60) -> T:
        """The next frame of a kind; others that come before are kept in `heard`."""
        while True:
            frame = self._frames.get(timeout=timeout_s)
            assert frame is not None, f"the reader ended after {self.heard}"
            self.heard.append(frame)
            if isinstance(frame, kind) and where(frame):
                return frame

    def block(self, shard: int, row: int = 0, *, source: int = 0) -> BlockReady:
        """Ask for one block, and wait until it is whole."""
        self.say(Want(source=source, shards=((shard, row),)))
        return self.hear(BlockReady, lambda block: block.whole)

    def shard(self, shard: int) -> list[list[int]]:
        """All rows of a shard."""
        rows: list[list[int]] = []
        while True:
            block = self.block(shard, len(rows))
            assert block.first == len(rows)
            rows += rows_of(block)
            if block.last:
                return rows

    def close(self) -> None:
        assert self.process.stdout is not None
        self._thread.join()
        self.process.stdout.close()

    def _listen(self) -> None:
        decoder = frame_decoder(ToTrainer)
        assert self.process.stdout is not None
        while header := self.process.stdout.read(LENGTH_BYTES):
            self._frames.put(decoder.decode(self.process.stdout.read(frame_length(header))))
        self._frames.put(None)


@contextmanager
def reader(begin: BeginReading, *, opened: bool = True, file_bytes: int = 0) -> Iterator[Reader]:
    """A reader that has begun; files grow to `file_bytes` only, as on a disk that is full."""
    log = Path(begin.blobs_dir).parent / "reader.log"
    with log.open("ab") as errors:
        command = [sys.executable, "-m", "core.reading"]
        process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors)
    if file_bytes:
        psutil.Process(process.pid).rlimit(psutil.RLIMIT_FSIZE, (file_bytes, 1 << 40))
    found = Reader(process)
    try:
        found.say(begin)
        if opened:
            found.hear(Opened)
        yield found
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(20)
        found.close()
        assert "Traceback" not in log.read_text(), log.read_text()


def rows_of(block: BlockReady) -> list[list[int]]:
    rows: np.ndarray = np.load(block.path, mmap_mode="r")[: block.rows]
    assert rows.shape == (block.rows, LENGTH + 1)
    return rows.tolist()


def text_of(rows: list[list[int]]) -> str:
    """What rows of letters say."""
    return "".join(LETTERS[number - 1] if number else "?" for row in rows for number in row[:-1])
