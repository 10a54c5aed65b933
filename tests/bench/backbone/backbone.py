"""What a backbone and its page stand: members who renew, newcomers, visitors, beside training, with 10,000 accounts.

Everything runs on this computer, what asks as well, which takes as much of the processor as what answers.
"""

import argparse
import asyncio
import os
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

import msgspec
import psutil

from core.backbone.charter import Charter
from core.backbone.remembered import read_ports
from core.base.problems import Problem
from core.net.addresses.interfaces import LOOPBACK
from core.system.child_process import own_command
from tests.bench.backbone.crowd import Crowd, credit, crowded
from tests.bench.backbone.load import Answers, Readers, at_rate
from tests.bench.charters import changed, charter_of
from tests.bench.collaboration import running_collaboration
from tests.bench.desk.desk import DeskReport, as_table
from tests.bench.desk.figures import MEBIBYTE, DeskFigure

RENEWALS_PER_S: Final = 200
PAGES_PER_S: Final = 500
PAGES: Final = ("/", "/board", "/model", "/api/v1/collaboration")
SETTLE_S: Final = 20.0
START_S: Final = 60.0
RENEWAL_S: Final = 3 * 3600
"""Members renew so often."""
DAY_S: Final = 86_400
VIEWS_A_DAY: Final = 20_000
"""Pages that visitors read on the simulated day."""


def run(args: argparse.Namespace) -> int:
    """Measure everything, and print a table of the figures.

    Raises:
        Problem: something did not start.
    """
    with tempfile.TemporaryDirectory(prefix="potluck-backbone-") as folder:
        report = asyncio.run(_measured(Path(folder), args))
    sys.stdout.write(f"{msgspec.json.encode(report).decode() if args.json else as_table(report)}\n")
    return 0


async def _measured(folder: Path, args: argparse.Namespace) -> DeskReport:
    load = os.getloadavg() if hasattr(os, "getloadavg") else (float("nan"),)
    notes = [f"{os.cpu_count()} cores, load before {load[0]:.1f}; what asks runs on the same cores."]
    charter = crowded(folder / "small")
    crowd = Crowd(charter, args.accounts)
    credit(charter, crowd)
    async with _backbone(charter, folder / "small.log") as (backbone, port):
        crowd.port = read_ports(charter.folder).desk
        figures = await _at_rest(backbone)
        figures += await _rates(crowd, backbone, port, args, notes)
        if args.day:
            figures += await _day(crowd, port, args.accounts, notes)
            figures += await _at_rest(backbone, "after the day")
    if args.rounds:
        figures += await _rounds(folder, args, notes)
    return DeskReport(bench="backbone", figures=tuple(figures), notes=tuple(notes))


@asynccontextmanager
async def _backbone(charter: Charter, log: Path) -> AsyncIterator[tuple[psutil.Process, int]]:
    """A backbone with its page, which end with the context: its process, and the page's port."""
    port = free_port()
    words = ["backbone", "--charter", str(charter.folder), "--host", LOOPBACK, "--json", "--with-parent"]
    with log.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            *own_command(), *words, "--site", str(port),
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=file, env={**os.environ, "POTLUCK_KEYRING": "off"},
        )  # fmt: skip
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        if not await process.stdout.readline():
            raise Problem("The backbone of the measurement did not start.")
        readers = Readers(port)
        await _answers(readers)
        readers.close()
        yield psutil.Process(process.pid), port
    finally:
        process.stdin.close()
        await process.wait()


async def _answers(readers: Readers) -> None:
    began = time.monotonic()
    while True:
        try:
            if await readers.ask("/") == 200:
                return
        except (OSError, EOFError):
            if time.monotonic() - began > START_S:
                raise Problem("The page of the measurement does not answer.") from None
        await asyncio.sleep(0.2)


def free_port() -> int:
    """A port that nobody has at the moment."""
    with socket.socket() as held:
        held.bind((LOOPBACK, 0))
        return int(held.getsockname()[1])


async def _at_rest(backbone: psutil.Process, when: str = "at rest") -> list[DeskFigure]:
    await asyncio.sleep(SETTLE_S)
    named = {"backbone": (backbone, 60.0), "site": (site_of(backbone), 130.0)}
    return [
        DeskFigure(f"{name}, memory (PSS) {when}", own_bytes(process) / MEBIBYTE, target, "MiB")
        for name, (process, target) in named.items()
    ]


def own_bytes(process: psutil.Process) -> int:
    """Memory of a process without its children, with a share of what is shared."""
    told = process.memory_full_info()
    return int(getattr(told, "pss", told.uss))


def site_of(backbone: psutil.Process) -> psutil.Process:
    """The page's process of a backbone, which starts another one where it is stuck."""
    return next(one for one in backbone.children() if "core.site" in one.cmdline())


def own_cpu_s(process: psutil.Process) -> float:
    """Processor time of a process without its children, seconds."""
    return float(sum(process.cpu_times()[:2]))


