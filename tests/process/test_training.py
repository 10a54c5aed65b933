"""The real worker process, spoken to through its real pipe."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import psutil
import pytest

from core.api.data_state import DataCode
from core.base.content import digest
from core.base.manifest import AveragingNumbers, Manifest, sign_manifest
from core.base.signing import KeyPair
from core.workers import frames
from core.workers.arena import Arena
from core.workers.child_end import NICENESS
from core.workers.data_frames import DataAccess, DataFlow
from core.workers.worker import PING_S
from tests.small_task import small_data, small_task, text_folder

pytestmark = pytest.mark.process
LINEAGE = digest(b"one")


class Pipe:
    def __init__(self, folder: Path, *options: str) -> None:
        self.log = folder / "worker.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, *options, "-m", "core.training"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        self._decoder = frames.frame_decoder(frames.ToEngine)
        self._writing = threading.Lock()
        threading.Thread(target=self._ping, name="pings", daemon=True).start()

    def say(self, *orders: frames.ToWorker | frames.Ping) -> None:
        with self._writing:
            for order in orders:
                self.process.stdin.write(frames.encode_frame(order))
            self.process.stdin.flush()

    def _ping(self) -> None:
        """Say something each second, as an engine does: a worker rests while its engine is silent."""
        with contextlib.suppress(OSError, ValueError):
            while self.process.poll() is None:
                self.say(frames.Ping())
                time.sleep(PING_S)

    def hear(self, kind: type) -> frames.ToEngine:
        while True:
            header = self.process.stdout.read(frames.LENGTH_BYTES)
            assert len(header) == frames.LENGTH_BYTES, self.log.read_text()
            frame = self._decoder.decode(self.process.stdout.read(frames.frame_length(header)))
            if isinstance(frame, kind):
                return frame
            assert not isinstance(frame, frames.Failed), frame

    def close(self) -> int:
        with self._writing:
            self.process.stdin.close()
        code = self.process.wait(10)
        self.process.stdout.close()
        return code


def start(
    folder: Path, *, delayed: bool = False, task: str = "gpt", numbers: dict[str, int] | None = None, **changes: object
) -> frames.Start:
    prepared = small_task(folder / "prepared", task=task)
    blobs = {}
    for name, path in prepared.blobs.items():
        blobs[name] = digest(path.read_bytes()).hex()
        (folder / blobs[name]).write_bytes(path.read_bytes())
    key = KeyPair(b"k" * 32)
    manifest = Manifest(
        name="t",
        organiser="t",
        task=task,
        numbers={**prepared.numbers, **(numbers or {})},
        data=small_data(prepared),
        blobs=blobs,
        averaging=AveragingNumbers(delayed=delayed),
        authority=key.peer_id.hex(),
    )
    (folder / "manifest.json").write_bytes(sign_manifest(manifest, key))
    fields = {
        "manifest_path": str(folder / "manifest.json"),
        "blobs_dir": str(folder),
        "state_dir": str(folder / "states"),
        "arena_path": str(folder / "arena"),
        "seed": 1,
        "data": DataAccess(blocks_dir=str(folder / "blocks"), disk_bytes=10**9, folder=str(folder)),
    }
    return frames.Start(**(fields | changes))


def test_worker_takes_a_round_and_ends_with_its_parent(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path)
    pipe.say(start(tmp_path))
    ready = pipe.hear(frames.WorkerReady)
    arena = Arena(tmp_path / "arena", ready.numel)
    assert pipe.hear(frames.Progress).samples > 0
    if sys.platform == "linux":
        threads = psutil.Process(pipe.process.pid).threads()
        assert min(os.getpriority(os.PRIO_PROCESS, thread.id) for thread in threads) >= NICENESS, "others go first"
    if sys.platform != "win32":
        os.kill(pipe.process.pid, signal.SIGINT)  # Ctrl-C reaches the whole group; the engine watches over it
    pipe.say(frames.Collect(round=b"r"))
    assert pipe.hear(frames.Collected).samples > 0
    arena.slot("mean")[:] = arena.slot("contribution")
    pipe.say(frames.Absorb(round=b"r", epoch=1, lineage=LINEAGE), frames.Evaluate())
    stepped = pipe.hear(frames.Stepped)
    assert Path(stepped.checkpoint).is_file()
    assert pipe.hear(frames.Evaluated).epoch == 1
    assert pipe.hear(frames.Progress).epoch == 1  # it trains again, and ends in the middle of it:
    assert pipe.close() == 0
    arena.close()


@pytest.mark.parametrize("task", ["albert", "gpt"])
def test_worker_loads_no_compiler_that_it_does_not_need(tmp_path: Path, task: str) -> None:
    """Torch's compiler takes as long to load as all else of torch: a crashed worker was back half as soon."""
    pipe = Pipe(tmp_path, "-X", "importtime")
    pipe.say(start(tmp_path, task=task))
    ready = pipe.hear(frames.WorkerReady)
    assert pipe.hear(frames.Progress).samples > 0
    pipe.say(frames.Collect(round=b"r"))
    assert pipe.hear(frames.Collected).samples > 0
    arena = Arena(tmp_path / "arena", ready.numel)
    arena.slot("mean")[:] = arena.slot("contribution")
    pipe.say(frames.Absorb(round=b"r", epoch=1, lineage=LINEAGE))
    pipe.hear(frames.Stepped)
    pipe.close()
    arena.close()
    loaded = {line.rpartition("|")[2].strip() for line in pipe.log.read_text().splitlines()}
    assert "torch" in loaded
    assert "torch._dynamo" not in loaded


