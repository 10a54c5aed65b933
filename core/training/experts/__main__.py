"""The expert worker process: hosts experts, and computes what the engine gives it.

It talks as the trainer's worker does (`core.training.__main__`): frames of `core.workers.expert_frames` come in on fd 0
and go out on fd 1, and the process ends when its stdin closes.  It is a process of its own since a trainer stands still
in a round, and a host must not.
"""

import queue
import time
import traceback
from collections.abc import Callable
from pathlib import Path

from core.base.problems import Problem, WorkerProblem
from core.workers.child_end import answering, leave, step_back, take_pipe, watch_parent
from core.workers.expert_frames import ExpertStart, FromExperts, ToExperts
from core.workers.frames import Failed, Ping, frame_decoder


def main(*_: object) -> int:
    """Run the worker until its stdin closes or a problem ends it; returns the exit code."""
    source, say = take_pipe()
    inbox: queue.SimpleQueue[ToExperts] = queue.SimpleQueue()
    take = answering(say, inbox.put)
    decoder = frame_decoder(ToExperts | Ping)
    watch_parent(source, decoder, take)
    try:
        host(inbox, say)
    except Problem as problem:
        say(Failed.of(problem))
    except Exception as error:  # noqa: BLE001 - whatever it is, the engine hears of it
        traceback.print_exc()
        say(Failed.of(WorkerProblem("Hosting stopped: {why}.", error, hint="The log says more.")))
    return 1


def host(inbox: "queue.SimpleQueue[ToExperts]", say: Callable[[FromExperts], None]) -> None:
    """Host experts for ever.

    Raises:
        Problem: the worker cannot go on.
    """
    import torch  # noqa: PLC0415 - the parent is watched before anything slow is imported

    from core.training.devices.devices import choose  # noqa: PLC0415
    from core.training.experts.bank import ExpertBank  # noqa: PLC0415
    from core.training.experts.runtime import ExpertRuntime  # noqa: PLC0415

    start = inbox.get()
    if not isinstance(start, ExpertStart):
        raise WorkerProblem("The process that hosts experts was not started properly.")
    step_back()
    torch.set_num_threads(start.threads)
    device = choose(start.device).devices[0]
    bank = ExpertBank(
        start.numbers, run=start.run, folder=Path(start.folder), device=device.name, memory_bytes=start.memory_bytes
    )
    runtime = ExpertRuntime(start, device=device, bank=bank, say=say, clock=time.monotonic)
    runtime.begin()
    runtime.run(inbox)


if __name__ == "__main__":
    leave(main())
