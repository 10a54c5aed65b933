"""What it costs to host six experts that nobody asks, beside a member that hosts none.

    PYTHONPATH=. python -m tests.process.idle_hosts --seconds 120

Three helpers, whose engines average nothing, for nobody trains.  One hosts six experts, one none, and one all others.
Processor seconds are those of an engine and its workers.  Ends with 1 where six experts cost more than 0.5 % of a core
or 1 KB/s.
"""

import argparse
import asyncio
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import msgspec
import psutil

from core.backbone.charter import load_charter
from core.control.client import ControlClient
from tests.process.swarm import Volunteer, collaboration
from tests.process.test_mixture import founded

HOSTED = 6
CORE_MOST, BYTES_MOST = 0.005, 1000.0
CALM_S = 60.0
"""After the last change: copies are made, and workers that have no work end."""


class IdleFigures(msgspec.Struct, frozen=True, kw_only=True):
    """What hosting costs."""

    cores: float
    """Processor seconds a second."""
    bytes_per_s: float
    """Sent and received."""
    processes: int


def main(words: Sequence[str] | None = None) -> int:
    """The program."""
    parser = argparse.ArgumentParser(prog="idle_hosts", description="What it costs to host experts that nobody asks.")
    parser.add_argument("--seconds", type=float, default=120.0)
    given = parser.parse_args(words)
    with tempfile.TemporaryDirectory(prefix="potluck-idle-") as folder:
        found = asyncio.run(measured(Path(folder), given.seconds))
    sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
    with_six, without = found["six"], found["none"]
    cores, rate = with_six.cores - without.cores, with_six.bytes_per_s - without.bytes_per_s
    more = with_six.processes - without.processes
    sys.stdout.write(f"six experts: {cores:.2%} of a core, {rate:.0f} bytes a second, {more} processes more\n")
    return 0 if cores <= CORE_MOST and rate <= BYTES_MOST else 1


async def measured(folder: Path, seconds: float) -> dict[str, IdleFigures]:
    """Figures of each helper, by its name."""
    charter = load_charter(await asyncio.to_thread(founded, folder))
    async with collaboration(charter, folder) as swarm:
        swarm.share = 100  # as a person's computer has it
        helpers = {}
        for name, experts in (("none", 0), ("six", HOSTED), ("rest", None)):
            helpers[name] = swarm.join(name, "--helper", "--stay")
            await helpers[name].until(lambda news: news.hosting is not None)
            if experts is not None:
                async with ControlClient.connect(helpers[name].home) as client:
                    await client.settings({"experts": experts})
        await helpers["six"].until(lambda news: news.hosting is not None and news.hosting.experts == HOSTED)
        await helpers["rest"].until(lambda news: news.hosting is not None and news.hosting.experts >= HOSTED)
        await asyncio.sleep(CALM_S)
        before = {name: await _counted(one) for name, one in helpers.items()}
        began = time.monotonic()
        await asyncio.sleep(seconds)
        passed_s = time.monotonic() - began
        after = {name: await _counted(one) for name, one in helpers.items()}
    return {
        name: IdleFigures(
            cores=round((after[name][0] - before[name][0]) / passed_s, 5),
            bytes_per_s=round((after[name][1] - before[name][1]) / passed_s, 1),
            processes=after[name][2],
        )
        for name in helpers
    }


async def _counted(one: Volunteer) -> tuple[float, int, int]:
    """Processor seconds, bytes, and processes of an engine."""
    news = await one.snapshot()
    engine = psutil.Process(one.process.pid)
    processes = [engine, *engine.children(recursive=True)]
    used = sum(sum(each.cpu_times()[:2]) for each in processes)
    return used, news.me.bytes_sent + news.me.bytes_received, len(processes)


if __name__ == "__main__":
    sys.exit(main())
