"""A child's end of a pipe of frames (`core.workers.frames`): fd 0 brings them, fd 1 takes them.

The pipe watches the parent: when stdin closes, the process ends at once, whatever it is doing, so nothing runs on after
a crash.
"""

import contextlib
import io
import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any, BinaryIO, Final, NoReturn, TypeVar

import msgspec
import psutil

from core.base.problems import WireProblem
from core.workers.frames import LENGTH_BYTES, Ping, Pong, frame_length, framed

T = TypeVar("T")

NICENESS: Final = 10


class _Log(io.FileIO):
    """Standard error, whose file may lie on a full disk: what it takes no more of is lost, and ends no process."""

    def write(self, data: Any, /) -> int:
        with contextlib.suppress(OSError):
            super().write(data)
        return len(data)


def leave(code: int) -> NoReturn:
    """End the process, without waiting for the thread that listens."""
    sys.stderr.flush()
    os._exit(code)


def watch_parent(source: BinaryIO, decoder: msgspec.msgpack.Decoder[T], put: Callable[[T], None]) -> None:
    """Begin to `listen`, in a thread of its own, until the process ends with the pipe.

    Args:
        source: The parent's end writes frames into it.
        decoder: Decoder of the frames.
        put: Takes each frame; it must not wait, or nobody sees the pipe end.
    """
    threading.Thread(target=listen, args=(source, decoder, put, os._exit), name="parent watch", daemon=True).start()


def listen(
    source: BinaryIO, decoder: msgspec.msgpack.Decoder[T], put: Callable[[T], None], leave: Callable[[int], None]
) -> None:
    """Read frames until the pipe ends, then leave with code 0; leave with code 1 when something unreadable comes.

    Args:
        source: The parent's end writes frames into it.
        decoder: Decoder of the frames.
        put: Takes each frame.
        leave: Ends the process.
    """
    try:
        while header := source.read(LENGTH_BYTES):
            length = frame_length(_whole(header, LENGTH_BYTES))
            put(decoder.decode(_whole(source.read(length), length)))
    except (WireProblem, ValueError) as error:
        sys.stderr.write(f"The parent said something unreadable: {error}\n")
        leave(1)
    except OSError:
        leave(0)
    else:
        leave(0)


def answering(
    say: Callable[[Pong], None], put: Callable[[T], None], heard: Callable[[], object] = bool
) -> Callable[[T | Ping], None]:
    """Answers a Ping in the thread that listens, so that only a process that stands still owes one; puts the rest.

    Args:
        say: Takes the answer.
        put: Takes every other frame.
        heard: Told of each frame before that.
    """

    def take(frame: T | Ping) -> None:
        heard()
        if isinstance(frame, Ping):
            say(Pong())
        else:
            put(frame)

    return take


def take_pipe() -> tuple[BinaryIO, Callable[[msgspec.Struct], None]]:
    """Keep fd 0 and a copy of fd 1 for frames; whatever else is printed goes to stderr, and Ctrl-C to the parent.

    Returns:
        What frames are read from, and what sends them, from any thread.
    """
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    out = os.dup(1)
    os.dup2(2, 1)
    log = _Log(2, "wb", closefd=False)
    sys.stdout = sys.stderr = io.TextIOWrapper(
        log, "utf-8", "backslashreplace", line_buffering=True, write_through=True
    )
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - only there

        msvcrt.setmode(0, os.O_BINARY)
        msvcrt.setmode(out, os.O_BINARY)
    return os.fdopen(os.dup(0), "rb"), _speaker(os.fdopen(out, "wb", buffering=0))


def _speaker(sink: BinaryIO) -> Callable[[msgspec.Struct], None]:
    """Sends frames; ends the process when nobody listens any more."""
    whole = threading.Lock()

    def say(frame: msgspec.Struct) -> None:
        rest = memoryview(framed(frame))
        try:
            with whole:
                while rest:
                    rest = rest[sink.write(rest) :]
        except OSError:
            os._exit(0)

    return say


def _whole(data: bytes, size: int) -> bytes:
    """`data`, if it has `size` bytes.

    Raises:
        OSError: the pipe ended before.
    """
    if len(data) < size:
        raise OSError("the pipe ended within a frame")
    return data


def step_back() -> None:
    """Let everything else on this computer go first, from now on.  On Linux each thread has a priority of its own."""
    process = psutil.Process()
    with contextlib.suppress(psutil.Error, OSError):
        if sys.platform == "win32":
            process.nice(psutil.BELOW_NORMAL_PRIORITY_CLASS)
            return
        nice = max(process.nice(), NICENESS)
        for number in [thread.id for thread in process.threads()] if sys.platform == "linux" else [process.pid]:
            with contextlib.suppress(OSError):  # a thread may have ended
                os.setpriority(os.PRIO_PROCESS, number, nice)
