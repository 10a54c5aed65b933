"""The engine's side of the worker process, with small programs in its place."""

import asyncio
import sys
from pathlib import Path

import pytest

from core.api.score import Score
from core.api.sentence import Sentence
from core.workers import frames
from core.workers.worker import Worker
from tests.process.swarm import alive

pytestmark = pytest.mark.process

START = frames.Start(manifest_path="", blobs_dir="", state_dir="", arena_path="", seed=0)
PRELUDE = """
import sys, time
from core.api.score import Score
from core.api.sentence import Sentence
from core.workers import frames as f
out = sys.stdout.buffer
"""


def run(program: str, folder: Path, *, kill: bool = False) -> tuple[int, list[frames.ToEngine], Worker]:
    heard: list[frames.ToEngine] = []

    async def go() -> tuple[int, Worker]:
        worker = Worker(
            log=folder / "log", on_frame=heard.append, command=[sys.executable, "-c", PRELUDE + program], ping_s=0.1
        )
        running = asyncio.create_task(worker.run(START))
        while kill and worker.pid is None:  # noqa: ASYNC110 - the process has no event before it is there
            await asyncio.sleep(0)
        pid = worker.pid
        if kill:
            worker.kill()
        code = await running
        assert pid is None or not alive(pid)
        assert worker.pid is None
        return code, worker

    code, worker = asyncio.run(go())
    return code, heard, worker


def test_it_hears_what_the_worker_says(tmp_path: Path) -> None:
    program = "out.write(f.encode_frame(f.Evaluated(epoch=1, score=Score(2.0), baselines={}))); out.flush()"
    code, heard, _ = run(program, tmp_path)
    assert code in {0, -9}
    assert heard == [frames.Evaluated(epoch=1, score=Score(2.0), baselines={})]


def test_a_worker_gets_its_start(tmp_path: Path) -> None:
    program = """
data = sys.stdin.buffer.read(4)
start = f.frame_decoder(f.ToWorker).decode(sys.stdin.buffer.read(f.frame_length(data)))
out.write(f.encode_frame(f.Failed(code="seed", message=Sentence(str(start.seed)), hint=Sentence("")))); out.flush()
"""
    _, heard, worker = run(program, tmp_path)
    assert heard == [frames.Failed(code="seed", message=Sentence("0"), hint=Sentence(""))]
    assert worker.failure == heard[0]


def test_garbage_ends_it_with_a_reason(tmp_path: Path) -> None:
    _, heard, worker = run("out.write(b'\\xff' * 64); out.flush(); time.sleep(60)", tmp_path)
    assert not heard
    assert worker.failure is not None
    assert "unreadable" in str(worker.failure.message)


def test_worker_crash_gives_exit_code_and_last_words_in_log(tmp_path: Path) -> None:
    code, _, _ = run("sys.stderr.write('oh no'); sys.stderr.flush(); out.close(); sys.exit(7)", tmp_path)
    assert code in {7, -9}
    assert "oh no" in (tmp_path / "log").read_text()


def test_killing_needs_no_consent(tmp_path: Path) -> None:
    stubborn = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    code, _, _ = run(stubborn, tmp_path, kill=True)
    assert code != 0


READY = """
def hear():
    return f.frame_decoder(f.ToWorker | f.Ping).decode(sys.stdin.buffer.read(f.frame_length(sys.stdin.buffer.read(4))))
def say(frame):
    out.write(f.encode_frame(frame)); out.flush()
hear()
say(f.WorkerReady(epoch=0, lineage=b"", digest=b"", checkpoint="", numel=1, parameters=1))
"""


def test_a_process_that_stands_still_is_ended(tmp_path: Path) -> None:
    frozen = READY + "import os, signal; os.kill(os.getpid(), signal.SIGSTOP)"
    code, heard, worker = run(frozen, tmp_path)
    assert code == -9
    assert len(heard) == 1
    assert worker.failure is not None
    assert str(worker.failure.message) == "The training process does not answer."


def test_a_process_that_answers_lives_on_however_long_it_works(tmp_path: Path) -> None:
    answers = READY + "for _ in range(8):\n    assert hear() == f.Ping(); say(f.Pong())\nout.close(); sys.exit(7)"
    code, heard, worker = run(answers, tmp_path)
    assert code in {7, -9}
    assert len(heard) == 1  # no Pong among them
    assert worker.failure is None


def test_a_process_that_hangs_at_its_start_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("core.workers.worker.START_MAX", 20)
    code, heard, worker = run("time.sleep(15)  # in a driver, for example", tmp_path)
    assert (code, heard) == (-9, [])
    assert worker.failure is not None
    assert str(worker.failure.message) == "The training process does not answer."
