import errno
import json
import os
import socket
import sys
from collections.abc import Sequence
from pathlib import Path

import psutil
import pytest
from backports import zstd

from core.api.data_state import DataCode
from core.base.content import root_digest
from core.reading.frames import BlockReady, Flowing, Opened, Remake, Stalled, Tally, Unreadable, Want
from core.text.order.shard_index import ShardHash, ShardIndex
from tests.process.test_reader import words
from tests.reading import collaboration, reader, rows_of, text_of
from tests.web_server import Repeated, web_server

pytestmark = pytest.mark.process

LINES = words(1, 200_000).encode()


def packed(seed: int) -> bytes:
    return zstd.compress(
        b"".join(json.dumps({"text": words(seed * 100 + n, 4000)}).encode() + b"\n" for n in range(40))
    )


def index_of(shards: Sequence[bytes]) -> ShardIndex:
    hashes = []
    for shard in shards:
        hashes.append(ShardHash())
        hashes[-1].update(shard)
    roots = b"".join(root_digest(each.digests) for each in hashes)
    count = (1,) * len(shards)
    return ShardIndex(sizes=tuple(map(len, shards)), documents=count, characters=count, roots=roots)


def test_ten_gigabytes_from_a_server_begin_at_once(tmp_path: Path) -> None:
    with web_server({"/a.txt": Repeated(LINES, 10 * 1024**3)}) as site:
        with reader(collaboration(tmp_path, f"{site.url}/a.txt")) as child:
            assert next(frame for frame in child.heard if isinstance(frame, Opened)).shards == 2560
            child.say(Want(source=0, shards=((1234, 0),)))
            child.hear(BlockReady)
            tally = child.hear(Tally, lambda tally: tally.rows > 0)
            assert tally.bytes_read == tally.network_bytes < 64 * 1024**2
            while not any(isinstance(frame, BlockReady) and frame.whole for frame in child.heard):
                child.hear(BlockReady)
            assert psutil.Process(child.process.pid).memory_info().rss < 250_000_000
        assert site.sent < 6 << 20


def test_a_dead_source_holds_up_no_other(tmp_path: Path) -> None:
    with socket.socket() as taken, web_server({"/a.txt": LINES}) as site:
        taken.bind(("127.0.0.1", 0))
        dead = f"http://127.0.0.1:{taken.getsockname()[1]}/a.txt"
        with reader(collaboration(tmp_path, dead, f"{site.url}/a.txt"), opened=False) as child:
            child.hear(Opened, lambda opened: opened.source == 1)
            assert child.block(0, source=1).rows
            stalled = next((f for f in child.heard if isinstance(f, Stalled)), None) or child.hear(Stalled)
            assert (stalled.source, stalled.code) == (0, DataCode.NO_ANSWER)
            assert stalled.arguments["host"] == dead.split("/")[2]
            assert 1 <= stalled.retry_s <= 60


def test_a_server_that_comes_back_flows_again(tmp_path: Path) -> None:
    with (
        web_server({f"/{n}.txt": LINES * 21 for n in range(1)}) as site,
        reader(collaboration(tmp_path, f"{site.url}/0.txt")) as child,
    ):
        rows = rows_of(child.block(0))
        site.status = 503
        child.say(Want(source=0, shards=((1, 0), (0, 0))))
        assert child.hear(BlockReady, lambda block: block.whole).shard == 0  # another meanwhile, from the disk
        child.say(Want(source=0, shards=((1, 0),)))
        stalled = child.hear(Stalled)
        assert (stalled.code, stalled.arguments["host"]) == (DataCode.NO_ANSWER, site.url.split("/")[2])
        child.say(Remake(source=0, shard=0, first=0))
        assert rows_of(child.hear(BlockReady, lambda block: block.whole)) == rows
        site.status = 0
        child.hear(Flowing)
        assert child.hear(BlockReady, lambda block: block.whole).shard == 1


