"""`python -m tests.bench experts --delays`: throughput over blocks that are far away (Learning@home, figure 4).

Blocks lie in four workers that host experts, with the program's own host in front of each; batches visit one block
after the other, drawn at random, and wait after each for a time with an exponential distribution, as on a line with
that mean delay.  Many are in flight at once: N = 1.3 (Z / S + 1), where Z is the delay of a visit and S the time
between two visits without delay.  Beside it stand one flight alone, and what queueing says of N customers at one
server (mean value analysis: Reiser, Lavenberg 1980).
"""

import argparse
import asyncio
import math
import subprocess
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from random import Random
from typing import Any, Final

import msgspec
import numpy as np
import psutil

from core.base.ids import PeerId
from core.base.machine import Received, Send, Trace
from core.base.mixture import ExpertNumbers
from core.base.problems import Problem
from core.codecs.registry import codec_of
from core.experts.hosting import ComputeBatch, ExpertHost, ExpertHosted, ExpertKept, ExpertLost, HostFact, HostLimits
from core.experts.messages import ExpertCall, ExpertRefused, ExpertReply, rows_that_fit
from core.experts.queue import CallKind
from core.system.usage import spare_cores
from core.workers.expert_host import ExpertFolder, ExpertWorker, TrainersKnown
from core.workers.place import WorkerShare
from tests.bench.experts.figures import DelayFigure, DelaysReport
from tests.bench.experts.plain import Kind, PlainTask, plain_loop

HOSTS: Final = 4
BLOCKS: Final = 224
"""The paper's number; fewer where half of the free memory does not hold them."""
COPIES: Final = 4
"""Vectors of a block's size that it takes: parameters, gradients, and two of AdamW's."""
LAYERS: Final = 8
"""Visits of a batch there, and back where it learns."""
TRAINERS: Final = [PeerId(bytes([number]) * 32) for number in range(16)]
AHEAD: Final = 1.3
FLIGHTS_MOST: Final = 2000
READY_S: Final = 300.0
SCRIPT: Final = "bench_moe.py"