async def _rates(
    crowd: Crowd, backbone: psutil.Process, port: int, args: argparse.Namespace, notes: list[str]
) -> list[DeskFigure]:
    """Each kind of question alone at its rate: the median of the 99th percentiles of some runs."""
    readers = Readers(port)

    async def read(number: int) -> int:
        return await readers.ask(PAGES[number % len(PAGES)])

    async def renewals() -> Answers:
        return await at_rate(RENEWALS_PER_S, RENEWALS_PER_S * args.seconds, crowd.renew)

    async def newcomers() -> Answers:
        count = RENEWALS_PER_S * args.seconds
        return await at_rate(RENEWALS_PER_S, count, crowd.newcomers(count))

    async def pages() -> Answers:
        return await at_rate(PAGES_PER_S, PAGES_PER_S * args.seconds, read)

    measured: Sequence[tuple[str, Callable[[], Awaitable[Answers]], float, Callable[[], psutil.Process]]] = (
        (f"{RENEWALS_PER_S} renewals a second, p99", renewals, 100.0, lambda: backbone),
        (f"{RENEWALS_PER_S} newcomers a second, p99", newcomers, 100.0, lambda: backbone),
        (f"{PAGES_PER_S} pages a second, p99", pages, 50.0, lambda: site_of(backbone)),
    )
    figures = []
    for name, ask, target, process in measured:
        served = process()
        before = own_cpu_s(served)
        runs = [await ask() for _ in range(args.runs)]
        used = 1000 * (own_cpu_s(served) - before) / sum(one.statuses.total() for one in runs)
        each = [one.p99_ms for one in runs]
        figures.append(DeskFigure(name, statistics.median(each), target, "ms"))
        failed = sum((one.failed for one in runs), Counter[int]())
        refused = ", ".join(f"{count} of HTTP {status}" for status, count in failed.items()) or "none"
        times = ", ".join(f"{one:.0f}" for one in each)
        notes.append(f"{name}: {times} ms; not answered: {refused}; {used:.2f} ms of a core each")
    readers.close()
    return figures


async def _day(crowd: Crowd, port: int, accounts: int, notes: list[str]) -> list[DeskFigure]:
    """All renewals and page views of a day, as fast as the rates allow."""
    readers, renewals = Readers(port), accounts * DAY_S // RENEWAL_S

    async def read(number: int) -> int:
        return await readers.ask(PAGES[number % len(PAGES)])

    began = time.monotonic()
    seconds = renewals / RENEWALS_PER_S
    both = await asyncio.gather(
        at_rate(RENEWALS_PER_S, renewals, crowd.renew), at_rate(VIEWS_A_DAY / seconds, VIEWS_A_DAY, read)
    )
    readers.close()
    took = time.monotonic() - began
    notes.append(
        f"a day of {accounts} accounts: {renewals} renewals and {VIEWS_A_DAY} pages in {took:.0f} s, "
        f"{sum(one.failed.total() for one in both)} not answered with 200"
    )
    names = ("renewals", "pages")
    return [
        DeskFigure(f"a day in {seconds:.0f} s: {name}, p99", one.p99_ms, target, "ms")
        for name, one, target in zip(names, both, (100.0, 50.0), strict=True)
    ]


async def _rounds(folder: Path, args: argparse.Namespace, notes: list[str]) -> list[DeskFigure]:
    """Rounds that the backbone averages: quiet, beside renewals and pages, and quiet again."""
    base = await charter_of(folder / "charter")
    charter = changed(base, folder / "training", target=args.target)
    crowd, port = Crowd(charter, args.accounts), free_port()
    quiet: list[float] = []
    busy: list[float] = []
    async with running_collaboration(charter, folder / "run", 2, site=("--site", str(port))) as running:
        crowd.port = read_ports(charter.folder).desk
        readers = Readers(port)

        async def read(number: int) -> int:
            return await readers.ask(PAGES[number % len(PAGES)])

        await running.steps(3)
        for turn in range(2 * args.runs + 1):
            if turn % 2 == 0:
                quiet += [step.averaging_s for step in await running.steps(args.rounds)]
                continue
            loads = [
                asyncio.create_task(at_rate(rate, rate * DAY_S, ask))
                for rate, ask in ((RENEWALS_PER_S / args.share, crowd.renew), (PAGES_PER_S / args.share, read))
            ]
            busy += [step.averaging_s for step in await running.steps(args.rounds)]
            for one in loads:
                one.cancel()
            await asyncio.gather(*loads, return_exceptions=True)
        readers.close()
    middle = statistics.median
    spread = [f"{1000 * min(of):.0f} to {1000 * max(of):.0f}" for of in (quiet, busy)]
    notes.append(
        f"rounds: {1000 * middle(quiet):.0f} ms quiet ({spread[0]}), {1000 * middle(busy):.0f} ms beside the load "
        f"({spread[1]}), {len(quiet)} and {len(busy)} of them; two engines train on the same cores"
    )
    return [DeskFigure("a round beside the load, times as long", middle(busy) / middle(quiet), 1.1, "x")]