def test_a_connection_that_breaks_within_a_block_loses_no_row(tmp_path: Path) -> None:
    text = words(3, 3_000_000).encode()
    with web_server({"/a.txt": text}, ranges=False) as site:
        with reader(collaboration(tmp_path / "one", f"{site.url}/a.txt")) as child:
            rows = child.shard(0)
        with reader(collaboration(tmp_path / "two", f"{site.url}/a.txt")) as child:
            site.cut = 1_500_000
            child.say(Want(source=0, shards=((0, 0),)))
            child.hear(Stalled)
            said = [frame for frame in child.heard if isinstance(frame, BlockReady)]
            assert said
            assert rows_of(said[-1]) == rows[: said[-1].rows]
            site.cut = 0
            block = child.hear(BlockReady, lambda block: block.whole)
            assert block.path == said[-1].path
            assert rows_of(block) == rows


def test_reader_of_a_hub_takes_no_memory_for_its_splits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    card = b"---\nconfigs:\n- {config_name: bn, data_files: bn/*}\n---\n"
    files = {"bn/0.txt": LINES, "en/0.txt": b"wrong", "README.md": card}
    listed = {"sha": "abc", "siblings": [{"rfilename": name, "size": len(data)} for name, data in files.items()]}
    served = {f"/datasets/ada/poems/resolve/abc/{name}": data for name, data in files.items()}
    with web_server({**served, "/api/datasets/ada/poems": json.dumps(listed).encode()}) as site:
        monkeypatch.setenv("HF_ENDPOINT", site.url)
        with reader(collaboration(tmp_path, "hf://datasets/ada/poems")) as child:
            assert text_of(child.shard(0)).count("word") > 1000
            if sys.platform == "linux":
                own = {Path(each.path).name for each in psutil.Process(child.process.pid).memory_maps()}
                assert not any(name.startswith("libarrow") for name in own)  # which datasets brings


def test_shards_of_an_index_are_checked(tmp_path: Path) -> None:
    shards = [packed(number) for number in range(3)]
    index = index_of(shards)
    wrong = bytearray(shards[1])
    wrong[len(wrong) // 2] ^= 1
    files = {f"/set/{index.shard(n).name}": data for n, data in enumerate([shards[0], bytes(wrong), shards[2]])}
    with web_server(files) as site, reader(collaboration(tmp_path, f"{site.url}/set", index=index)) as child:
        assert child.heard[0].shards == 3
        assert text_of(child.shard(0)).count("word") > 1000
        child.say(Want(source=0, shards=((1, 0),)))
        lost = child.hear(Unreadable)
        assert (lost.shard, lost.code, lost.arguments) == (1, DataCode.WRONG_BYTES, {"name": index.shard(1).name})
        site.cut = 1000
        rows = child.shard(2)
        assert rows
        assert list((tmp_path / "blocks" / "shards").glob("*.shard")) == []
        site.cut, site.files = 0, {f"/set/{index.shard(1).name}": shards[1]}
        assert child.shard(1)
        child.say(Want(source=0, shards=((0, 99_999),)))
        gone = child.hear(Unreadable)
        assert (gone.shard, gone.code) == (0, DataCode.MISSING)


def test_file_that_cannot_grow_is_told_and_goes_on(tmp_path: Path) -> None:
    with web_server({"/a.txt": LINES * 21}) as site:
        begin = collaboration(tmp_path, f"{site.url}/a.txt")
        with reader(begin, file_bytes=2_000_000) as child:
            child.say(Want(source=0, shards=((0, 0),)))
            stalled = child.hear(Stalled)
            assert stalled.code == DataCode.UNWRITABLE
            assert stalled.arguments["why"] == os.strerror(errno.EFBIG)
            psutil.Process(child.process.pid).rlimit(psutil.RLIMIT_FSIZE, (1 << 40, 1 << 40))
            child.hear(Flowing)
            assert child.hear(BlockReady, lambda block: block.whole).rows
