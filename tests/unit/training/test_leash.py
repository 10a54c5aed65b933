import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

from core.training.standstill import GIVEN_UP_LOOKS, SILENT_LOOKS, EngineHeard, EngineSilent, EngineWatch, Heard
from core.workers.child_end import answering, listen
from core.workers.frames import Go, Hold, Ping, Pong, Start, ToEngine, ToWorker, encode_frame, frame_decoder


class Left(Exception):
    pass


def heard(data: bytes) -> tuple[list[ToWorker], int]:
    frames: list[ToWorker] = []

    def leave(code: int) -> None:
        raise Left(code)

    with pytest.raises(Left) as left:
        listen(io.BytesIO(data), frame_decoder(ToWorker | Ping), frames.append, leave)
    return frames, left.value.args[0]


def test_it_leaves_when_the_pipe_ends() -> None:
    assert heard(b"") == ([], 0)
    assert heard(encode_frame(Go()) + encode_frame(Hold())) == ([Go(), Hold()], 0)


def test_whoever_listens_answers_a_ping_whatever_the_others_do() -> None:
    said: list[ToEngine] = []
    inbox: list[ToWorker] = []
    take = answering(said.append, inbox.append, lambda: None)
    for frame in (Go(), Ping(), Hold()):
        take(frame)
    assert (said, inbox) == ([Pong()], [Go(), Hold()])


@pytest.mark.parametrize("cut", [1, 3, 4, 6])
def test_it_leaves_when_the_pipe_ends_within_a_frame(cut: int) -> None:
    assert heard(encode_frame(Go()) + encode_frame(Hold())[:cut]) == ([Go()], 0)


@pytest.mark.parametrize("garbage", [b"\xff" * 8, b"\0\0\0\1\xc1", b"\0\0\0\2{}", b"\0\0\0\0"])
def test_it_leaves_with_an_error_at_garbage(garbage: bytes, capsys: pytest.CaptureFixture[str]) -> None:
    assert heard(garbage) == ([], 1)
    assert "unreadable" in capsys.readouterr().err


def test_a_ping_is_heard() -> None:
    assert heard(encode_frame(Ping())) == ([Ping()], 0)


def test_silence_is_noticed_once_and_ends_before_the_frame() -> None:
    inbox: list[Heard] = []
    watch = EngineWatch(inbox.append)
    take = answering(lambda _: None, inbox.append, watch.hear)
    for number in range(2 * SILENT_LOOKS):  # pings every second look
        watch.look()
        if number % 2:
            take(Ping())
    assert inbox == []
    for _ in range(SILENT_LOOKS + 1):
        watch.look()
    assert inbox == [EngineSilent(given_up=False)]
    for _ in range(2 * GIVEN_UP_LOOKS):
        watch.look()
    take(Go())
    take(Go())
    assert inbox[1:] == [EngineSilent(given_up=True), EngineHeard(), Go(), Go()]


def test_worker_watches_its_parent_before_torch_is_loaded() -> None:
    code = "import sys, core.training.__main__, core.training.experts.__main__; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.strip() == "False"


@pytest.mark.skipif(sys.platform == "win32", reason="has no file that can be waited at")
def test_worker_that_hangs_ends_with_its_engine(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "manifest")
    start = Start(
        manifest_path=str(tmp_path / "manifest"),
        blobs_dir=str(tmp_path),
        state_dir=str(tmp_path / "states"),
        arena_path=str(tmp_path / "arena"),
        seed=1,
    )
    frames = encode_frame(start) + encode_frame(Hold()) * 2000
    done = subprocess.run([sys.executable, "-m", "core.training"], input=frames, check=False, timeout=20)
    assert done.returncode == 0
