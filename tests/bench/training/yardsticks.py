"""One loop that trains a model, measured turn by turn: the worker's, a plain one, or that of `transformers.Trainer`.

    python -m tests.bench.training.yardsticks

is told a `LoopOrder`, then turns to take, and answers each (`tests.bench.training.loop_turns`): lines of JSON on stdin
and stdout.  Each loop has a process of its own, so that its processor seconds and its memory are its own; while others
take their turns it waits for its next one.  All loops of a recipe learn from the same text, the worker by reading it
meanwhile, the others from batches that lie ready.
"""

import importlib.util
import os
import sys
from pathlib import Path
from typing import IO

import msgspec
import torch

from core.base.manifest import Manifest, read_manifest
from core.base.problems import BadInput
from core.base.signing import Ed25519Verifier
from core.system.offline import offline
from core.tasks import task_of
from core.tasks.task import Blobs, Task
from core.training.devices.devices import usable
from tests.bench.training.loop_turns import LoopOrder, LoopReady, LoopRefused, LoopSkipped, TakeTurn
from tests.bench.training.measured_loops import Loop, PlainLoop, WorkerLoop

NO_ACCELERATE = "the package accelerate is not installed, which transformers.Trainer needs"


def main() -> int:
    """The program; see the module's docstring."""
    with os.fdopen(os.dup(sys.stdout.fileno()), "wb") as answers:
        os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # Trainer prints, too
        order = msgspec.json.decode(sys.stdin.buffer.readline(), type=LoopOrder)
        torch.set_num_threads(order.threads)
        try:
            loop = _loop(order, answers)
        except BadInput as problem:
            _say(answers, LoopRefused(message=problem.message, hint=problem.hint))
            return 0
        if loop is not None:
            for line in sys.stdin.buffer:
                turn = msgspec.json.decode(line, type=TakeTurn)
                _say(answers, loop.turn(turn.seconds, turn.step_batches))
    return 0


def _loop(order: LoopOrder, answers: IO[bytes]) -> Loop | None:
    """The loop, which has said that it is ready; None: it has said why it cannot be measured.

    Raises:
        BadInput: the device or the text cannot be used.
    """
    device = usable(_only(order.device), called=order.device)
    manifest = read_manifest(Path(order.manifest_path).read_bytes(), Ed25519Verifier())
    offline(Path(order.folder) / "cache")
    task = task_of(manifest, Blobs(Path(order.blobs_dir), manifest.blobs))
    order = msgspec.structs.replace(order, device=device)
    match order.loop:
        case "trainer" if importlib.util.find_spec("accelerate") is None:
            _say(answers, LoopSkipped(why=NO_ACCELERATE))
            return None
        case "trainer":
            loop = _trainer(task, manifest, order)
        case "plain":
            loop = PlainLoop(task, manifest, order)
        case "worker":
            loop = WorkerLoop(task, manifest, order)
    first = loop.turn(0.0, 1)
    _say(answers, LoopReady(parameters=loop.parameters, micro_batch=loop.micro_batch, first=first))
    return loop


def _only(device: str) -> str:
    """Hide all graphics cards but one, since Trainer takes all that it sees; its name from now on."""
    kind, _, number = device.partition(":")
    if kind != "cuda" or not number.isdecimal():
        return device
    seen = os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")
    os.environ["CUDA_VISIBLE_DEVICES"] = seen[int(number)] if int(number) < len(seen) and seen[0] else number
    return "cuda:0"


def _trainer(task: Task, manifest: Manifest, order: LoopOrder) -> Loop:
    from tests.bench.training.trainer_loop import TrainerLoop

    return TrainerLoop(task, manifest, order)


def _say(answers: IO[bytes], words: msgspec.Struct) -> None:
    answers.write(msgspec.json.encode(words) + b"\n")
    answers.flush()


if __name__ == "__main__":
    sys.exit(main())
