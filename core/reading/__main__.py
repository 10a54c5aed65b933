"""The reader's process: frames of `core.reading.frames` come in on fd 0 and go out on fd 1."""

import os
import queue
import threading
import traceback
from collections.abc import Callable, Iterator
from typing import Final

from core.base.problems import Problem, WorkerProblem
from core.reading.frames import BeginReading, ReadFailed, ToReader
from core.system.memory_bound import OWN
from core.workers.child_end import leave, step_back, take_pipe, watch_parent
from core.workers.frames import frame_decoder

MEMORY_BYTES_MAX: Final = 3 * 1024**3
"""Upper bound on this process, ten times what it takes usually (`core.system.memory_bound`).  Where the system refuses
what goes beyond, one shard is damaged; elsewhere this process ends, and begins anew."""
TOO_MUCH: Final = "a file unfolds to more memory than any text needs"


def main(*_: object) -> int:
    """Run the reader until its stdin closes or a problem ends it; returns the exit code."""
    source, say = take_pipe()
    inbox: queue.SimpleQueue[ToReader] = queue.SimpleQueue()
    watch_parent(source, frame_decoder(ToReader), inbox.put)
    try:
        begin = inbox.get()
        if not isinstance(begin, BeginReading):
            raise WorkerProblem("The reading process was not started properly.")  # noqa: TRY301 - answered below
        step_back()
        OWN.keep_within(MEMORY_BYTES_MAX)
        OWN.watch(lambda: _end(say, MemoryError(TOO_MUCH)))
        threading.excepthook = lambda failed: _end(say, failed.exc_value)
        os.environ["TOKENIZERS_PARALLELISM"] = "false"  # one core
        from core.reading.reader import Reader  # noqa: PLC0415 - the parent is watched before anything slow is imported

        Reader(begin, say).run(_frames(inbox))
    except Problem as problem:
        say(ReadFailed.of(problem))
    except Exception as error:  # noqa: BLE001 - whatever it is, the worker hears of it
        _end(say, error)
    return 1


def _end(say: Callable[[ReadFailed], None], error: BaseException | None) -> None:
    """Say what went wrong in this program, in whichever thread, and end: the worker begins anew."""
    traceback.print_exception(error)
    say(ReadFailed.of(WorkerProblem("Reading stopped: {error}", error, hint="The log says more.")))
    leave(1)


def _frames(inbox: "queue.SimpleQueue[ToReader]") -> Iterator[ToReader]:
    while True:
        yield inbox.get()


if __name__ == "__main__":
    leave(main())