def test_it_computes_on_while_its_contribution_is_out(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path)
    pipe.say(start(tmp_path, delayed=True))
    arena = Arena(tmp_path / "arena", pipe.hear(frames.WorkerReady).numel)
    assert pipe.hear(frames.Progress).samples > 0
    pipe.say(frames.Collect(round=b"r"))
    collected = pipe.hear(frames.Collected)
    while not (progress := pipe.hear(frames.Progress)).ahead:
        pass
    assert (progress.epoch, progress.samples - progress.ahead) == (0, collected.samples)
    arena.slot("mean")[:] = arena.slot("contribution")
    pipe.say(frames.Absorb(round=b"r", epoch=1, lineage=LINEAGE))
    stepped = pipe.hear(frames.Stepped)
    assert stepped.samples >= progress.ahead
    assert pipe.hear(frames.Progress).samples > stepped.samples
    assert pipe.close() == 0
    arena.close()


def test_a_folder_that_went_away_is_told_and_waited_for(tmp_path: Path) -> None:
    first = start(tmp_path)
    for path in (tmp_path / "prepared" / "text").iterdir():
        path.unlink()
    pipe = Pipe(tmp_path)
    pipe.say(first)
    ready = pipe.hear(frames.WorkerReady)
    while not (flow := pipe.hear(DataFlow)).code:
        pass
    assert flow.code == DataCode.MISSING
    pipe.say(frames.Collect(round=b"r"))
    assert pipe.hear(frames.Collected).samples == 0, "it takes part with what it has"
    pipe.say(frames.Release(round=b"r"), frames.Evaluate())
    assert pipe.hear(frames.Evaluated).epoch == ready.epoch
    text_folder(tmp_path / "prepared" / "text")
    assert pipe.hear(frames.Progress).samples > 0
    assert pipe.close() == 0


def test_text_that_nobody_named_is_one_clear_sentence(tmp_path: Path) -> None:
    pipe = Pipe(tmp_path)
    pipe.say(start(tmp_path, data=DataAccess(folder=str(tmp_path / "other"))))
    failed = pipe.hear(frames.Failed)
    assert failed.code == "bad_input"
    assert "not a folder that you have named" in str(failed.message)
    assert pipe.process.wait(10) == 1
    pipe.close()


def test_invalid_manifest_gives_one_clear_sentence(tmp_path: Path) -> None:
    (tmp_path / "garbage").write_bytes(b"garbage")
    pipe = Pipe(tmp_path)
    pipe.say(start(tmp_path, manifest_path=str(tmp_path / "garbage")))
    assert pipe.hear(frames.Failed).code == "bad_input"
    pipe.close()


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere nothing keeps the worker from taking all memory")
@pytest.mark.parametrize(
    ("allowed", "code", "said"),
    [
        (None, "user", "Training this model takes at least 309"),  # it is tried again, ever more seldom
        (10**9, "bad_input", "Training this model takes more than 309"),
    ],
)
def test_model_beyond_the_memory_is_not_begun(tmp_path: Path, allowed: int | None, code: str, said: str) -> None:
    pipe = Pipe(tmp_path)
    limit = 4 * 1024**3
    psutil.Process(pipe.process.pid).rlimit(psutil.RLIMIT_DATA, (limit, limit))
    most = {"heads": 32, "head_width": 128, "layers": 48}
    pipe.say(start(tmp_path, numbers=most, memory_bytes=allowed))
    failed = pipe.hear(frames.Failed)
    pipe.close()
    assert (failed.code, str(failed.message)[: len(said)]) == (code, said)
