"""What the measurements of `python -m tests.bench desk` have in common: a figure, and what processes take."""

import asyncio
from typing import Final

import msgspec
import psutil

from core.control.client import ControlClient
from core.control.engine_file import NotRunning
from core.storage.paths import Home

MEBIBYTE: Final = 1 << 20
START_S: Final = 60.0


class DeskFigure(msgspec.Struct, frozen=True):
    """One figure with its target; both in the same unit."""

    name: str
    value: float
    target: float
    unit: str


async def engine_of_home(home: Home) -> psutil.Process:
    """Find the process of a home's engine, once it answers.

    Raises:
        TimeoutError: it does not.
    """
    async with asyncio.timeout(START_S):
        while True:
            try:
                async with ControlClient.connect(home) as client:
                    return psutil.Process((await client.snapshot()).pid)
            except NotRunning:
                await asyncio.sleep(0.1)


def cpu_s(process: psutil.Process) -> float:
    """Return the processor time of a process and its children, seconds."""
    return float(sum(sum(one.cpu_times()[:2]) for one in _family(process)))


def pss_bytes(process: psutil.Process) -> int:
    """Return the memory of a process and its children, with a share of what is shared; else all of it."""
    told = [one.memory_full_info() for one in _family(process)]
    return sum(int(getattr(one, "pss", one.uss)) for one in told)


def _family(process: psutil.Process) -> list[psutil.Process]:
    return [process, *process.children(recursive=True)]
