"""The worker process.

Frames of `core.workers.frames` come in on fd 0 and go out on fd 1.  The pipe watches the parent: when stdin closes, the
process ends at once, whatever it is doing, so no orphan trains on after a crash.  Nor does it train on while the engine
is silent (core.training.standstill).
"""

import queue
import threading
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import psutil

from core.api.numbers import volume
from core.api.settings import CPU
from core.base.problems import BadInput, Problem, Sentence, UserProblem, WorkerProblem
from core.training.standstill import EngineWatch, Heard
from core.workers.arena import FLOAT_BYTES, VECTORS
from core.workers.child_end import answering, leave, step_back, take_pipe, watch_parent
from core.workers.frames import Computes, Failed, Ping, Start, ToEngine, ToWorker, frame_decoder

if TYPE_CHECKING:
    from core.base.manifest import Manifest
    from core.training.conversation import Conversation
    from core.training.learner import Learner

VECTORS_BESIDE_A_CARD: Final = 3
"""Those that the computer's own memory holds where a graphics card has the rest: the parameters, which are made there,
and two slots."""


def keep_within(learner: "Learner", limit_bytes: int) -> None:
    """Have a worker take no more than this of the computer's memory, as far as the number of samples decides it.

    A graphics card's own memory is another matter.

    Args:
        learner: Its model and optimiser are made; nothing was computed yet.
        limit_bytes: For the whole process.

    Raises:
        BadInput: it takes more already.
    """
    process = psutil.Process()
    used = process.memory_info().rss
    if used >= limit_bytes:
        raise _beyond(used, limit_bytes)
    sample_bytes = max(learner.task.sample_bytes, 1)
    for replica in learner.replicas.held.each:
        if replica.device == CPU:
            replica.micro_batch.keep_within(lambda: max(0.0, (limit_bytes - process.memory_info().rss) / sample_bytes))


def check_room(manifest: "Manifest", device: str, limit_bytes: int | None) -> None:
    """Refuse a model that does not fit this computer before anything of it is made: its sizes are a stranger's.

    What the worst organiser gains: a worker that starts, says so, and ends, ever more seldom.

    Args:
        manifest: Names the model.
        device: The first that computes.
        limit_bytes: What the person allows; None: what is free.

    Raises:
        BadInput: it takes more than the person allows.
        UserProblem: it takes more than is free now.
    """
    from core.tasks import module_of  # noqa: PLC0415 - the parent is watched before anything slow is imported

    vectors = VECTORS if device == CPU else VECTORS_BESIDE_A_CARD
    needed = vectors * FLOAT_BYTES * module_of(manifest.task).costs(manifest.numbers, manifest.mixture).parameters
    if limit_bytes is not None and needed > limit_bytes:
        raise _beyond(needed, limit_bytes)
    free = psutil.virtual_memory().available
    if needed > free:
        message = "Training this model takes at least {needed} of memory, and {free} are free."
        raise UserProblem(message, volume(needed), volume(free), hint="End programs that you do not need.")


def _beyond(needed: int, limit_bytes: int) -> BadInput:
    message = "Training this model takes more than {used} of memory, and you allow {limit_bytes}."
    hint = "Allow more, or no limit: potluck settings memory none"
    return BadInput(message, volume(needed), volume(limit_bytes), hint=hint)


def main(*_: object) -> int:
    """Run the worker until its stdin closes or a problem ends it; returns the exit code."""
    source, say = take_pipe()
    inbox: queue.SimpleQueue[Heard] = queue.SimpleQueue()
    decoder, watch = frame_decoder(ToWorker | Ping), EngineWatch(inbox.put)
    take = answering(say, inbox.put, watch.hear)
    watch_parent(source, decoder, take)
    threading.Thread(target=watch.run, name="engine watch", daemon=True).start()
    try:
        start = inbox.get()
        if not isinstance(start, Start):
            raise WorkerProblem("The training process was not started properly.")  # noqa: TRY301 - answered below
        conversation = open_conversation(start, say, time.monotonic)
        conversation.begin()
        while True:  # the process ends when its stdin closes
            conversation.turn(inbox)
    except Problem as problem:
        say(Failed.of(problem))
    except Exception as error:  # noqa: BLE001 - whatever it is, the engine hears of it
        from core.training.devices.micro_batch import lacked_memory  # noqa: PLC0415 - has torch, which takes seconds

        traceback.print_exc()
        why = Sentence("memory ran out") if lacked_memory(error) else error
        say(Failed.of(WorkerProblem("Training stopped: {why}.", why, hint="The log says more.")))
    return 1


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

    from core.base.manifest import read_manifest  # noqa: PLC0415
    from core.base.signing import Ed25519Verifier  # noqa: PLC0415
    from core.training.samples.streamed import StreamedSamples, reading_of  # noqa: PLC0415

    manifest = read_manifest(_content(Path(start.manifest_path)), Ed25519Verifier())
    samples = StreamedSamples(manifest, start.seed, begin=reading_of(start), tell=say)  # reads while torch is loaded

    import torch  # noqa: PLC0415

    from core.tasks import task_of  # noqa: PLC0415
    from core.tasks.task import Blobs  # noqa: PLC0415
    from core.training.conversation import Conversation  # noqa: PLC0415
    from core.training.devices.backprop import keep_compiled  # noqa: PLC0415
    from core.training.devices.devices import choose, titles_of  # noqa: PLC0415
    from core.training.devices.precision import precision_on  # noqa: PLC0415
    from core.training.flights.carrier import EngineCarrier  # noqa: PLC0415
    from core.training.learner import Learner, fly  # noqa: PLC0415
    from core.training.metrics import sinks_of  # noqa: PLC0415
    from core.workers.arena import Arena  # noqa: PLC0415

    task = task_of(manifest, Blobs(Path(start.blobs_dir), manifest.blobs))
    sinks = sinks_of(start.metrics, manifest)
    step_back()
    torch.set_num_threads(max(1, start.threads))
    choice = choose(start.device)
    names = choice.names if manifest.mixture is None else choice.names[:1]
    notes = [choice.note, *(precision_on(name, manifest.precision_name).note for name in names)]
    if start.compile and len(names) > 1:
        notes.append(Sentence("Layers are compiled only where a single device trains."))
    check_room(manifest, names[0], start.memory_bytes)
    say(Computes(device=",".join(names), title=titles_of(names), notes=tuple(filter(None, notes))))
    learner = Learner(task=task, manifest=manifest, states=states, samples=samples, devices=names, clock=clock)
    if manifest.mixture is not None:
        fly(learner, manifest, EngineCarrier(manifest.mixture, say), clock)
    if start.memory_bytes is not None:
        keep_within(learner, start.memory_bytes)
    if start.compile and len(names) == 1:
        keep_compiled(states.parent / "compiled")
        learner.first.compiles = True
    arena = Arena.create(Path(start.arena_path), learner.numel)
    return Conversation(start, learner=learner, arena=arena, say=say, clock=clock, sinks=sinks)


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        message = "The manifest {path} cannot be read: {error}."
        raise BadInput(message, path, error.strerror or error, hint="Join the collaboration again.") from error


if __name__ == "__main__":
    leave(main())
