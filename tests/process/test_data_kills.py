"""The worker's data with a real reader: both are killed, and every pass is exact."""

import contextlib
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random
from types import SimpleNamespace

import msgspec
import numpy as np
import psutil
import pytest

from core.api.data_state import DataCode
from core.base.manifest import read_manifest
from core.base.signing import Ed25519Verifier
from core.reading.frames import BeginReading
from core.text.order.chance import pass_key_of, sample_seeds
from core.training.samples.samples import Drawn
from core.training.samples.streamed import StreamedSamples
from core.workers.data_frames import DataFlow
from tests.reading import collaboration, reader

pytestmark = pytest.mark.process
PATIENCE_S = 120.0
PASSES = 2


def text(folder: Path, *, files: int = 5, size: int = 60_000) -> Path:
    folder.mkdir(exist_ok=True)
    for number in range(files):
        chance = Random(number)
        lines = (" ".join(f"word{chance.randrange(1000)}" for _ in range(60)) for _ in range(size // 480))
        (folder / f"{number}.txt").write_text("\n\n".join(lines))
    return folder


def begun(folder: Path) -> BeginReading:
    (folder / "c").mkdir()
    return collaboration(folder / "c", str(text(folder / "text")))


def rows_of_all(begin: BeginReading) -> dict[tuple[int, int], list[int]]:
    """Every row of the source by (shard, row), from a reader of its own."""
    other = msgspec.structs.replace(begin, blocks_dir=begin.blocks_dir + "-other")
    with reader(other) as found:
        shards = next(frame.shards for frame in found.heard if hasattr(frame, "shards"))
        return {(shard, at): row for shard in range(shards) for at, row in enumerate(found.shard(shard))}


def kill(process: psutil.Process) -> None:
    with contextlib.suppress(psutil.NoSuchProcess):  # it has ended meanwhile
        process.kill()


def test_passes_are_exact_through_kills_of_the_real_processes(tmp_path: Path) -> None:
    begin, random = begun(tmp_path), Random(1)
    (tmp_path / "begin").write_bytes(msgspec.msgpack.encode(begin))
    whole, kills, deadline = rows_of_all(begin), 0, time.monotonic() + 3 * PATIENCE_S
    while time.monotonic() < deadline:
        command = [sys.executable, "-m", "tests.process.streaming_child", str(tmp_path), str(kills), str(PASSES)]
        child = psutil.Popen(command)
        try:
            assert child.wait(random.uniform(2.0, 5.0) if kills < 6 else PATIENCE_S) == 0
            break
        except psutil.TimeoutExpired:
            readers = child.children()
            if kills % 2:  # the worker starts another reader
                for each in readers:
                    kill(each)
                with contextlib.suppress(psutil.TimeoutExpired):
                    child.wait(random.uniform(1.0, 3.0))
                readers = child.children() if child.is_running() else []
            kill(child)
            child.wait()
            kills += 1
            psutil.wait_procs(readers, timeout=PATIENCE_S)
            assert not any(each.is_running() for each in readers), "a reader ends with its worker"
    manifest = read_manifest(Path(begin.manifest_path).read_bytes(), Ed25519Verifier())
    last = msgspec.msgpack.decode((tmp_path / "mark").read_bytes())[0]
    counts: Counter[tuple[int, int, int, int]] = Counter()
    for number in range(1, last + 1):
        for name, row, seed in msgspec.msgpack.decode((tmp_path / f"account-{number}").read_bytes()):
            source, which, shard, at = name
            counts[source, which, shard, at] += 1
            assert row == whole[shard, at]
            key = pass_key_of(manifest.id, source, which)
            assert [seed] == sample_seeds(key, np.array([shard]), np.array([at]))
    assert max(counts.values()) == 1
    for which in range(PASSES - 1):
        assert {name[2:] for name in counts if name[1] == which} == set(whole)


class Heard:
    """Samples with what they tell."""

    def __init__(self, begin: BeginReading, *, command: list[str] | None = None) -> None:
        self.news: list[object] = []
        self.changed = threading.Event()
        manifest = read_manifest(Path(begin.manifest_path).read_bytes(), Ed25519Verifier())
        self.samples = StreamedSamples(manifest, 1, begin=begin, tell=self._tell, command=command)
        self.samples.begin(SimpleNamespace(batch=lambda rows, _: rows), None)  # type: ignore[arg-type]
        self.batches: Iterator[Drawn[np.ndarray] | None] = self.samples.of(lambda: 16)

    def next(self) -> np.ndarray:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if (drawn := next(self.batches)) is not None:
                self.samples.use(drawn.rows)
                return drawn.batch
        raise AssertionError("no rows came")

    def pid_after(self, former: int | None) -> int:
        """The reader's process, once another than `former` runs and rows come."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            self.next()
            if (pid := self.samples.reader.pid) not in {None, former}:
                return pid
        raise AssertionError("no other reader was started")

    def _tell(self, news: object) -> None:
        self.news.append(news)


def test_reader_that_dies_is_started_again(tmp_path: Path) -> None:
    heard = Heard(begun(tmp_path))
    heard.next()
    pid = heard.pid_after(None)
    for _ in range(2):
        psutil.Process(pid).kill()
        pid = heard.pid_after(pid)
    heard.samples.reader.close()


def test_reader_that_always_dies_is_a_problem(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.reading.client.RESTART_S", 0.01)
    heard = Heard(begun(tmp_path), command=[sys.executable, "-c", "raise SystemExit(3)"])
    with pytest.raises(Exception, match="ends again and again"):
        heard.next()


def test_resting_reader_computes_nothing_and_ends(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.reading.client.ENDS_S", PATIENCE_S)
    heard = Heard(begun(tmp_path))
    heard.next()
    heard.samples.rest()
    pid = heard.samples.reader.pid
    process = psutil.Process(pid)
    time.sleep(2.0)  # it may end what it has begun
    before = sum(process.cpu_times()[:2])
    time.sleep(3.0)
    assert sum(process.cpu_times()[:2]) - before < 0.01 * 3.0 + 0.02  # a tick of the kernel's clock more
    heard.samples.go_on()
    heard.next()
    monkeypatch.setattr("core.reading.client.ENDS_S", 0.1)
    heard.samples.rest()
    process.wait(PATIENCE_S)
    heard.samples.go_on()
    heard.pid_after(pid)
    heard.samples.reader.close()


def test_vanished_text_is_told_and_rows_go_on(tmp_path: Path) -> None:
    begin = begun(tmp_path)
    for path in (tmp_path / "text").iterdir():
        path.unlink()
    heard = Heard(begin)
    assert next(heard.batches) is None
    deadline = time.monotonic() + PATIENCE_S
    while not any(isinstance(news, DataFlow) and news.code for news in heard.news):
        assert time.monotonic() < deadline
        next(heard.batches)
    (flow,) = [news for news in heard.news if isinstance(news, DataFlow) and news.code][:1]
    assert flow.code == DataCode.MISSING
    assert flow.waiting
    text(tmp_path / "text")
    heard.next()
    assert not heard.news[-1].code  # type: ignore[attr-defined]
    heard.samples.reader.close()


def test_text_without_a_row_is_a_sentence(tmp_path: Path) -> None:
    begin = begun(tmp_path)
    for path in (tmp_path / "text").iterdir():
        path.write_text("ab\n")
    heard = Heard(begin)
    with pytest.raises(Exception, match="too little text"):
        heard.next()
    heard.samples.reader.close()


def test_last_words_of_a_reader_are_a_problem(tmp_path: Path) -> None:
    begin = msgspec.structs.replace(begun(tmp_path), folder=str(tmp_path / "other"))
    heard = Heard(begin)
    with pytest.raises(Exception, match="not a folder that you have named"):
        heard.next()