class Street:
    """Hosts in a row, and batches that go from one to another.

    Args:
        folder: For the workers' files.
        numbers: Sizes of a block.
        batch: Rows of a batch.
        blocks: How many there are.
    """

    def __init__(self, folder: Path, numbers: ExpertNumbers, *, batch: int, blocks: int) -> None:
        self._codec = codec_of(numbers.codec)
        self._batch, self._blocks = batch, blocks
        self._random = Random(0)
        rows_max = rows_that_fit(self._codec, numbers=numbers.width)
        limits = HostLimits(calls_max=4096, bytes_max=1 << 31, rows_max=rows_max)
        self.hosts = [
            ExpertHost(codec=self._codec, numbers=numbers.width, limits=limits, trace=Trace()) for _ in range(HOSTS)
        ]
        self.workers = [self._worker(folder / str(number), numbers, number) for number in range(HOSTS)]
        x, g = (np.random.default_rng(0).normal(0, 1, batch * numbers.width).astype(np.float32) for _ in range(2))
        there = bytes(self._codec.encode(x))
        self._payloads = {CallKind.FORWARD: there, CallKind.BACKWARD: there + bytes(self._codec.encode(g))}
        self._calls = 0
        self._open: dict[int, asyncio.Future[None]] = {}
        self._changed = asyncio.Event()
        self.visits = 0

    def _worker(self, folder: Path, numbers: ExpertNumbers, host: int) -> ExpertWorker:
        place = ExpertFolder(
            run=bytes(32),
            numbers=numbers,
            folder=folder,
            log=folder.with_suffix(".log"),
            share=lambda: WorkerShare("cpu", 1),
            memory_bytes=lambda: psutil.virtual_memory().total,
        )
        return ExpertWorker(
            place,
            trainers=TrainersKnown(account=lambda peer: peer[:16], counted=lambda _: True),
            tell=lambda fact: self._handle(host, fact),
            changed=lambda: None,
            notice=lambda sentence: sys.stderr.write(f"{sentence}\n"),
            random=Random(host),
        )

    async def open(self) -> None:
        """Have the workers host all blocks."""
        for block in range(self._blocks):
            self.workers[block % HOSTS].take(0, _place(block))
        for worker in self.workers:
            worker.keeper.resume()
        async with asyncio.timeout(READY_S):
            while sum(len(host.hosted) for host in self.hosts) < self._blocks:
                self._changed.clear()
                await self._changed.wait()

    async def rate(self, *, learns: bool, flights: int, delay_s: float, seconds: float) -> float:
        """Visits a second of so many batches at once, after the first of them have had time to spread."""
        tasks = [asyncio.create_task(self._fly(learns=learns, delay_s=delay_s)) for _ in range(flights)]
        await asyncio.sleep(max(1.0, 5 * delay_s))
        before, began = self.visits, time.monotonic()
        await asyncio.sleep(seconds)
        found = (self.visits - before) / (time.monotonic() - began)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        while self._open:
            self._changed.clear()
            await self._changed.wait()
        return found

    async def _fly(self, *, learns: bool, delay_s: float) -> None:
        while True:
            blocks = [self._random.randrange(self._blocks) for _ in range(LAYERS)]
            for block in blocks:
                await self._visit(block, CallKind.FORWARD, delay_s)
                self.visits += 0 if learns else 1
            for block in reversed(blocks) if learns else ():
                await self._visit(block, CallKind.BACKWARD, delay_s)
                self.visits += 1

    async def _visit(self, block: int, kind: CallKind, delay_s: float) -> None:
        self._calls += 1
        number, answered = self._calls, asyncio.get_running_loop().create_future()
        self._open[number] = answered
        payload = memoryview(self._payloads[kind])
        call = ExpertCall(number, 0, _place(block), kind, self._batch, 1 << 40, 120_000, payload)
        self._handle(block % HOSTS, Received(TRAINERS[number % len(TRAINERS)], call))
        await answered
        if delay_s:
            await asyncio.sleep(self._random.expovariate(1 / delay_s))

    def _handle(self, host: int, event: HostFact | Received[Any]) -> None:
        if isinstance(event, ExpertLost | ExpertKept):
            return
        for output in self.hosts[host].handle(event, time.monotonic()):
            match output:
                case ComputeBatch():
                    self.workers[host].compute(output)
                case Send(message=ExpertReply(call=number)):
                    if not (answered := self._open.pop(number)).done():
                        answered.set_result(None)
                    self._changed.set()
                case Send(message=ExpertRefused(why=why)):
                    raise Problem(f"A host refuses a call of the measurement: {why.name.lower()}.")
        if isinstance(event, ExpertHosted):
            self._changed.set()


async def measure_delays(args: argparse.Namespace) -> DelaysReport:
    """All of it."""
    numbers = ExpertNumbers(live=256, grid=(16, 16), width=args.width, codec=args.codec, step_rows=args.batch)
    room = psutil.virtual_memory().available // 2 // (COPIES * numbers.expert_bytes)
    blocks = max(HOSTS, min(args.blocks, room, 256))
    figures: list[DelayFigure] = []
    with tempfile.TemporaryDirectory() as folder:
        street = Street(Path(folder), numbers, batch=args.batch, blocks=blocks)
        running = [asyncio.create_task(worker.run()) for worker in street.workers]
        try:
            await street.open()
            for learns in (False, True):
                figures += [one async for one in _figures(street, args, numbers, learns=learns, blocks=blocks)]
        finally:
            await asyncio.gather(*(worker.keeper.pause() for worker in street.workers))
            for task in running:
                task.cancel()
    rival = None if args.hivemind is None else _hivemind(args, figures)
    sizes = {"blocks": blocks, "hosts": HOSTS, "width": args.width, "batch": args.batch, "codec": args.codec}
    return DelaysReport(**sizes, figures=figures, hivemind=rival)


