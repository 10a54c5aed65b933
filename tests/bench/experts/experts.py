"""`python -m tests.bench experts`: how fast a host computes calls, beside plain torch loops over the same blocks.

The host is the program's own machine and worker; calls come from memory, as if there were no network.  Host and loops
take turns on one core.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from random import Random
from typing import Final

import msgspec
import numpy as np
import psutil

from core.base.ids import PeerId
from core.base.machine import Received, Send, Trace
from core.base.mixture import ExpertNumbers
from core.base.problems import Problem
from core.cli.parsing.options import whole
from core.codecs.registry import codec_of
from core.experts.hosting import ComputeBatch, ExpertHost, ExpertHosted, ExpertKept, ExpertLost, HostFact, HostLimits
from core.experts.messages import ExpertCall, ExpertDrop, ExpertRefused, ExpertReply, rows_that_fit
from core.experts.queue import CallKind
from core.workers.expert_host import ExpertFolder, ExpertWorker, TrainersKnown
from core.workers.place import WorkerShare
from tests.bench.experts import delays
from tests.bench.experts.figures import ExpertFigures, ExpertsReport, Visits
from tests.bench.experts.plain import Kind, PlainTask, pin, plain_loop
from tests.bench.spread import Spread

IN_FLIGHT: Final = 24
"""Number of visits that are under way at once."""
READY_S: Final = 120.0
TRAINERS: Final = [PeerId(bytes([number]) * 32) for number in range(4)]


def run(args: argparse.Namespace) -> int:
    """The command; 0 if the host reaches 0.7 of a loop that computes the same, or delays cost at most 5 %."""
    if args.delays:
        args.delays = [whole(1, 10_000)(word) for word in args.delays.split(",")]
        far = asyncio.run(delays.measure_delays(args))
        sys.stdout.write((msgspec.json.encode(far).decode() if args.json else "\n".join(delays.told(far))) + "\n")
        return 0 if all(one.over_zero >= 0.95 for one in far.figures) else 1
    report = asyncio.run(measure(args))
    sys.stdout.write((msgspec.json.encode(report).decode() if args.json else _sentences(report)) + "\n")
    return 0 if all(one.over_plain.median >= 0.7 for one in report.figures) else 1


async def measure(args: argparse.Namespace) -> ExpertsReport:
    """All of it."""
    numbers = ExpertNumbers(
        live=max(args.experts, 8), grid=(256, 256), width=args.width, codec=args.codec, step_rows=args.batch
    )
    cores = sorted(psutil.Process().cpu_affinity()) if hasattr(psutil.Process(), "cpu_affinity") else []
    core = cores[0] if len(cores) > 1 else None
    if core is not None:
        psutil.Process().cpu_affinity(cores[1:])
    with tempfile.TemporaryDirectory() as folder:
        async with asyncio.TaskGroup() as group:
            stage = _Stage(Path(folder), numbers, args.batch)
            running = group.create_task(stage.worker.run())
            try:
                await stage.open(args.experts)
                assert stage.worker.keeper.pid is not None
                pin(psutil.Process(stage.worker.keeper.pid), core)
                kinds = ("forward", "backward")
                figures = [await _compared(stage, kind, args, numbers=numbers, core=core) for kind in kinds]
            finally:
                await stage.worker.keeper.pause()
                running.cancel()
    sizes = {"experts": args.experts, "width": args.width, "batch": args.batch, "codec": args.codec}
    return ExpertsReport(**sizes, same_core=core is not None, figures=figures)


async def _compared(
    stage: "_Stage", kind: str, args: argparse.Namespace, *, numbers: ExpertNumbers, core: int | None
) -> ExpertFigures:
    """Host and loops, in turns."""
    host, plain, whole, engine = [], [], [], []
    await stage.visit(kind, 1.0)
    for _ in range(args.turns):
        cpu = time.process_time()
        host.append(await stage.visit(kind, args.seconds))
        engine.append((time.process_time() - cpu) / host[-1].cpu_s)
        same: Kind = "forward" if kind == "forward" else "recomputed"
        sizes = {
            "numbers": numbers,
            "experts": args.experts,
            "batch": args.batch,
            "seconds": args.seconds,
            "core": core,
        }
        plain.append(await plain_loop(PlainTask(kind=same, **sizes)))
        if kind == "backward":
            whole.append(await plain_loop(PlainTask(kind="whole", **sizes)))
    return ExpertFigures(
        kind=kind,
        host_visits_per_s=Spread.of([_rate(one) for one in host]),
        plain_visits_per_s=Spread.of([_rate(one) for one in plain]),
        over_plain=Spread.of([_rate(a) / _rate(b) for a, b in zip(host, plain, strict=True)]),
        over_plain_cpu=Spread.of([_cpu_rate(a) / _cpu_rate(b) for a, b in zip(host, plain, strict=True)]),
        over_whole=Spread.of([_rate(a) / _rate(b) for a, b in zip(host, whole, strict=True)]) if whole else None,
        engine_cpu_share=Spread.of(engine),
    )


class _Stage:
    """A host whose trainers sit in the same process."""

    def __init__(self, folder: Path, numbers: ExpertNumbers, batch: int) -> None:
        self._codec = codec_of(numbers.codec)
        limits = HostLimits(bytes_max=1 << 30, rows_max=rows_that_fit(self._codec, numbers=numbers.width))
        self._host = ExpertHost(codec=self._codec, numbers=numbers.width, limits=limits, trace=Trace())
        place = ExpertFolder(
            run=bytes(32),
            numbers=numbers,
            folder=folder,
            log=folder / "log",
            share=lambda: WorkerShare("cpu", 1),
            memory_bytes=lambda: psutil.virtual_memory().total,
        )
        self.worker = ExpertWorker(
            place,
            trainers=TrainersKnown(account=lambda peer: peer[:16], counted=lambda _: True),
            tell=self._handle,
            changed=lambda: None,
            notice=lambda sentence: sys.stderr.write(f"{sentence}\n"),
            random=Random(0),
        )
        random = np.random.default_rng(0)
        x, g = (random.normal(0, 1, batch * numbers.width).astype(np.float32) for _ in range(2))
        forward = bytes(self._codec.encode(x))
        self._payloads = {CallKind.FORWARD: forward, CallKind.BACKWARD: forward + bytes(self._codec.encode(g))}
        self._batch = batch
        self._places: list[tuple[int, ...]] = []
        self._calls = 0
        self._done: deque[tuple[CallKind, tuple[int, ...]]] = deque()
        self._open: dict[int, tuple[CallKind, tuple[int, ...]]] = {}
        self._hosted = asyncio.Event()
        self._turn = asyncio.Event()

    async def open(self, experts: int) -> None:
        """Have the worker host so many experts."""
        self._places = [(number // 256, number % 256) for number in range(experts)]
        for place in self._places:
            self.worker.take(0, place)
        self.worker.keeper.resume()
        async with asyncio.timeout(READY_S):
            while len(self._host.hosted) < experts:
                self._hosted.clear()
                await self._hosted.wait()

    async def visit(self, kind: str, seconds: float) -> Visits:
        """Have visitors call one expert after the other, until the time is over."""
        assert self.worker.keeper.pid is not None
        process = psutil.Process(self.worker.keeper.pid)
        last = CallKind.FORWARD if kind == "forward" else CallKind.BACKWARD
        began, cpu, visits, number = time.monotonic(), _cpu_s(process), 0, 0
        for _ in range(IN_FLIGHT):
            self._ask(number, CallKind.FORWARD)
            number += 1
        while time.monotonic() < began + seconds:
            self._turn.clear()
            await self._turn.wait()
            while self._done:
                done, place = self._done.popleft()
                if done is last:
                    visits += 1
                    self._ask(number, CallKind.FORWARD)
                    number += 1
                else:
                    self._call(place, last)
        figures = Visits(visits=visits, seconds=time.monotonic() - began, cpu_s=_cpu_s(process) - cpu)
        while self._open:
            self._turn.clear()
            await self._turn.wait()
        self._done.clear()
        return figures

    def _ask(self, number: int, kind: CallKind) -> None:
        self._call(self._places[number % len(self._places)], kind)

    def _call(self, place: tuple[int, ...], kind: CallKind) -> None:
        self._calls += 1
        self._open[self._calls] = kind, place
        payload = memoryview(self._payloads[kind])
        call = ExpertCall(self._calls, 0, place, kind, self._batch, 0, 120_000, payload)
        self._handle(Received(TRAINERS[self._calls % len(TRAINERS)], call))

    def _handle(self, event: HostFact | Received[ExpertCall | ExpertDrop]) -> None:
        if isinstance(event, ExpertLost | ExpertKept):
            return
        for output in self._host.handle(event, time.monotonic()):
            match output:
                case ComputeBatch():
                    self.worker.compute(output)
                case Send(message=ExpertReply(call=number)):
                    self._done.append(self._open.pop(number))
                    self._turn.set()
                case Send(message=ExpertRefused(why=why)):
                    raise Problem(f"The host refuses a call of the measurement: {why.name.lower()}.")
        if isinstance(event, ExpertHosted):
            self._hosted.set()


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


def _rate(visits: Visits) -> float:
    return visits.visits / visits.seconds


def _cpu_rate(visits: Visits) -> float:
    return visits.visits / visits.cpu_s


def _sentences(report: ExpertsReport) -> str:
    lines = [f"{report.experts} experts of width {report.width}, batches of {report.batch}, {report.codec}"]
    for one in report.figures:
        over, cpu, engine = one.over_plain, one.over_plain_cpu, one.engine_cpu_share
        whole = "" if one.over_whole is None else f", {one.over_whole.median:.2f} of one that computes forward once"
        lines.append(
            f"{one.kind}: {one.host_visits_per_s.median:.0f} visits a second, {over.median:.2f} of a plain loop "
            f"({over.least:.2f} to {over.most:.2f}; by processor time {cpu.median:.2f}){whole}; "
            f"the engine's side takes {engine.median:.2f} of what the worker takes"
        )
    return "\n".join(lines)
