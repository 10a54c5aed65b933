"""Backbones of the collaborations that this computer's person has founded, kept running as long as the engine runs.

Commands write the list of charters (`core.engine.remembered.hosted`), and the engine reads it.  Each backbone is the
program of `potluck backbone`, a child of the engine: it ends with it, and begins again with it.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random, SystemRandom
from typing import Final

import msgspec

from core.api.hosting import Router, WhereView
from core.backbone.remembered import read_ports
from core.base.problems import Problem
from core.engine.network.network_monitor import SensedNetwork
from core.engine.remembered.hosted import WHY, hosted_charters
from core.net.addresses.hosts import Reach, reach
from core.net.addresses.interfaces import LOOPBACK, own_hosts
from core.net.listening import ANY
from core.net.router.portmap import Mapped, PortMap, known_searches
from core.storage.paths import Home
from core.system.atomic_files import write_atomic
from core.system.child_process import open_log, own_command
from core.system.reports import LINE_BYTES_MAX, end, start
from core.system.restarts import Restarts

_LOG = logging.getLogger(__name__)
LOOK_S: Final = 2.0
"""Time between two looks at the list."""
END_S: Final = 4.0
ROUTER_S: Final = 10.0
"""Upper bound on the wait for a router, seconds."""


class Hosting:
    """Runs a backbone for each charter of the list, and starts one that ends again after a wait that grows.

    Args:
        home: Has the list, and the log.
        random: Draws the jitter of the waits.
    """

    def __init__(self, home: Home, random: Random) -> None:
        self._home, self._random = home, random
        self._running: dict[str, asyncio.Task[None]] = {}
        self._task: asyncio.Task[None] | None = None

    def begin(self) -> None:
        """Run them from now on, if it was not begun before."""
        self._task = self._task or asyncio.create_task(self._follow())

    async def close(self) -> None:
        """End all that run, and start no more."""
        tasks = [*self._running.values(), *filter(None, [self._task])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _follow(self) -> None:
        told = ""
        while True:
            try:
                wanted, told = {one.folder for one in hosted_charters(self._home).values() if one.runs}, ""
            except (OSError, Problem) as problem:
                if told != str(problem):
                    _LOG.warning("which backbones are to run cannot be read: %s", problem)
                wanted, told = {*self._running}, str(problem)
            for folder in self._running.keys() - wanted:
                self._running.pop(folder).cancel()
            for folder in wanted - self._running.keys():
                self._running[folder] = asyncio.create_task(self._keep(Path(folder)))
            await asyncio.sleep(LOOK_S)

    async def _keep(self, charter: Path) -> None:
        restarts = Restarts(self._random)
        while True:
            try:
                await self._run(charter)
            except (OSError, Problem) as problem:  # no memory, a full disk: it is tried again
                _LOG.warning("the backbone of %s did not run: %s", charter, problem)
            await restarts.wait()

    async def _run(self, charter: Path) -> None:
        """Run the backbone until it ends, and note what it says."""
        words = ["backbone", "--charter", str(charter), "--averaging-memory", "0", "--with-parent", "--json"]
        words += [word for each in present_hosts(read_ports(charter).hosts) for word in ("--host", each)]
        with open_log(self._home.logs / "backbone.log") as log:
            process = await start([*own_command(), *words], log=log, apart=True)
        opening: asyncio.Task[None] | None = None
        try:
            assert process.stdout is not None
            while line := await _next_line(process.stdout):
                with contextlib.suppress(msgspec.DecodeError):
                    said = msgspec.json.decode(line, type=dict[str, object])
                    if said.get("event") == "problem":
                        write_atomic(charter / WHY, line)
                        continue
                    (charter / WHY).unlink(missing_ok=True)
                    kept = read_ports(charter)
                    opening = opening or asyncio.create_task(open_ports((kept.desk, kept.peers)))
        finally:
            if opening is not None:
                opening.cancel()
                await asyncio.wait({opening})
            await end(process, patience_s=END_S)


async def _next_line(stream: asyncio.StreamReader) -> bytes:
    """The next line; empty: there is none.  Of a line that is too long, the beginning is passed over."""
    while True:
        try:
            return await stream.readline()
        except ValueError:
            _LOG.warning("a backbone said a line of more than %d bytes", LINE_BYTES_MAX)


def present_hosts(kept: tuple[str, ...]) -> tuple[str, ...]:
    """The addresses of a backbone of this computer: those of before, where it has one at home by that now.

    Args:
        kept: The addresses that links have named.
    """
    here = own_hosts(ANY)
    at_home = [host for host in here if reach(host) is Reach.HOME][:1]
    moved = [host for host in kept if reach(host) is Reach.HOME and host[0].isdigit() and host not in here]
    found = [one for host in kept for one in (at_home or [host] if host in moved else [host])]
    return tuple(dict.fromkeys(found)) or (*at_home, LOOPBACK)[:1]


async def open_ports(ports: Sequence[int]) -> None:
    """Have the router lead calls for some ports to this computer, until cancelled; it need not follow."""
    network = SensedNetwork(lambda _: None)
    await network.look()
    async with asyncio.TaskGroup() as group:
        for port in ports:
            group.create_task(_mapping(network, port, lambda _: None).run())


async def reach_of(port: int) -> WhereView:
    """Look at this computer's addresses, and ask its router for a port, which is given back."""
    here, network = own_hosts(ANY), SensedNetwork(lambda _: None)
    await network.look()
    at = {far: next((host for host in here if reach(host) is far), "") for far in (Reach.HOME, Reach.ANYWHERE)}
    home, outside = at[Reach.HOME], at[Reach.ANYWHERE]
    if network.inside() is None:
        return WhereView(home=home, outside=outside)
    mapped = await _mapped(network, port)
    if mapped is None:
        return WhereView(home=home, outside=outside, router=Router.CLOSED)
    if mapped.public and mapped.port == port:
        return WhereView(home=home, outside=mapped.host, router=Router.OPENS)
    return WhereView(home=home, outside=outside, router=Router.SHARED)


async def _mapped(network: SensedNetwork, port: int) -> Mapped | None:
    found: asyncio.Queue[Mapped | None] = asyncio.Queue()
    asking = asyncio.create_task(_mapping(network, port, found.put_nowait).run())
    try:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(ROUTER_S):
                return await found.get()
        return None
    finally:
        asking.cancel()
        await asyncio.wait({asking})


def _mapping(network: SensedNetwork, port: int, tell: Callable[[Mapped | None], None]) -> PortMap:
    searches = known_searches(gateway=lambda: network.gateway, own_host=network.inside)
    return PortMap(port, searches=searches, random=SystemRandom(), tell=tell)