async def _figures(
    street: Street, args: argparse.Namespace, numbers: ExpertNumbers, *, learns: bool, blocks: int
) -> AsyncIterator[DelayFigure]:
    """One figure for each delay, the first without any."""
    kind: Kind = "recomputed" if learns else "forward"
    task = PlainTask(numbers=numbers, experts=blocks, batch=args.batch, kind=kind, seconds=args.seconds, core=None)
    loops = [plain_loop(task) for _ in range(min(HOSTS, spare_cores() + 1))]
    plain = sum(one.visits / one.seconds for one in await asyncio.gather(*loops))
    at_zero = await street.rate(learns=learns, flights=32, delay_s=0.0, seconds=args.seconds)
    for delay_ms in (0, *args.delays):
        delay_s = (1 + learns) * delay_ms / 1000
        flights = min(FLIGHTS_MOST, math.ceil(AHEAD * (delay_s * at_zero + 1))) if delay_ms else 32
        rate = at_zero
        if delay_ms:
            rate = await street.rate(learns=learns, flights=flights, delay_s=delay_ms / 1000, seconds=args.seconds)
        one = await street.rate(learns=learns, flights=1, delay_s=delay_ms / 1000, seconds=args.seconds)
        yield DelayFigure(
            kind="forward and backward" if learns else "forward",
            delay_ms=delay_ms,
            flights=flights,
            visits_per_s=rate,
            over_zero=rate / at_zero,
            expected=expected(flights, delay_s, 1 / at_zero) / at_zero if delay_ms else 1.0,
            one_flight_per_s=one,
            over_plain=rate / plain,
        )


def expected(flights: int, delay_s: float, service_s: float) -> float:
    """Visits a second of so many batches at one server behind a delay (mean value analysis).

    Args:
        flights: Number of batches.
        delay_s: Mean delay after each visit.
        service_s: Time of one visit at the server.
    """
    waiting = rate = 0.0
    for number in range(1, flights + 1):
        there_s = service_s * (1 + waiting)
        rate = number / (delay_s + there_s)
        waiting = rate * there_s
    return rate


def _hivemind(args: argparse.Namespace, figures: list[DelayFigure]) -> dict[str, Any]:
    """What `hivemind.moe` does with as many in flight, by its script; its threads stop at 128."""
    most = min(128, max(one.flights for one in figures))
    delays = ",".join(str(delay_ms / 1000) for delay_ms in (0, *args.delays))
    command = [str(args.hivemind), SCRIPT, "--experts", "16", "--hidden", str(args.width), "--batch", str(args.batch)]
    command += ["--trainers", str(most), "--delays", delays, "--seconds", str(args.seconds), "--repeats", "4"]
    done = subprocess.run(command, cwd=args.peers_scripts, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Problem(f"hivemind was not measured: {done.stderr.strip()[-300:]}")
    found: dict[str, Any] = msgspec.json.decode(done.stdout.strip().splitlines()[-1])
    return {"in_flight": most, **found}


def told(report: DelaysReport) -> Iterator[str]:
    """For a person."""
    yield (
        f"{report.blocks} blocks of width {report.width} at {report.hosts} hosts, batches of {report.batch}, "
        f"{report.codec}; the paper has 224 of width 1024 and batches of 2048"
    )
    for one in report.figures:
        yield (
            f"{one.kind}, {one.delay_ms} ms: {one.visits_per_s:.0f} visits a second with {one.flights} in flight, "
            f"{one.over_zero:.2f} of none (queueing says {one.expected:.2f}); one flight {one.one_flight_per_s:.1f}; "
            f"{one.over_plain:.2f} of plain torch loops"
        )
    if report.hivemind is not None:
        yield f"hivemind.moe, 16 blocks, forward and backward, {report.hivemind['in_flight']} threads: " + str(
            report.hivemind.get("train")
        )


def _place(block: int) -> tuple[int, int]:
    return block // 16, block % 16
