"""How fast loops train one model: the worker's, a plain one, and `transformers.Trainer` where it can run.

    python -m core.training.yardsticks MANIFEST BLOBS --seconds 4 --turns 3

prints one JSON object (`core.workers.loop_speeds.LoopSpeeds`).  The loops take turns, so that a computer that is busy
for a while slows all of them down.
"""

# ruff: noqa: N806 - names of arrays end in their shapes

import argparse
import importlib.util
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count, cycle, islice
from pathlib import Path
from typing import Any, Final

import msgspec
import numpy as np
import torch

from core.base.manifest import Manifest, read_manifest
from core.base.signing import Ed25519Verifier
from core.tasks import task_of
from core.tasks.albert.examples import MaskedBatch
from core.tasks.albert.task import Albert
from core.tasks.task import Blobs, Task
from core.tasks.text_files import offline
from core.training.round import Learner
from core.workers.loop_speeds import LoopSpeeds

READY_BATCHES: Final = 64
BATCHES_A_STEP: Final = 16
FIRST_S: Final = 5.0
STEPS: Final = 5
NOT_A_WORD: Final = -100
"""What transformers' loss passes over."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The program; see the module's docstring."""
    parser = argparse.ArgumentParser(prog="yardsticks", description="Measure training loops.")
    parser.add_argument("manifest", type=Path)
    parser.add_argument("blobs", type=Path)
    parser.add_argument("--seconds", type=float, default=4.0, help="of each turn")
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--threads", type=int, default=1)
    chosen = parser.parse_args(arguments)
    torch.set_num_threads(chosen.threads)
    manifest = read_manifest(chosen.manifest.read_bytes(), Ed25519Verifier())
    with tempfile.TemporaryDirectory(prefix="potluck-bench-") as name:
        offline(Path(name) / "cache")
        task = task_of(manifest, Blobs(chosen.blobs, manifest.blobs))
        speeds = measure(task, manifest, Path(name), seconds=chosen.seconds, turns=chosen.turns)
    sys.stdout.write(msgspec.json.encode(speeds).decode() + "\n")
    sys.stdout.flush()
    return 0


def measure(task: Task, manifest: Manifest, folder: Path, *, seconds: float, turns: int) -> LoopSpeeds:
    """Let the loops take turns.

    Args:
        task: What is learned.
        manifest: Of the task.
        folder: For checkpoints.
        seconds: Of each turn.
        turns: Of each loop.
    """
    learner = Learner(
        task=task, manifest=manifest, states=folder / "states", seed=0, device="cpu", clock=time.perf_counter
    )
    began = time.perf_counter()
    learner.accumulate()
    first_batch_s = time.perf_counter() - began
    worker = _worker(learner)
    first = speed_of(worker, FIRST_S)
    ready = list(islice(task.batches(1), READY_BATCHES))
    loops = {"worker": worker, "plain": _plain(task, ready)}
    trainer, skipped = _trainer(task, ready)
    if trainer is not None:
        loops["trainer"] = trainer
    found: dict[str, list[float]] = {name: [] for name in loops}
    waited_s = learner.data.waited_s
    for _ in range(turns):
        for name, loop in loops.items():
            found[name].append(speed_of(loop, seconds))
    speeds = {name: statistics.median(values) for name, values in found.items()}
    return LoopSpeeds(
        parameters=learner.numel,
        micro_batch=ready[0].samples,
        threads=torch.get_num_threads(),
        turns=turns,
        worker=round(speeds["worker"], 2),
        plain=round(speeds["plain"], 2),
        trainer=round(speeds["trainer"], 2) if "trainer" in speeds else None,
        trainer_skipped=skipped,
        first_batch_s=round(first_batch_s, 3),
        first_seconds=round(first / speeds["worker"], 3),
        data_wait=round((learner.data.waited_s - waited_s) / (turns * seconds), 4),
        still_s=round(_still_s(learner), 4),
    )


Loop = Callable[[float], int]
"""Trains for about so many seconds; returns the samples."""


def speed_of(loop: Loop, seconds: float) -> float:
    """Samples a second of a loop in one turn."""
    began = time.perf_counter()
    samples = loop(seconds)
    return samples / (time.perf_counter() - began)


