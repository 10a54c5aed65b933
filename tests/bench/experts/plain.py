"""A plain torch loop over blocks, on one core: what a host of the same blocks is held against.

It is a process of its own: `python -m tests.bench.experts.plain JSON`, and prints its figures as JSON.
"""

import asyncio
import os
import sys
import time
from pathlib import Path
from typing import Literal

import msgspec
import psutil
import torch

from core.base.mixture import ExpertNumbers
from core.base.problems import Problem
from core.tasks.experts.blocks import new_expert
from tests.bench.experts.figures import Visits

Kind = Literal["forward", "recomputed", "whole"]
"""Forward only; forward, then backward with the forward pass once more, as a host does it; or forward and backward."""


class PlainTask(msgspec.Struct, frozen=True, kw_only=True):
    """What the loop is to do."""

    numbers: ExpertNumbers
    experts: int
    batch: int
    kind: Kind
    seconds: float
    core: int | None
    """The one that it computes on; None: the system chooses."""


def pin(process: psutil.Process, core: int | None) -> None:
    """Have a process, with all its threads, compute on one core, where the system lets a program say so."""
    if core is not None and hasattr(process, "cpu_affinity"):
        for thread in process.threads():
            psutil.Process(thread.id).cpu_affinity([core])


def run(task: PlainTask) -> Visits:
    """Visit one block after the other, until the time is over."""
    numbers = task.numbers
    blocks = [
        new_expert(numbers.block, width=numbers.width, factor=numbers.factor, seed=seed) for seed in range(task.experts)
    ]
    optimizers = [torch.optim.AdamW(block.parameters(), lr=1e-3, fused=True) for block in blocks]
    x, g = torch.randn(task.batch, numbers.width), torch.randn(task.batch, numbers.width)
    rows = [0] * task.experts

    def visit(number: int) -> None:
        block, optimizer = blocks[number], optimizers[number]
        if task.kind != "whole":
            with torch.no_grad():
                block(x)
        if task.kind == "forward":
            return
        block(x.requires_grad_()).backward(g)
        x.grad = None
        rows[number] += task.batch
        if rows[number] >= numbers.step_rows:
            torch.nn.utils.clip_grad_norm_(block.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad(set_to_none=False)
            rows[number] = 0

    for number in range(task.experts):
        visit(number)
    began, cpu, visits = time.monotonic(), time.process_time(), 0
    while time.monotonic() < began + task.seconds:
        visit(visits % task.experts)
        visits += 1
    return Visits(visits=visits, seconds=time.monotonic() - began, cpu_s=time.process_time() - cpu)


async def plain_loop(task: PlainTask) -> Visits:
    """Run a loop in a process of its own."""
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "tests.bench.experts.plain",
        msgspec.json.encode(task).decode(),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[3])},
    )
    out, _ = await process.communicate()
    if process.returncode:
        raise Problem("A loop of the measurement failed.", hint="What it wrote above says why.")
    return msgspec.json.decode(out, type=Visits)


if __name__ == "__main__":
    given = msgspec.json.decode(sys.argv[1], type=PlainTask)
    torch.set_num_threads(1)
    if hasattr(os, "nice"):
        os.nice(10)  # as a worker is
    pin(psutil.Process(), given.core)
    sys.stdout.write(msgspec.json.encode(run(given)).decode() + "\n")
