"""Cost of a process that runs one node of the DHT and nothing else, in a quiet swarm."""

import asyncio
import sys

import msgspec
import psutil

from tests.bench.children import children
from tests.bench.dht.peer import Begin, NodesJoined

START_S = 120.0
SETTLE_S = 30.0
"""Joining is over, and what follows from it."""


class Footprint(msgspec.Struct, frozen=True, kw_only=True):
    """Cost of one process with one node."""

    nodes: int
    """In the swarm."""
    seconds: float
    cpu_percent: float
    """Share of one core."""
    wake_ups_per_s: float
    """How often it was scheduled of its own will."""
    rss_mib: float
    pss_mib: float
    """With pages that others use too counted in part; -1.0 where the system does not tell."""


async def measure(nodes: int, *, seconds: float) -> Footprint:
    """Watch one node for some seconds, in a swarm whose other nodes run in another process.

    Args:
        nodes: Number of nodes.
        seconds: Duration.

    Raises:
        Problem: a process ended or hangs.
    """
    async with children("tests.bench.dht.peer", 2) as (crowd, alone):
        crowd.tell(Begin(first=0, count=max(1, nodes - 1), seed_port=0))
        seed = await crowd.hear(NodesJoined, timeout_s=START_S)
        alone.tell(Begin(first=nodes, count=1, seed_port=seed.port))
        await alone.hear(NodesJoined, timeout_s=START_S)
        await asyncio.sleep(SETTLE_S)
        process = psutil.Process(alone.pid)
        cpu, switches = _cpu_s(process), process.num_ctx_switches().voluntary
        await asyncio.sleep(seconds)
        memory = process.memory_full_info()
        return Footprint(
            nodes=nodes,
            seconds=seconds,
            cpu_percent=round(100 * (_cpu_s(process) - cpu) / seconds, 3),
            wake_ups_per_s=round((process.num_ctx_switches().voluntary - switches) / seconds, 2),
            rss_mib=round(memory.rss / 2**20, 1),
            pss_mib=round(memory.pss / 2**20, 1) if sys.platform == "linux" else -1.0,
        )


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)
