"""The worker process.

Frames of `core.workers.frames` come in on fd 0 and go out on fd 1.  The pipe watches the parent: when stdin closes, the
process ends at once, whatever it is doing, so no orphan trains on after a crash.
"""

import contextlib
import os
import queue
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, NoReturn

import psutil

from core.base.problems import BadInput, Problem, WireProblem, WorkerProblem
from core.workers.frames import (
    LENGTH_BYTES,
    Computes,
    Failed,
    Ping,
    Pong,
    Start,
    ToEngine,
    ToWorker,
    encode_frame,
    frame_decoder,
    frame_length,
)

if TYPE_CHECKING:
    from core.training.conversation import Conversation

INBOX_MAX = 1000
NICENESS = 10


def main() -> int:
    """Run the worker until its stdin closes or a problem ends it; returns the exit code."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    source, sink = _take_pipe()
    say = _speaker(sink)
    inbox: queue.Queue[ToWorker] = queue.Queue(INBOX_MAX)
    threading.Thread(
        target=listen, args=(source, answering(say, inbox.put), os._exit), name="parent watch", daemon=True
    ).start()
    try:
        start = inbox.get()
        if not isinstance(start, Start):
            raise WorkerProblem("The training process was not started properly.")  # noqa: TRY301 - answered below
        conversation = open_conversation(start, say, time.monotonic)
        conversation.begin()
        conversation.run(inbox)
    except Problem as problem:
        say(Failed(code=problem.code, message=problem.message, hint=problem.hint))
    except Exception as error:  # noqa: BLE001 - whatever it is, the engine hears of it
        traceback.print_exc()
        say(Failed(code=WorkerProblem.code, message=f"Training stopped: {error}", hint="The log says more."))
    return 1


def run(*_: object) -> NoReturn:
    """The same, as a program; leaves without waiting for the thread that listens."""
    code = main()
    sys.stderr.flush()
    os._exit(code)


def listen(source: BinaryIO, put: Callable[[ToWorker | Ping], None], leave: Callable[[int], None]) -> None:
    """Read frames until the pipe ends, then leave with code 0; leave with code 1 when something unreadable comes.

    Args:
        source: The engine's end writes frames into it.
        put: Takes each frame.
        leave: Ends the process.
    """
    decoder = frame_decoder(ToWorker | Ping)
    try:
        while header := source.read(LENGTH_BYTES):
            length = frame_length(_whole(header, LENGTH_BYTES))
            put(decoder.decode(_whole(source.read(length), length)))
    except (WireProblem, ValueError) as error:
        sys.stderr.write(f"The engine said something unreadable: {error}\n")
        leave(1)
    except OSError:
        leave(0)
    else:
        leave(0)


def answering(say: Callable[[ToEngine], None], put: Callable[[ToWorker], None]) -> Callable[[ToWorker | Ping], None]:
    """Answers a Ping in the thread that listens, so that only a process that stands still owes one; puts the rest."""

    def take(frame: ToWorker | Ping) -> None:
        if isinstance(frame, Ping):
            say(Pong())
        else:
            put(frame)

    return take


def open_conversation(start: Start, say: Callable[[ToEngine], None], clock: Callable[[], float]) -> "Conversation":
    """Import what it takes, then step back, build the model, load the newest state, make the arena.

    Raises:
        BadInput: manifest, blobs, text or device cannot be used.
        NotTrusted: the manifest's signature is wrong.
        NoSpace: the disk is full.
    """
    from core.system.offline import offline  # noqa: PLC0415 - the parent is watched before anything slow is imported

    states = Path(start.state_dir)
    offline(states.parent / "datasets")

    import torch  # noqa: PLC0415

    from core.base.manifest import read_manifest  # noqa: PLC0415
    from core.base.signing import Ed25519Verifier  # noqa: PLC0415
    from core.tasks import task_of  # noqa: PLC0415
    from core.tasks.task import Blobs  # noqa: PLC0415
    from core.training.backprop import keep_compiled  # noqa: PLC0415
    from core.training.conversation import Conversation  # noqa: PLC0415
    from core.training.devices import choose, titles_of  # noqa: PLC0415
    from core.training.memory_limit import keep_within  # noqa: PLC0415
    from core.training.metrics import sinks_of  # noqa: PLC0415
    from core.training.precision import precision_on  # noqa: PLC0415
    from core.training.round import Learner  # noqa: PLC0415
    from core.workers.arena import Arena  # noqa: PLC0415

    manifest = read_manifest(_content(Path(start.manifest_path)), Ed25519Verifier())
    task = task_of(manifest, Blobs(Path(start.blobs_dir), manifest.blobs))
    sinks = sinks_of(start.metrics, manifest)
    _step_back()
    torch.set_num_threads(max(1, start.threads))
    choice = choose(start.device)
    names = choice.names
    notes = [choice.note, *(precision_on(name, manifest.precision_name).note for name in names)]
    if start.compile and len(names) > 1:
        notes.append("Layers are compiled only where a single device trains.")
    say(Computes(device=",".join(names), title=titles_of(names), note=" ".join(filter(None, notes))))
    learner = Learner(task=task, manifest=manifest, states=states, seed=start.seed, devices=names, clock=clock)
    if start.memory_bytes is not None:
        keep_within(learner, start.memory_bytes)
    if start.compile and len(names) == 1:
        keep_compiled(states.parent / "compiled")
        learner.first.compiles = True
    arena = Arena.create(Path(start.arena_path), learner.numel)
    return Conversation(start, learner=learner, arena=arena, say=say, clock=clock, sinks=sinks)


def _take_pipe() -> tuple[BinaryIO, BinaryIO]:
    """Keep fd 0 and a copy of fd 1 for frames; whatever else is printed goes to stderr."""
    out = os.dup(1)
    os.dup2(2, 1)
    if sys.platform == "win32":
        import msvcrt  # noqa: PLC0415 - only there

        msvcrt.setmode(0, os.O_BINARY)
        msvcrt.setmode(out, os.O_BINARY)
    return os.fdopen(os.dup(0), "rb"), os.fdopen(out, "wb", buffering=0)


def _speaker(sink: BinaryIO) -> Callable[[ToEngine], None]:
    """Sends frames, from any thread; ends the process when nobody listens any more."""
    whole = threading.Lock()

    def say(frame: ToEngine) -> None:
        rest = memoryview(encode_frame(frame))
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


def _step_back() -> None:
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


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise BadInput(
            f"The manifest {path} cannot be read: {error.strerror or error}.", hint="Join the collaboration again."
        ) from error


if __name__ == "__main__":
    run()