def _worker(learner: Learner) -> Loop:
    def turn(seconds: float) -> int:
        ends, before = time.perf_counter() + seconds, learner.samples
        while time.perf_counter() < ends:
            learner.accumulate()
        return learner.samples - before

    return turn


def _plain(task: Task, ready: Sequence[Any]) -> Loop:
    """What a user of PyTorch writes, with the losses added up as everybody does who shows them."""
    model = task.model(0)
    model.train()
    optimizer = torch.optim.AdamW(model.parameters(), 1e-4)
    batches = cycle(ready)

    def turn(seconds: float) -> int:
        ends, samples, total = time.perf_counter() + seconds, 0, 0.0
        for number in count(1):
            batch = next(batches)
            losses = task.loss(model, batch)
            (losses.objective / BATCHES_A_STEP).backward()  # type: ignore[no-untyped-call]
            total += losses.reported.item()
            samples += batch.samples
            if number % BATCHES_A_STEP == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                optimizer.zero_grad()
            if time.perf_counter() >= ends:
                break
        return samples

    return turn


def _trainer(task: Task, ready: Sequence[Any]) -> tuple[Loop | None, str]:
    """The loop of transformers, or why there is none."""
    if not isinstance(task, Albert):
        return None, "this task has no model in transformers"
    if importlib.util.find_spec("accelerate") is None:
        return None, "the package accelerate is not installed, which transformers.Trainer needs"
    os.environ["CUDA_VISIBLE_DEVICES"] = ""
    from transformers import AlbertForPreTraining, Trainer, TrainingArguments  # noqa: PLC0415

    from core.tasks.albert.pretrained import albert_config  # noqa: PLC0415 - takes seconds

    numbers = task.numbers
    model = AlbertForPreTraining(albert_config(numbers))
    rows = [row for batch in ready for row in transformers_rows(batch)]
    speed = 0.0

    def turn(seconds: float) -> int:
        nonlocal speed
        steps = max(1, round(speed * seconds / (numbers.micro_batch * BATCHES_A_STEP)))
        with tempfile.TemporaryDirectory() as out:
            arguments = TrainingArguments(
                output_dir=out,
                per_device_train_batch_size=numbers.micro_batch,
                gradient_accumulation_steps=BATCHES_A_STEP,
                max_steps=steps,
                learning_rate=1e-4,
                use_cpu=True,
                disable_tqdm=True,
                report_to=[],
                save_strategy="no",
                logging_strategy="no",
            )
            began = time.perf_counter()
            Trainer(model=model, args=arguments, train_dataset=rows).train()
            samples = steps * BATCHES_A_STEP * numbers.micro_batch
            speed = samples / (time.perf_counter() - began)
        return samples

    turn(seconds=0.0)
    return turn, ""


def transformers_rows(batch: MaskedBatch) -> Iterator[dict[str, Any]]:
    """The samples of a batch as transformers wants them."""
    labels = np.full(batch.pieces_BT.size, NOT_A_WORD)
    labels[batch.places_M] = batch.words_M
    labels_BT = labels.reshape(batch.pieces_BT.shape)
    for row in range(batch.samples):
        yield {
            "input_ids": batch.pieces_BT[row],
            "token_type_ids": batch.types_BT[row],
            "attention_mask": batch.present_BT[row].astype(np.int64),
            "labels": labels_BT[row],
            "sentence_order_label": int(batch.swapped_B[row]),
        }


def _still_s(learner: Learner) -> float:
    """The median time in which a step keeps the loop from computing, over some steps with a batch between them."""
    found = []
    mean_N = np.zeros(learner.numel, np.float32)
    for epoch in range(learner.state.epoch + 1, learner.state.epoch + 1 + STEPS):
        learner.accumulate()
        learner.state.saving.result()  # a step usually takes longer than saving the state before it
        began = time.perf_counter()
        learner.hand_over()
        learner.absorb(mean_N, epoch=epoch, lineage=epoch.to_bytes(32, "big"))
        found.append(time.perf_counter() - began)
    learner.state.saving.result()  # its folder goes
    return statistics.median(found)


if __name__ == "__main__":
    sys.exit(main())
